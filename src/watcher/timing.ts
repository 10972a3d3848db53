/* How long the dispatcher waits for what; all in milliseconds. */

/** A run is not signalled while younger than this, nor more often: see docs/adr/0003-local-first.md. */
export const SPACING_MS = 200;
/**
 * A start holds its place until the watch shows its effect, or for this long: under load, work then waits
 * here, where it costs nothing, and not in the workers' queues.
 */
export const EFFECT_MS = 300;
/** A resource that is in its desired state most often says so because its run is just ending. */
export const NOT_NEEDED_AFTER_MS = 1_000;
/** If the view still calls for a step after so long without a change, the run is signalled once. */
export const UNCHANGED_MS = 2_000;
/** The same of a run that was not touched for {@link YOUNG_MS}: it is most likely in backoff, and changes nothing itself. */
export const UNCHANGED_IN_BACKOFF_MS = 500;
/** How long the end of a run, and the watch of its last writes, may take. */
export const ENDED_AFTER_MS = 500;
/** A run that was touched since is most likely about to end by itself, and best left alone. */
export const YOUNG_MS = 5_000;
/** How long visibility may lag behind the truth before it is believed. */
export const VISIBILITY_LAG_MS = 3_000;
/** How long nothing is started while Temporal is away: at first, and at most, as it doubles. */
export const PAUSE_FIRST_MS = 100;
export const PAUSE_MOST_MS = 5_000;
/** How long one run whose start or signal failed waits until it is tried again: at first, and at most, as it doubles. */
export const RETRY_FIRST_MS = 1_000;
export const RETRY_MOST_MS = 30_000;
/** A run that ended and left its resource unconverged, as far as the watch shows, is started again after this. */
export const AGAIN_FIRST_MS = 5_000;
