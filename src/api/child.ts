import type { ReferencedObject } from '../contract/controller.ts';
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

/**
 * What objects are declared from.
 *
 * @typeParam R the resource
 * @typeParam Options the values of the options of the controller
 */
export interface ChildrenContext<R, Options> {
  readonly resource: R;
  readonly options: Options;
  /**
   * What the resource refers to, by `references` in their order: the objects of `names` in its order, absent ones too, then those of
   * `matchLabels` by name. Only that they are there, and their versions.
   */
  readonly references: readonly ReferencedObject[];
}

/**
 * What `children` answers: the objects that there are to be, in the order in which they are created; an empty list means none. Or a
 * decision where they cannot be told yet, such as `next.wait('the Secret', { recheckAfter: '1m' })`: then the objects stay as they are.
 */
export type Children = readonly ChildManifest[] | Decision;
