import { typeNameOf, type ResourceType } from '../api/resource-type.ts';
import { type Controller } from '../engine/controller.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import type { Program } from '../program/program.ts';
import { AskProblem } from './ask.ts';
import type { ObjectName } from './cluster/objects.ts';
import type { Session } from './session.ts';
import { configuredControllers } from './controllers.ts';

/** A kind, and maybe a name. */
export interface ResourceName {
  readonly type: ResourceType;
  /** Those of the kind, or the one that is named. With the default options, so they may decide otherwise than the running operator. */
  readonly controllers: readonly Controller[];
  readonly name: string | undefined;
}

/** A resource by its name, whichever UID it has. The namespace of a Namespace is its own name. */
export type ResourcePlace = Omit<ResourceRef, 'uid'>;

export interface NamedResource {
  readonly controller: Controller;
  readonly object: ObjectName;
  readonly place: ResourcePlace;
  /** For a sentence: `PodSet shop/web`; `Website shop/web (website-defaults)` if several controllers are asked about. */
  readonly title: string;
}

export function namedResource(controller: Controller, name: string, namespace: string): NamedResource {
  const { type } = controller.primary;
  const place = { controller: controller.name, namespace: type.namespaced ? namespace : name, name };
  const object = { type, namespace, name };
  return { controller, object, place, title: titleOf(object) };
}

/** The resource, once for each of its controllers. */
export function namedResources(
  controllers: readonly Controller[],
  name: string,
  namespace: string,
): readonly NamedResource[] {
  const resources = controllers.map((controller) => namedResource(controller, name, namespace));
  if (resources.length === 1) return resources;
  return resources.map((each) => ({ ...each, title: `${each.title} (${each.controller.name})` }));
}

/** Takes `KIND/NAME` or `KIND NAME`, as kubectl does. @returns it once for each of its controllers @throws AskProblem */
export function parseNamedResource(
  { program, namespace }: Pick<Session, 'program' | 'namespace'>,
  words: readonly string[],
): readonly NamedResource[] {
  const { type, controllers, name } = parseResource(program, words);
  if (name === undefined)
    throw new AskProblem(`"${words.join(' ')}" has no name; write ${nameOfKind(type)}/NAME`);
  return namedResources(controllers, name, namespace);
}

/** Takes the same, or only `KIND`. @throws AskProblem */
export function parseResource(program: Program, words: readonly string[]): ResourceName {
  const [first = '', second, ...more] = words;
  const [kind = '', ...names] = first.split('/');
  const name = names.length > 0 ? names.join('/') : second;
  const isTooMuch = more.length > 0 || (names.length > 0 && second !== undefined) || names.length > 1;
  if (isTooMuch) throw new AskProblem(`"${words.join(' ')}" is more than one resource; write KIND/NAME`);
  if (name === '') throw new AskProblem(`"${first}" has no name; write KIND/NAME`);
  return { ...kindNamed(program, kind), name };
}

/** Takes a kind in any case, singular or plural, its short name, with or without its group; or the name of a controller. */
export function kindNamed(program: Program, word: string): Pick<ResourceName, 'type' | 'controllers'> {
  const all = configuredControllers(program);
  const typed = word.toLowerCase();
  const type = all.find(({ primary }) => namesOf(primary.type).includes(typed))?.primary.type;
  const controllers = all.filter(({ name, primary }) =>
    type === undefined ? name === typed : typeNameOf(primary.type) === typeNameOf(type),
  );
  const [first] = controllers;
  if (first !== undefined) return { type: first.primary.type, controllers };
  const kinds = [...new Set(all.map(({ primary }) => nameOfKind(primary.type)))].join(', ');
  throw new AskProblem(`the operator has no controller for "${word}"; the kinds are ${kinds}`);
}

function namesOf({ group, version, kind, plural, shortNames = [] }: ResourceType): string[] {
  const plain = [kind.toLowerCase(), plural, ...shortNames];
  const qualified =
    group === '' ? [] : plain.flatMap((each) => [`${each}.${group}`, `${each}.${version}.${group}`]);
  return [...plain, ...qualified];
}

export function nameOfKind({ kind }: Pick<ResourceType, 'kind'>): string {
  return kind.toLowerCase();
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
