import type { Controller } from '../../engine/controller.ts';
import type { Program } from '../../program/program.ts';
import { AskProblem, type Question } from '../ask.ts';
import { listTargets, readTarget, type LiveTarget } from '../cluster/objects.ts';
import type { SharedOptions } from '../options.ts';
import { kindNamed, parseResource, type ResourceName } from '../resource-name.ts';

/** A resource, and those of its controllers that are meant. */
export interface NamedTarget extends LiveTarget {
  readonly controllers: readonly Controller[];
}

/** What a command of several resources is about. */
export interface ChangeTargets {
  readonly targets: readonly NamedTarget[];
  /** The user has not named each of them. */
  readonly isBatch: boolean;
}

/** @throws AskProblem, ApiError */
export async function targetsOf({
  session,
  words,
  options,
}: Question<SharedOptions>): Promise<ChangeTargets> {
  const { program, client, namespace } = session;
  const { allNamespaces: isEverywhere = false, selector: labelSelector } = options;
  const resources = resourcesIn(words).map((each) => resourceOf(program, each));
  const [all] = resources.filter(({ name }) => name === undefined);
  if (all === undefined) {
    const excluded = isEverywhere ? '-A' : labelSelector === undefined ? undefined : '-l';
    const [{ name = '' } = {}] = resources;
    if (excluded)
      throw new AskProblem(`${excluded} and the name "${name}" exclude each other; leave one out`);
    const named = resources.map(async ({ type, controllers, name: its = '' }) => ({
      ...(await readTarget(client, { type, namespace, name: its })),
      controllers,
    }));
    return { targets: await Promise.all(named), isBatch: false };
  }
  if (resources.length > 1)
    throw new AskProblem('a KIND for all of its resources stands alone; name each resource');
  const { type } = all;
  if (!type.namespaced && !isEverywhere && labelSelector === undefined)
    throw new AskProblem(`${type.plural} have no namespace; write -A for all of them, or name one`);
  const listing = { namespace: isEverywhere ? undefined : namespace, labelSelector };
  const targets = await listTargets(client, type, listing);
  return { targets: targets.map((each) => ({ ...each, controllers: all.controllers })), isBatch: true };
}

/** As kubectl takes them: `KIND/NAME KIND/NAME`, or `KIND NAME NAME`. */
function resourcesIn(words: readonly string[]): readonly (readonly string[])[] {
  const [kind = '', ...names] = words;
  if (words.every((word) => word.includes('/'))) return words.map((word) => [word]);
  return names.length > 1 && !words.some((word) => word.includes('/'))
    ? names.map((name) => [kind, name])
    : [words];
}

/** `controller/pod-set` means all of its resources. @throws AskProblem */
function resourceOf(program: Program, words: readonly string[]): ResourceName {
  const [, name] = /^controllers?[/ ](.+)$/i.exec(words.join(' ')) ?? [];
  return name === undefined
    ? parseResource(program, words)
    : { ...kindNamed(program, name), name: undefined };
}
