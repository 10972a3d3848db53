import type { Controller, ResourceType } from '../contract/controller.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { Program } from '../program/program.ts';
import { AskProblem } from './ask.ts';
import type { ObjectName } from './cluster/objects.ts';
import type { Session } from './session.ts';
import { configuredControllers } from './controllers.ts';

/** The kind of a controller, and maybe a name. */
export interface ResourceName {
  /** With the default options, so it may decide otherwise than the running operator. */
  readonly controller: Controller;
  readonly name: string | undefined;
}

/** A resource by its name, whichever UID it has. The namespace of a Namespace is its own name. */
export type ResourcePlace = Omit<ResourceRef, 'uid'>;

export interface NamedResource {
  readonly controller: Controller;
  readonly object: ObjectName;
  readonly place: ResourcePlace;
}

export function namedResource(controller: Controller, name: string, namespace: string): NamedResource {
  const { type } = controller.primary;
  const place = { controller: controller.name, namespace: type.namespaced ? namespace : name, name };
  return { controller, object: { type, namespace, name }, place };
}

/** Takes `KIND/NAME` or `KIND NAME`, as kubectl does. @throws AskProblem */
export function parseNamedResource(
  { program, namespace }: Pick<Session, 'program' | 'namespace'>,
  words: readonly string[],
): NamedResource {
  const { controller, name } = parseResource(program, words);
  if (name === undefined)
    throw new AskProblem(`"${words.join(' ')}" has no name; write ${nameOfKind(controller)}/NAME`);
  return namedResource(controller, name, namespace);
}

/** Takes the same, or only `KIND`. @throws AskProblem */
export function parseResource(program: Program, words: readonly string[]): ResourceName {
  const [first = '', second, ...more] = words;
  const [kind = '', ...names] = first.split('/');
  const name = names.length > 0 ? names.join('/') : second;
  const isTooMuch = more.length > 0 || (names.length > 0 && second !== undefined) || names.length > 1;
  if (isTooMuch) throw new AskProblem(`"${words.join(' ')}" is more than one resource; write KIND/NAME`);
  if (name === '') throw new AskProblem(`"${first}" has no name; write KIND/NAME`);
  return { controller: controllerOfKind(program, kind), name };
}

/** Takes a kind in any case, singular or plural, its short name, with or without its group; or the name of a controller. */
export function controllerOfKind(program: Program, word: string): Controller {
  const controllers = configuredControllers(program);
  const found = controllers.find((controller) => namesOf(controller).includes(word.toLowerCase()));
  if (found !== undefined) return found;
  const kinds = controllers.map(nameOfKind).join(', ');
  throw new AskProblem(`the operator has no controller for "${word}"; the kinds are ${kinds}`);
}

function namesOf({ name, primary: { type } }: Controller): string[] {
  const { group, version, kind, plural, shortNames = [] } = type;
  const plain = [kind.toLowerCase(), plural, ...shortNames];
  const qualified =
    group === '' ? [] : plain.flatMap((each) => [`${each}.${group}`, `${each}.${version}.${group}`]);
  return [name, ...plain, ...qualified];
}

export function nameOfKind({ primary: { type } }: Pick<Controller, 'primary'>): string {
  return type.kind.toLowerCase();
}

/** For a sentence: `PodSet shop/web`, `Namespace shop`. */
export function titleOf({ type, namespace, name }: ObjectName): string {
  return `${type.kind} ${type.namespaced ? `${namespace ?? ''}/` : ''}${name}`;
}

/** For a command: `podset/web -n shop`, `namespace/shop`. */
export function argumentsOf({ type, namespace, name }: ObjectName): string {
  const resource = `${type.kind.toLowerCase()}/${name}`;
  return type.namespaced ? `${resource} -n ${namespace ?? ''}` : resource;
}

/** `kubectl durable why podset/web -n shop` */
export function commandFor(command: string, object: ObjectName): string {
  return `kubectl durable ${command} ${argumentsOf(object)}`;
}

/** `1 PodSet`, `12 PodSets` */
export function countOf(count: number, { kind }: Pick<ResourceType, 'kind'>): string {
  return count === 1 ? `1 ${kind}` : `${count} ${/[sx]$/.test(kind) ? `${kind}es` : `${kind}s`}`;
}
