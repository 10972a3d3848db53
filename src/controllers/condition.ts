/** One aspect of a resource's state, as `metav1.Condition` writes it. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** Of the resource when this was found. */
  readonly observedGeneration: number;
  /** RFC 3339: when `status` became what it is. */
  readonly lastTransitionTime: string;
  /** Why, in CamelCase, for programs. */
  readonly reason: string;
  /** Why, for people; at most 32,768 characters. */
  readonly message: string;
}

/** What is found of an aspect now; since when it is so follows from what was found before. */
export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/**
 * The conditions after these findings, in the findings' order; those of other types are kept, behind them.
 * Equal to `before` where nothing differs: the time of a transition moves with `status` alone.
 *
 * @param now RFC 3339, in whole seconds as Kubernetes writes it
 */
export function conditionsAfter(
  before: readonly Condition[],
  findings: readonly Finding[],
  { generation, now }: { readonly generation: number; readonly now: string },
): readonly Condition[] {
  const found = findings.map((finding): Condition => {
    const known = before.find(({ type }) => type === finding.type);
    const lastTransitionTime = known?.status === finding.status ? known.lastTransitionTime : now;
    return { ...finding, observedGeneration: generation, lastTransitionTime };
  });
  const others = before.filter(({ type }) => !findings.some((finding) => finding.type === type));
  return [...found, ...others];
}
