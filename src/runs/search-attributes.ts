import { labelsOfCluster, type ClusterIdentity } from './cluster.ts';
import { AWAITING_APPROVAL, PAUSED } from '../api/annotations.ts';

/** The custom search attributes of our runs, all of type Keyword, registered at start. */
export const SEARCH_ATTRIBUTES = {
  controller: 'Controller',
  namespace: 'ResourceNamespace',
  name: 'ResourceName',
  uid: 'ResourceUid',
  /** The name of its cluster, or its UID; nothing where nobody knows which it is. */
  cluster: 'Cluster',
  /** A {@link RunState}, or nothing. */
  state: 'RunState',
} as const;

/** Only a change of its resource will let the run go on. */
export const STALLED = 'Stalled';
/** A person has to let the run go on: the conditions have the same names. */
export { AWAITING_APPROVAL, PAUSED };

/** The last attempt of a durable step has failed, and the run waits for the next one. */
export const RETRYING = 'Retrying';

export type RunState = typeof STALLED | typeof RETRYING | typeof PAUSED | typeof AWAITING_APPROVAL;

/** Of a list filter: the runs of a cluster, with those of which nobody knows whose they are. */
export function isOfCluster(cluster: ClusterIdentity): string {
  const labels = labelsOfCluster(cluster).map(quoted);
  const isUnknown = `${SEARCH_ATTRIBUTES.cluster} IS NULL`;
  return labels.length === 0
    ? isUnknown
    : `(${SEARCH_ATTRIBUTES.cluster} IN (${labels.join(', ')}) OR ${isUnknown})`;
}

/** Of a list filter: the runs with this value of an attribute, be it one of ours or `TaskQueue`. */
export function isEqual(attribute: string, value: string): string {
  return `${attribute} = ${quoted(value)}`;
}

/**
 * However it is written, the server finds no value with `"`, `\` or a control character in it, or `'` at an end; so the
 * operator refuses such names. With a single `\` at the end, the filter would be malformed.
 */
function quoted(value: string): string {
  return `'${value.replaceAll('\\', String.raw`\\`).replaceAll("'", "''")}'`;
}
