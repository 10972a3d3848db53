/**
 * What tells one cluster from others that share a Temporal namespace. With neither, nobody knows which cluster it is: the
 * operator may not read it, or a run is older than this.
 */
export interface ClusterIdentity {
  /** As the operator's option names it. */
  readonly name?: string | undefined;
  /** `metadata.uid` of the Namespace kube-system: a cluster has it for as long as it lives, and no other has it. */
  readonly uid?: string | undefined;
}

/** What people see of it; undefined where nobody knows which it is. */
export function labelOfCluster({ name, uid }: ClusterIdentity): string | undefined {
  return name ?? uid;
}

/** All that its runs may be labelled with: they keep their label when the cluster gets a name. */
export function labelsOfCluster({ name, uid }: ClusterIdentity): readonly string[] {
  return [name, uid].filter((label) => label !== undefined);
}

/**
 * Whether what belongs to one cluster is another one's. What belongs to an unknown cluster is everybody's, and a cluster that
 * does not know which it is has nothing else.
 */
export function isOfOtherCluster(owner: ClusterIdentity | undefined, own: ClusterIdentity): boolean {
  if (owner === undefined || labelOfCluster(owner) === undefined) return false;
  return !isSame(owner, own);
}

/** Names win: one that was built anew keeps its name, and a copy has the UID of its original. */
function isSame(one: ClusterIdentity, other: ClusterIdentity): boolean {
  if (one.name !== undefined && other.name !== undefined) return one.name === other.name;
  return one.uid !== undefined && one.uid === other.uid;
}
