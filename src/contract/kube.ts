import type { ResourceType } from './controller.ts';
import type { ObjectMeta } from './object.ts';

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
