import type { Controller } from '../contract/controller.ts';
import type { ResourceRef } from '../contract/resource.ts';
import { AskProblem } from './ask.ts';

/** A kind that a controller is responsible for, and maybe a name. */
export interface ResourceName {
  readonly controller: Controller;
  /** Undefined: all of the kind. */
  readonly name: string | undefined;
}

export interface NamedResource extends ResourceName {
  readonly name: string;
}

/** A resource by its name: one of this name may be gone, and another there. */
export type ResourcePlace = Omit<ResourceRef, 'uid'>;

/**
 * Arguments as kubectl takes them: `KIND/NAME` or `KIND NAME`.
 *
 * @throws AskProblem
 */
export function parseNamedResource(
  words: readonly string[],
  controllers: readonly Controller[],
): NamedResource {
  const { controller, name } = parseResource(words, controllers);
  if (name === undefined)
    throw new AskProblem(`"${words.join(' ')}" has no name; write ${nameOfKind(controller)}/NAME`);
  return { controller, name };
}

/** The same, or only `KIND`. @throws AskProblem */
export function parseResource(words: readonly string[], controllers: readonly Controller[]): ResourceName {
  const [first = '', second, ...more] = words;
  const [kind = '', ...names] = first.split('/');
  const name = names.length > 0 ? names.join('/') : second;
  const isTooMuch = more.length > 0 || (names.length > 0 && second !== undefined) || names.length > 1;
  if (isTooMuch) throw new AskProblem(`"${words.join(' ')}" is more than one resource; write KIND/NAME`);
  if (name === '') throw new AskProblem(`"${first}" has no name; write KIND/NAME`);
  return { controller: controllerOfKind(kind, controllers), name };
}

/** The kind in any case, singular or plural, its short name, with or without its group; or the controller's own name. */
export function controllerOfKind(word: string, controllers: readonly Controller[]): Controller {
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

/** As people write it: `podset`. */
export function nameOfKind({ primary: { type } }: Pick<Controller, 'primary'>): string {
  return type.kind.toLowerCase();
}

/** Where the named resource is: a Namespace is in itself. */
export function placeOf({ controller, name }: NamedResource, namespace: string): ResourcePlace {
  const { namespaced } = controller.primary.type;
  return { controller: controller.name, namespace: namespaced ? namespace : name, name };
}

/** `podset/web -n shop`, `namespace/shop`: as it follows a command. */
export function argumentsOf(
  place: Pick<ResourcePlace, 'namespace' | 'name'>,
  controller: Controller,
): string {
  const resource = `${nameOfKind(controller)}/${place.name}`;
  return controller.primary.type.namespaced ? `${resource} -n ${place.namespace}` : resource;
}

/** `kubectl durable why podset/web -n shop` */
export function commandFor(
  command: string,
  place: Pick<ResourcePlace, 'namespace' | 'name'>,
  controller: Controller,
): string {
  return `kubectl durable ${command} ${argumentsOf(place, controller)}`;
}
