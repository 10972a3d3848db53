import type { Cause } from './cause.ts';
import type { ReferencedObject } from './reference.ts';
import type { ResourceType } from './resource-type.ts';
import type { KubernetesObject } from './object.ts';
import type { Decision } from './next.ts';

/** An object as an author declares it: what `kubectl apply` takes. */
export interface ChildManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    /** Default: that of the resource. */
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** How a declared object is created and changed, where that is not as for all others. */
export interface ChildOptions {
  /**
   * It is created once all of these are ready; it is changed at any time. Each of them has to be declared, too. With a finalizer, deletion
   * goes the other way: it is deleted, and gone with all that belongs to it, before they are.
   */
  readonly after?: readonly (ChildManifest | WrappedChild)[];
  /** Whether it is ready, or why it is not. It sees the `view` of its type in `owns`. Pure. Default: as the library knows its type. */
  readonly ready?: (current: CurrentObject<unknown>) => boolean | Cause;
  /** It is not changed once it is there. If it is deleted, it is made anew; a Job that was complete is not. */
  readonly createOnly?: true;
  /**
   * Only with `createOnly`. Fields that are merged into the manifest right before the object is created, such as a password:
   * `{ data: { password } }`. It runs in the worker, and not for a plan. What it returns is sent to the API server, and kept nowhere else.
   */
  readonly generate?: () => object | Promise<object>;
  /**
   * Where the server refuses a change, it is deleted and created anew, and what belongs to it, such as Pods, is deleted first (`foreground`),
   * with it (`background`), or stays for the new one (`orphan`). Default: the resource stalls.
   */
  readonly recreate?: 'foreground' | 'background' | 'orphan';
  /**
   * An object that has the name already is taken over, unless something else controls it: its labels and owner reference become those of
   * the resource, and then it is changed, unless `createOnly`. Outside of the namespace of the resource, a function says of the
   * live object whether it may be. What an earlier resource of the same kind and name has left, such as in a restored backup, may
   * be taken over, too. Default: the resource stalls with `NameTaken`.
   */
  readonly adopt?: true | ((object: KubernetesObject) => boolean);
}

/** A manifest with its options. Made by {@link child} alone. */
export interface WrappedChild extends ChildOptions {
  readonly manifest: ChildManifest;
}

/**
 * A declared object with options. A plain manifest has none.
 *
 * @throws Error where the options do not go together
 * @example
 * const secret = child(
 *   { apiVersion: 'v1', kind: 'Secret', metadata: { name } },
 *   { createOnly: true, generate: () => ({ stringData: { password: crypto.randomUUID() } }) },
 * );
 * const deployment = child({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec }, { after: [secret] });
 */
export function child(manifest: ChildManifest, options: ChildOptions): WrappedChild {
  const { kind, metadata } = manifest;
  if (options.generate !== undefined && options.createOnly !== true)
    throw new Error(
      `child ${kind} ${metadata.name} has generate, which needs createOnly: the next change would remove what was generated`,
    );
  return { manifest, ...options };
}

/**
 * What there is of a declared object.
 *
 * @typeParam View what `view` of its type in `owns` returns
 */
export interface CurrentObject<View> {
  /** Absent: it is not there. */
  readonly uid?: string;
  /** What `view` of its type in `owns` returns. Absent: there is no `view`, or no object. */
  readonly view?: View;
  /** In `children`, without the `ready` of a wrapped child. */
  readonly ready: boolean;
  readonly isBeingDeleted: boolean;
  /** Why the API server does not let it be created or changed. Never in `children`. */
  readonly refused?: Cause;
  /** What it is created after, and is not ready: `StatefulSet shop/db`. Never in `children`. */
  readonly waitsFor?: string;
}

/**
 * What there is of an object of `children`. Undefined: it is not there, and nothing keeps it from being created.
 *
 * @param name of the object
 * @param namespace default: that of the resource
 * @example
 * status: ({ current }) => ({ isUp: current(DEPLOYMENTS, 'web')?.ready }),
 */
export type Current<Owned> = <View = Owned>(
  type: ResourceType & { view?(object: KubernetesObject): View | undefined },
  name: string,
  namespace?: string,
) => CurrentObject<View> | undefined;

/**
 * What objects are declared from.
 *
 * @typeParam R the resource
 * @typeParam Options the values of the options of the controller
 * @typeParam Owned the views of the objects of `owns`
 */
export interface ChildrenContext<R, Options, Owned = unknown> {
  readonly resource: R;
  readonly options: Options;
  /**
   * What the resource refers to, by `references` in their order: the objects of `names` in its order, absent ones too, then those of
   * `matchLabels` by name. Only that they are there, and their versions.
   */
  readonly references: readonly ReferencedObject[];
  /** What there is of the objects that are declared. */
  readonly current: Current<Owned>;
}

/**
 * What `children` answers: the objects that there are to be, in the order in which they are created; an empty list means none. Or a
 * decision where they cannot be told yet, such as `next.wait('the Secret', { recheckAfter: '1m' })`: then the objects stay as they are.
 */
export type Children = readonly (ChildManifest | WrappedChild)[] | Decision;
