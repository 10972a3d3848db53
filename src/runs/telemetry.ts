import type { ResourceRef } from '../api/resource-ref.ts';
import type { StepReport } from './decision.ts';

/**
 * Observes the operator at work. Its methods cost little and never throw, and nothing that the operator does depends
 * on them.
 */
export interface Telemetry {
  readonly queue: QueueObserver;
  watch(kind: WatchedKind): WatchObserver;
  runStarted(ref: ResourceRef): void;
  /** A resource is in its desired state again, or gone. */
  requestEnded(request: EndedRequest): void;
  /** Runs one attempt of a step activity, and resolves or rejects as it does. */
  step(about: StepAttempt, work: () => Promise<StepReport>): Promise<StepReport>;
  /** A step attempt has got no turn: more are wanted than there are slots. */
  turnDenied(controller: string): void;
  /** It has got one, after so long. */
  turnAwaited(controller: string, seconds: number): void;
  /** A request to the API server is about to be sent. */
  request(about: RequestAbout): RequestObserver;
  /** A request to the API server, or a watch of it, ended in an error. @param meaning a class of `src/kubernetes/errors.ts` */
  requestFailed(meaning: string): void;
}

/** What becomes of the keys of a queue: workflow ids. */
export interface QueueObserver {
  /** It is due, and waits for its turn. */
  added(key: string): void;
  begun(key: string): void;
  done(key: string): void;
  /** It failed, and will come again. */
  retried(key: string): void;
  /** Nothing that waits is begun any more. */
  emptied(): void;
}

/** The objects of one kind that one controller watches. */
export interface WatchedKind {
  readonly controller: string;
  /** The plural, as in `pods`. */
  readonly resource: string;
}

/** Why a watch had to be opened anew. */
export const WATCH_ENDS = [
  /** The server ended it in due time. */
  'ended',
  /** The connection broke, or was ended as soon as it had begun. */
  'broken',
  /** Nothing was heard for so long that the connection was dropped. */
  'silent',
  /** The version to go on from was too old: everything was listed again. */
  'expired',
  /** It could not be listed or watched: refused, or out of reach. */
  'failed',
] as const;
export type WatchEnd = (typeof WATCH_ENDS)[number];

export interface WatchObserver {
  /** An object has come by the watch. @param ageSeconds since its creation, which the server counts in whole seconds */
  created(ageSeconds: number): void;
  ended(how: WatchEnd): void;
}

export interface EndedRequest {
  readonly controller: string;
  readonly seconds: number;
}

/** One attempt of an activity. */
export interface StepAttempt {
  readonly ref: ResourceRef;
  readonly activity: string;
  /** From 1. */
  readonly attempt: number;
}

export interface RequestAbout {
  readonly method: string;
  /** Host and port of the API server. */
  readonly host: string;
  /** Without the query. */
  readonly path: string;
  /** A watch is over, as far as this goes, when it is accepted. */
  readonly isWatch: boolean;
}

export interface RequestObserver {
  answered(status: number): void;
  /** There was no answer. */
  failed(): void;
}

/** What a watcher says of itself when it is asked. */
export interface WatcherState {
  readonly watches: readonly WatchState[];
  readonly runs: readonly RunsState[];
  readonly oldestRequests: readonly OldestRequest[];
  readonly oldestDeletions: readonly OldestDeletion[];
  /** Whether the last start or signal failed because Temporal could not be reached. */
  readonly isTemporalUnavailable: boolean;
}

export interface WatchState extends WatchedKind {
  /** Since the last event, bookmark or list; without lists where no watch tells what they show. Of several watches, that of the quietest. */
  readonly silenceSeconds: number;
  /** Objects that are kept. */
  readonly known: number;
}

export interface RunsState {
  readonly controller: string;
  /** Runs that are open, as far as the watcher knows. */
  readonly open: number;
  /** Those of them that wait for a change of their resource, as of the last look at the open runs. */
  readonly stalled: number;
}

/** Of a controller: how long the resource that waits longest has waited, as far as this process has seen; 0: none waits. */
export interface OldestRequest {
  readonly controller: string;
  /** For a step that it needs and has not got. */
  readonly seconds: number;
  /** For whatever it needs to be up to date: a step, a change, a person. */
  readonly waitSeconds: number;
}

/** Of a controller with a finalizer. */
export interface OldestDeletion {
  readonly controller: string;
  /** Since the deletion of the resource that has waited longest for our finalizer; 0: none waits. */
  readonly seconds: number;
}

/** Those who ask the task queue for one kind of task, and belong to one version. */
export interface PollerGauge {
  readonly taskQueue: string;
  readonly taskType: 'workflow' | 'activity';
  /** `operator:1.2.0`; empty: without a version. */
  readonly version: string;
  readonly status: VersionStatus;
  /** Who has asked lately. */
  readonly count: number;
}

/** Open runs on a task queue that is not the operator's, and that nobody polls. */
export interface LeftRuns {
  readonly taskQueue: string;
  readonly count: number;
  /** When anybody polled last, in milliseconds since the epoch; undefined: not within five minutes. */
  readonly lastPollMs: number | undefined;
}

/** What Temporal says of task queues. */
export interface TaskQueueState {
  /** Of the operator's own. */
  readonly pollers: readonly PollerGauge[];
  readonly left: readonly LeftRuns[];
}

/** What becomes of the runs that need a worker of a version. */
export type VersionStatus =
  /** New runs go to it. */
  | 'current'
  /** Some of the new runs do. */
  | 'ramping'
  /** It gets no new runs, and has open ones. */
  | 'draining'
  /** Its runs have ended. */
  | 'drained'
  /** It never got any. */
  | 'inactive';

const nothing = (): void => undefined;

export const SILENT_WATCH: WatchObserver = { created: nothing, ended: nothing };

/** Observes nothing. */
export const SILENT: Telemetry = {
  queue: { added: nothing, begun: nothing, done: nothing, retried: nothing, emptied: nothing },
  watch: () => SILENT_WATCH,
  runStarted: nothing,
  requestEnded: nothing,
  step: (_, work) => work(),
  turnDenied: nothing,
  turnAwaited: nothing,
  request: () => ({ answered: nothing, failed: nothing }),
  requestFailed: nothing,
};
