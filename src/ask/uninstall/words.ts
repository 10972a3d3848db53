import { typeNameOf, type Controller, type ResourceType } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { workflowIdFor } from '../../contract/resource.ts';
import type { Program } from '../../program/program.ts';
import type { ListedRun } from '../../temporal/run-reader.ts';
import { controllersOf } from '../controllers.ts';
import { harmless } from '../output.ts';
import { commandFor, countOf } from '../resource-name.ts';
import type { LeftBehind } from './left-behind.ts';

const NAMED_MAX = 20;

/** Why the operator must stay for now, and what to do. */
export function refusal({ hanging, runs }: LeftBehind, taskQueue: string, program: Program): string {
  const lines = [`Do not uninstall the operator of task queue ${taskQueue} yet.`];
  for (const { type, finalizer, resources } of hanging) {
    lines.push(
      '',
      `${countOf(resources.length, type)} with the finalizer ${finalizer}, which only the operator removes.`,
      'Delete them, and wait until they are gone:',
      ...shown(resources, deletionOf(type)),
    );
  }
  if (runs.length > 0) {
    lines.push(
      '',
      `${runs.length === 1 ? '1 run' : `${runs.length} runs`} that only the operator's workers would end. To see what they wait for:`,
      ...shown(runs, explanationBy(controllersOf(program))),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Nothing would hang. The text names what stays without an owner. */
export function stays({ podSets, roleBindings }: LeftBehind, taskQueue: string): string {
  const lines = [`Nothing would hang without the operator of task queue ${taskQueue}.`];
  if (podSets > 0)
    lines.push(`PodSets that would stay, with Pods that nobody replaces or deletes: ${podSets}`);
  if (roleBindings > 0) lines.push(`RoleBindings that would stay, with what they permit: ${roleBindings}`);
  return `${lines.join('\n')}\n`;
}

function shown<T>(items: readonly T[], line: (item: T) => string): string[] {
  const more = items.length - NAMED_MAX;
  return [
    ...items.slice(0, NAMED_MAX).map((item) => `  ${harmless(line(item))}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function deletionOf(type: ResourceType): (resource: KubernetesObject) => string {
  return ({ metadata: { name, namespace } }) =>
    `kubectl delete ${typeNameOf(type)} ${name}${namespace === undefined ? '' : ` --namespace ${namespace}`}`;
}

function explanationBy(controllers: readonly Controller[]): (run: ListedRun) => string {
  return ({ ref, runState }) => {
    const type = controllers.find(({ name }) => name === ref.controller)?.primary.type;
    const command = type === undefined ? workflowIdFor(ref) : commandFor('why', { ...ref, type });
    return runState === undefined ? command : `${command}    # ${runState}`;
  };
}
