import type { ResourceType } from './controller.ts';
import type { KubernetesObject, ObjectMeta } from './object.ts';

/** One object. A namespace is left out where the kind has none. */
export interface ObjectAt {
  readonly type: Pick<ResourceType, 'group' | 'version' | 'plural'> & { readonly namespaced?: boolean };
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: 'status' | undefined;
}

/** An object to create. Its type says where. */
export interface NewObject {
  readonly metadata?: { readonly [Field in keyof ObjectMeta]?: ObjectMeta[Field] | undefined };
  readonly [field: string]: unknown;
}

/**
 * What a controller wants an object to be: all fields that it cares for. With the UID of the object that it was decided from; without,
 * that there is none, and it is created.
 */
export interface AppliedObject extends NewObject {
  readonly metadata: NonNullable<NewObject['metadata']> & { readonly name: string };
}

/** A merge patch that says what it was decided from: the server refuses it where the object is another by then. */
export interface ConditionalPatch {
  readonly metadata: ({ readonly resourceVersion: string } | { readonly uid: string }) & Fields;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** A delete that says what it was decided from. Source: apimachinery, `metav1.Preconditions`. */
export interface ConditionalDelete {
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan';
}

/** An eviction that says what it was decided from. */
export type ConditionalEviction = Omit<ConditionalDelete, 'propagation'>;

/** How many replicas an object is to have, and what that was decided from. */
export interface ConditionalScale {
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly replicas: number;
}

/** How an object scales, whatever its type. Source: `autoscaling/v1`, Scale. */
export interface Scale extends KubernetesObject {
  /** What is asked for. */
  readonly spec: { readonly replicas?: number };
  /** What there is; `selector` selects its Pods. */
  readonly status: { readonly replicas: number; readonly selector?: string };
}
