import { apiVersionOf } from '../../api/resource-type.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { fieldsOf, listOf, type Fields } from '../../api/fields.ts';
import { controllerOf } from '../../api/kinds.ts';
import { ANSWERED_ANNOTATION, manifestDigest } from './digest.ts';
import { ourFields, partOf } from './owned-fields.ts';
import { readinessOf, type Readiness } from './readiness.ts';
import {
  afterIn,
  isCreateOnly,
  OWNER_LABEL,
  type ChildRef,
  type DeclaredType,
  type Wanted,
} from './wanted.ts';

/** An object that a resource has declared, as it is. */
export interface ChildView extends ChildRef {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The UID of the resource that has declared it. */
  readonly ownerUid: string | undefined;
  /** Of the fields that our applies own. Empty: it is not changed, and nobody makes one. */
  readonly digest: string;
  /** What the server made of what was applied last, where that is something else. */
  readonly answered: Answered | undefined;
  readonly isBeingDeleted: boolean;
  /** The garbage collector does not delete it with its resource. */
  readonly isElsewhere: boolean;
  readonly readiness: Readiness;
  /** Of a Service: its addresses and node ports, which no other one can have. */
  readonly holds?: readonly string[];
  /** What it was created after, by their keys. */
  readonly after?: readonly string[];
  /** Of its type in `owns`. Absent: that has none. */
  readonly kept?: unknown;
}

/** The server's answer to one digest was another one. */
export interface Answered {
  readonly wanted: string;
  readonly answer: string;
}

export function childView(type: DeclaredType, object: KubernetesObject): ChildView {
  const { namespace, name, uid, resourceVersion, deletionTimestamp } = object.metadata;
  const after = afterIn(object);
  return {
    ...{ type, namespace, name, uid, resourceVersion },
    ownerUid: controllerOf(object.metadata)?.uid ?? object.metadata.labels?.[OWNER_LABEL],
    digest: isCreateOnly(object)
      ? ''
      : manifestDigest(partOf(object, ourFields(object, type.manager) ?? NOTHING), type),
    answered: answeredIn(object),
    isBeingDeleted: deletionTimestamp !== undefined,
    isElsewhere: controllerOf(object.metadata) === undefined,
    readiness: readinessOf(type, object),
    ...(type.group === '' && type.kind === 'Service' && { holds: heldBy(fieldsOf(object['spec'])) }),
    ...(after.length > 0 && { after }),
    ...(type.view && { kept: type.view({ ...object, apiVersion: apiVersionOf(type), kind: type.kind }) }),
  };
}

function heldBy({ clusterIPs, ports, healthCheckNodePort }: Fields): readonly string[] {
  const all = [
    ...(Array.isArray(clusterIPs) ? (clusterIPs as readonly unknown[]) : []),
    ...listOf(ports).map(({ nodePort }) => nodePort),
    healthCheckNodePort,
  ];
  return all.filter((each) => each !== undefined && each !== 'None').map(String);
}

/** Fields of no object: what we do not own is not as it was applied. */
const NOTHING = { 'f:metadata': { 'f:labels': { '.': {} } } };

/** Whether an object is as it is declared, as far as the server takes it. One without its owner reference never is. */
export function isAsWanted({ digest, answered, isElsewhere }: ChildView, wanted: Wanted): boolean {
  if (isElsewhere !== wanted.isElsewhere) return false;
  if (digest === wanted.digest) return true;
  return answered?.wanted === wanted.digest && answered.answer === digest;
}

/** @returns the value of {@link ANSWERED_ANNOTATION} */
export function answeredText({ wanted, answer }: Answered): string {
  return `${wanted} ${answer}`;
}

function answeredIn({ metadata }: KubernetesObject): Answered | undefined {
  const [wanted = '', answer] = (metadata.annotations?.[ANSWERED_ANNOTATION] ?? '').split(' ');
  return answer === undefined ? undefined : { wanted, answer };
}
