/** The metadata we read of any Kubernetes object, as the API server sends it. */
export interface ObjectMeta {
  readonly name: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid: string;
  /** Opaque: compare for equality only. */
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  /** RFC 3339; present once deletion was asked for. */
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** Which object, and which state of it. */
export type Identity = Pick<ObjectMeta, 'namespace' | 'name' | 'uid' | 'resourceVersion'>;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Any object; what lies beyond `metadata` is unknown until its reader has parsed it. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** One page of a list. Source: apimachinery, `metav1.ListMeta`. */
export interface KubernetesList {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly KubernetesObject[] | null;
}
