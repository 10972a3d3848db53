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
