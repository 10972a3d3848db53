/**
 * What a run is told of the resource. `add-finalizer`: it had no finalizer and no status; `start-cleaning`: it was
 * being deleted, with our finalizer, and its build had been reported as done. Both are acted on unread, conditional on
 * the resourceVersion. Nothing of the spec is in it: `gitUrl` may hold a password.
 */
export interface SeenBuild {
  readonly step: 'look' | 'add-finalizer' | 'start-cleaning';
  readonly resourceVersion: string;
  readonly generation: number;
}
