import type { Change } from '../contract/run.ts';
import type { Evaluation } from './evaluation.ts';
import type { RequestState } from './request-state.ts';

/** What happens to a resource, with what the view of it is by then; undefined: it is gone. */
export type RequestEvent =
  /** It is there as this process begins to lead. */
  | { readonly type: 'first seen'; readonly view: Evaluation }
  /** It has changed, or something of it has. */
  | { readonly type: 'changed'; readonly view: Evaluation | undefined }
  /** Time has passed, and nothing else. */
  | { readonly type: 'resynced'; readonly view: Evaluation }
  /** It is due, and a place is free. */
  | { readonly type: 'turn'; readonly view: Evaluation | undefined }
  /** What `wakeAtMs` has named is due. */
  | { readonly type: 'time' }
  /** Temporal has answered the call in progress. */
  | { readonly type: 'answered'; readonly answer: Answer }
  /** Temporal has not, or has refused; or this process does not lead just now, and has not asked. */
  | { readonly type: 'failed'; readonly because: 'unavailable' | 'refused' | 'not leading' }
  /** A run of it has ended, as far as is known. */
  | { readonly type: 'ended'; readonly view: Evaluation | undefined }
  /** A list of the open runs that was asked for at that time has it, or does not. */
  | {
      readonly type: 'listed';
      readonly isOpen: boolean;
      readonly isStalled: boolean;
      readonly askedAtMs: number;
      /** It is signalled even if it was before. */
      readonly again: boolean;
      readonly view: Evaluation | undefined;
    };

export type Answer = 'started' | 'already-open' | 'signalled' | 'not-open';

/** What is to be done besides remembering the state. */
export type Effect =
  | { readonly do: 'start'; readonly view: Evaluation }
  | {
      readonly do: 'signal';
      readonly reason: string;
      readonly change: Change;
      readonly view: Evaluation | undefined;
    }
  /** The resource needs a run no more. */
  | { readonly do: 'report'; readonly neededForMs: number };

export interface Outcome {
  /** Undefined: nothing of the resource has to be remembered. */
  readonly state: RequestState | undefined;
  readonly effects: readonly Effect[];
}

export interface Clock {
  /** On the clock of `performance.now()`. */
  readonly nowMs: number;
  /** The longest that a run without effect waits before it is started anew. */
  readonly longestMs: number;
}
