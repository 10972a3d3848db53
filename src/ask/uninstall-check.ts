import { InvalidArgumentError, type Command } from 'commander';
import { isKind } from '../api/controller.ts';
import { typeNameOf, type ResourceType } from '../api/resource-type.ts';
import { type Controller } from '../engine/controller.ts';
import type { KubernetesObject } from '../api/object.ts';
import { workflowIdFor } from '../api/resource-ref.ts';
import { MANAGED_BY, MANAGED_BY_LABEL, ROLE_BINDINGS } from '../api/kinds.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { isOf } from '../kubernetes/errors.ts';
import type { Program } from '../program/program.ts';
import { stillOpen } from '../temporal/open-runs.ts';
import type { ListedRun } from '../temporal/run-reader.ts';
import { endSettingsRun } from '../temporal/settings-run.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from './ask.ts';
import { listObjects } from './cluster/objects.ts';
import type { Session, TemporalAccess } from './session.ts';
import { configuredControllers, optionsOf } from './controllers.ts';
import { addCommand, type SharedOptions } from './options.ts';
import { harmless } from './output.ts';
import { commandFor, countOf } from './resource-name.ts';

interface UninstallOptions extends SharedOptions {
  readonly endSettingsRun?: boolean;
  readonly controllers?: readonly string[];
  readonly namespaces?: readonly string[];
}

export function addUninstallCheck(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'uninstall-check')
    .option(
      '--end-settings-run',
      'if nothing would hang, end the workflow in which the operator keeps its options for these commands',
    )
    .option(
      '--controllers <names>',
      'the controllers of the operator, if it has not published them',
      (text: string) => controllersNamed(ask.program, text),
    )
    .option('--namespaces <names>', 'the namespaces that it watches, if it has not published them', names);
  answerWith(command, ask, answerUninstallCheck);
}

function names(text: string): string[] {
  return text.split(',').filter((name) => name !== '');
}

function controllersNamed({ controllers }: Program, text: string): string[] {
  const given = names(text);
  const unknown = given.find((name) => !controllers.some((known) => known.name === name));
  if (unknown === undefined) return given;
  throw new InvalidArgumentError(`there is no controller "${unknown}"`);
}

/** 0: nothing would hang; 1: something would. */
async function answerUninstallCheck(
  ask: Ask,
  { session, options }: Question<UninstallOptions>,
): Promise<ExitStatus> {
  if (options.namespace !== undefined)
    throw new AskProblem('uninstall-check is about all namespaces of the operator; leave out -n');
  const access = await session.temporal();
  const { taskQueue, otherCluster } = access;
  if (otherCluster !== undefined) {
    throw new AskProblem(
      `the operator of the task queue ${taskQueue} is for another cluster, ${otherCluster}; name yours with --task-queue, or check the kubeconfig and its context`,
    );
  }
  const found = await findLeftBehind(session, access, scopeOf(ask.program, access, options));
  if (found.hanging.length + found.runs.length > 0) {
    ask.stdout.write(uninstallRefusal(found, taskQueue, ask.program));
    return 1;
  }
  ask.stdout.write(stays(found, taskQueue));
  if (options.endSettingsRun === true) await access.call((client) => endSettingsRun(client, taskQueue));
  return 0;
}

/** The options that the operator has published count. The chart gives its own, for an operator that never ran. */
function scopeOf(program: Program, { settings }: TemporalAccess, given: UninstallOptions): UninstallScope {
  const { reconciliation } = optionsOf(program, settings);
  return settings === undefined ? { ...reconciliation, ...given } : reconciliation;
}

const NAMED_MAX = 20;

/** Why the operator must stay for now, and what to do. */
export function uninstallRefusal({ hanging, runs }: LeftBehind, taskQueue: string, program: Program): string {
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
      ...shown(runs, explanationBy(configuredControllers(program))),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Nothing would hang. The text names what stays without an owner. */
export function stays({ unattended, roleBindings }: LeftBehind, taskQueue: string): string {
  const lines = [`Nothing would hang without the operator of task queue ${taskQueue}.`];
  for (const { type, objects, count } of unattended)
    lines.push(`${type.kind}s that would stay, with ${objects} that nobody replaces or deletes: ${count}`);
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

/** The responsibility of an operator. */
export interface UninstallScope {
  readonly controllers: readonly string[];
  /** Empty: all of them. */
  readonly namespaces: readonly string[];
}

/** One or more resources of a type, with a finalizer that only the operator removes. */
export interface HangingResources {
  readonly type: ResourceType;
  readonly finalizer: string;
  readonly resources: readonly KubernetesObject[];
}

/** One or more resources of a kind of the operator, and what belongs to them: `Pods`. */
export interface UnattendedResources {
  readonly type: ResourceType;
  readonly objects: string;
  readonly count: number;
}

export interface LeftBehind {
  readonly hanging: readonly HangingResources[];
  /** Runs that would stay open: only the operator's workers complete them. */
  readonly runs: readonly ListedRun[];
  readonly unattended: readonly UnattendedResources[];
  readonly roleBindings: number;
}

/** @throws ApiError, TemporalProblem */
export async function findLeftBehind(
  { program, client }: Pick<Session, 'program' | 'client'>,
  access: TemporalAccess,
  scope: UninstallScope,
): Promise<LeftBehind> {
  const list = (controller: string, type: ResourceType, labelSelector?: string) =>
    scope.controllers.includes(controller) ? listIn(client, { type, labelSelector, ...scope }) : [];
  const hangingOf = async ({ name, finalizer, primary: { type } }: Controller) => {
    if (finalizer === undefined) return [];
    const found = await list(name, type);
    const resources = found.filter(({ metadata }) => metadata.finalizers?.includes(finalizer));
    return resources.length === 0 ? [] : [{ type, finalizer, resources }];
  };
  const kinds = program.controllers.filter((each) => isKind(each.for)).map(({ name }) => name);
  const unattendedOf = async ({ name, finalizer, primary: { type }, children }: Controller) => {
    if (finalizer !== undefined || children.length === 0 || !kinds.includes(name)) return [];
    const { length: count } = await list(name, type);
    const objects = children.map((each) => `${each.type.kind}s`).join(' and ');
    return count === 0 ? [] : [{ type, objects, count }];
  };
  const controllers = configuredControllers(program);
  const [hanging, unattended, roleBindings, runs] = await Promise.all([
    Promise.all(controllers.map(hangingOf)),
    Promise.all(controllers.map(unattendedOf)),
    list('namespace-role-binding', ROLE_BINDINGS, `${MANAGED_BY_LABEL}=${MANAGED_BY}`),
    runsStillOpen(access),
  ]);
  return {
    ...{ hanging: hanging.flat(), unattended: unattended.flat(), runs },
    roleBindings: roleBindings.length,
  };
}

interface Listing extends UninstallScope {
  readonly type: ResourceType;
  readonly labelSelector: string | undefined;
}

async function listIn(
  client: KubernetesClient,
  { type, labelSelector, namespaces }: Listing,
): Promise<readonly KubernetesObject[]> {
  const places = type.namespaced && namespaces.length > 0 ? namespaces : [undefined];
  try {
    const lists = await Promise.all(
      places.map((namespace) => listObjects(client, type, { namespace, labelSelector, metadataOnly: true })),
    );
    return lists.flat();
  } catch (error) {
    if (isOf(error, 'api-missing')) return [];
    throw error;
  }
}

/** More runs cannot all have ended within the second by which Temporal's list is late. */
const CHECKED_MAX = 20;

async function runsStillOpen({ runs, taskQueue, cluster }: TemporalAccess): Promise<readonly ListedRun[]> {
  const listed = await runs.listOpen({ taskQueue, cluster });
  return listed.length > CHECKED_MAX ? listed : stillOpen(runs, listed);
}
