/*
 * What watcher, workflow and activities say to each other, and histories keep: references, reasons, steps by name, results. Histories are
 * older than the program, so what a field means never changes, and a new one is optional. No object and no secret is ever in it.
 */

import type { ClusterIdentity } from './cluster.ts';
import type { Action, NextInHistory, Refusal } from './decision.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import type { UnknownAttempt } from '../api/unknown-attempt.ts';

/**
 * The one signal a run knows. Its arguments are the reason, for people, a {@link ChangeCertainty}, and the step that the watcher's view calls
 * for, if any, as {@link RunInput} has it: a run that waits goes on with that. It never carries state.
 */
export const CHANGED_SIGNAL = 'changed';

/**
 * Whether somebody saw a change, or only cannot rule one out because nobody watched for a while. Either ends a wait. A
 * backoff is ended only by what was seen, else each start of a watcher would make all attempts begin again; the next
 * attempt looks at the live state anyway. Default: `seen`.
 */
export type ChangeCertainty = 'seen' | 'possible';

/**
 * How long an attempt may still take effect after the run has given up on it, in milliseconds: longer than a step may take
 * from its read to the end of its write.
 */
export const ATTEMPT_MAX_MS = 15_000;

/** How often an attempt says that it goes on, and what it has done. Well under HEARTBEAT_TIMEOUT of workflows/reconcile.ts. */
export const HEARTBEAT_EVERY_MS = 1_000;

/** What a heartbeat of a durable attempt says, for the attempt or the run that comes after it. */
export interface Heartbeat {
  readonly did: readonly Action[];
  /** When `run` was called, in milliseconds since the epoch. Absent: it was not yet. */
  readonly begunMs?: number;
}

/** Where a run asks the attempt that is in progress in the same process to end. */
export type AttemptSinks = Readonly<Record<'attempts', Record<'end', () => void>>>;

/** What a run is started with: a reference, why, and the first step. */
export interface RunInput {
  readonly ref: ResourceRef;
  /** Of the resource; undefined: that of whoever works on the run. */
  readonly cluster?: ClusterIdentity;
  /** Why the run was started, for people. */
  readonly reason: string;
  /** The step that the watcher's view calls for, or `observe`. */
  readonly first: NextInHistory;
  /** Of the resource, as the watcher saw it when it named the first step. */
  readonly resourceVersion?: string;
  /** An observation asks an outside system: it is not tried within a workflow task first. Absent: it does not. */
  readonly observesOutside?: true;
  /** What earlier runs of the same story did, where a long history was left behind. */
  readonly did?: readonly Action[];
  /** Attempts of these runs whose outcome is not known. Absent: the run is the first one of its story, and has to find out. */
  readonly unknown?: readonly UnknownAttempt[];
  /** The last attempt of these runs, if its outcome is not known. */
  readonly lastAttempt?: KeyedAttempt;
}

/** One execution of a step with one key. */
export interface KeyedAttempt {
  readonly step: string;
  /** Of the data that its decision hands over. */
  readonly digest: string;
  /** New after each known result, and for another step or other data; else the same. */
  readonly idempotencyKey: string;
}

/** What every step activity is given. */
export interface StepInput {
  readonly ref: ResourceRef;
  /** As {@link RunInput} has it. */
  readonly cluster?: ClusterIdentity;
  /**
   * How many signals the run had seen when the step was called. What an earlier step observed counts only while this
   * is the same.
   */
  readonly changes: number;
  /** How many results of steps the run had got by then: what was done since is yet to be reported to it. */
  readonly results: number;
  /** Earlier attempts whose outcome is not known. Absent: the run knows of none. */
  readonly unknown?: readonly UnknownAttempt[];
  /** Only of a step whose data has a digest. */
  readonly attempt?: KeyedAttempt;
  /** How often in a row an attempt of the step has found other data than its decision before. Absent: never. */
  readonly otherData?: number;
  /** Of the step that was refused last, until it succeeds: a process that takes over would not know of it. */
  readonly refusal?: Refusal;
  /** As {@link Step} has it. */
  readonly onChange?: 'finish' | undefined;
}
