import type { AnyDefinition } from '../src/engine/definition.ts';
import type { ObjectMeta } from '../src/api/object.ts';
import type { CallsOf, StateOf } from './outside.ts';

/** A controller, or how it is made with the clients of outside systems. */
export type Explorable<D extends AnyDefinition, Outside extends object> =
  D | ((outside: CallsOf<Outside>) => D);

type SpecIn<D> = D extends { readonly for: { readonly spec: { readonly _output: infer Spec } } }
  ? Spec
  : Record<string, unknown>;

/** A resource that people may change. */
export interface Draft<D> {
  metadata: DraftMeta;
  spec: SpecIn<D>;
}

/** Its metadata. */
export type DraftMeta = {
  -readonly [Field in Exclude<keyof ObjectMeta, 'labels' | 'annotations'>]: ObjectMeta[Field];
} & {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
};

/** All there is, as plain data that may be changed. */
export interface Situation<D, Outside extends object> {
  /** Undefined: it is gone. */
  readonly resource: Draft<D> | undefined;
  /** The state of the fake; its functions are there, too. */
  readonly outside: StateOf<Outside> & Outside;
  /**
   * The other objects of the cluster, by the plural of their type and their name: `objects['jobs/backup']`. Outside of the namespace of the
   * resource, with their own: `objects['secrets/other-namespace/password']`.
   */
  readonly objects: Record<string, AnyObject | undefined>;
}

/** An object, as JSON. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the author knows that it has
export type AnyObject = Record<string, any>;

/** Where an order of events has ended: nothing happens any more. */
export interface End<D, Outside extends object> extends Situation<D, Outside> {
  readonly resource: (Draft<D> & { readonly status?: AnyObject }) | undefined;
}

/** A write to the API server. */
export interface JudgedWrite {
  /** An eviction is a delete. The status is patched, too. */
  readonly verb: 'create' | 'patch' | 'apply' | 'scale' | 'delete';
  /** The plural of its type, as in the keys of `objects`: `jobs`. */
  readonly plural: string;
  /** Absent: the type has none. */
  readonly namespace?: string;
  readonly name: string;
  /** The UID that the write requires. Absent: any. */
  readonly uid?: string;
  /** What is sent: the object, or the patch. Absent: it is a delete. */
  readonly object?: AnyObject;
}

/** All there is just before a write. */
export interface Before<D, Outside extends object> extends Situation<D, Outside> {
  /** Nobody else has changed anything since a run began that knew all of it: no mistake is excused by a view that lags. */
  readonly isUndisturbed: boolean;
}

/** What an exploration begins with, and what may happen in it. Only `resource` is needed. */
export interface Scenario<D, Outside extends object> {
  /** The resource. Its name is `example`, and its namespace `default`, unless its metadata say otherwise. */
  readonly resource: { readonly metadata?: Partial<ObjectMeta>; readonly spec: Partial<SpecIn<D>> };
  /**
   * The outside system: state, and functions on it which answer at once. Each may fail, hang, be repeated, or take effect late.
   * Its function `fetch`, if it has one, is asked whatever the controller fetches: see {@link Fetched}.
   */
  readonly outside?: Outside;
  /** Values of the controller's options. Default: their defaults. */
  readonly options?: object;
  /**
   * Objects of others that are there from the beginning: `{ 'secrets/password': { data: {} } }`. They are in the namespace of the resource,
   * unless their key or their metadata name another: `secrets/other-namespace/password`.
   */
  readonly objects?: Readonly<Record<string, AnyObject>>;
  /** What people do to the resource, once each, at any moment. That they delete it belongs to every exploration. */
  readonly userEdits?: Readonly<Record<string, (resource: Draft<D>) => unknown>>;
  /** What others do to the rest, once each, at any moment: `{ 'somebody removes it': ({ outside }) => outside.things.pop() }`. */
  readonly externalChanges?: Readonly<Record<string, (all: Situation<D, Outside>) => unknown>>;
  /** What comes about by itself, as often as it changes something: a Job completes. */
  readonly happens?: Readonly<Record<string, (all: Situation<D, Outside>) => unknown>>;
  /**
   * Why a write must not be, in words: it judges each that the API server accepts, also those of the library, such as the removal of the
   * finalizer. A create that takes effect late is not judged. Whatever it returns that is no text allows the write.
   *
   * @example
   * never: ({ verb, plural, name }, { objects }) =>
   *   verb === 'delete' && objects[`${plural}/${name}`]?.status?.active && 'a Job is deleted that runs',
   */
  readonly never?: (write: JudgedWrite, before: Before<D, Outside>) => unknown;
  /** What is wrong in the end, besides what every exploration finds. Whatever is no text counts as well. */
  readonly finally?: (end: End<D, Outside>) => readonly unknown[];
  /** What has to be the same in the end, whatever failed on the way. Default: all of it, but for UIDs and times. */
  readonly outcome?: (end: End<D, Outside>) => unknown;
  /** Objects of others that the controller may change: `secrets/password`. Default: none. */
  readonly mayChange?: readonly string[];
  /** The fields of the outside state that may stay when the resource is gone. Default: none, all is to be as it was. */
  readonly mayStay?: readonly (keyof StateOf<Outside>)[];
}
