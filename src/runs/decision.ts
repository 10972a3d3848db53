import { causeIn, inOneLine, type Cause } from '../api/cause.ts';
import type { Deletion } from '../api/deletion.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import { waitingFor } from './sentences.ts';
import type { UnknownAttempt } from '../api/unknown-attempt.ts';

/** What people read in `kubectl events`. */
export interface DecisionEvent {
  readonly type: 'Normal' | 'Warning';
  /** Why, in CamelCase: `NameTooLong`. */
  readonly reason: string;
  /** What was tried, in CamelCase: `AddLabel`. */
  readonly action: string;
  readonly note: string;
  /**
   * Tells two events of the same words apart, such as the UID of what was created. A state, such as being refused, has
   * none: as long as it lasts it is one Event.
   */
  readonly occasion?: string;
  /** The Event is about the namespace of the resource, since none can be created in it any more. */
  readonly about?: 'namespace';
  /** It is recorded on these resources of the same kind, too. */
  readonly alsoAbout?: readonly Pick<ResourceRef, 'namespace' | 'name' | 'uid'>[];
}

interface WithEvent {
  /** Recorded once the step is done, or once the run rests. */
  readonly event?: DecisionEvent;
}

/** A step of a reconcile: one activity, which writes to the cluster. */
export interface Step extends WithEvent {
  /** The name of the activity, such as `createJob`. */
  readonly do: string;
  /** Only where its name is a word for a rest, such as `wait`. */
  readonly isStep?: true;
  /** Why it is needed, for people. Nothing secret: it enters workflow history. */
  readonly because: string;
  /** What the Temporal UI shows beside the activity; the reason follows it. {@link nextInHistory} adds it. */
  readonly summary?: string;
  /** About how many writes the step makes. Default: one. Many writes make it a durable step from the start. */
  readonly writes?: number;
  /** Temporal knows of each attempt: it is never tried within the workflow task first. */
  readonly isDurable?: true;
  /** Of the data that its decision hands over. The run then gives each attempt its key, and knows whose outcome is unknown. */
  readonly digest?: string;
  /** How long an attempt may take, and take effect, in milliseconds. Default: ATTEMPT_MAX_MS of run.ts. */
  readonly attemptMaxMs?: number;
  /** How soon Temporal tries it again, in milliseconds. Default: RETRY of workflows/reconcile.ts. */
  readonly retry?: { readonly initialInterval?: number; readonly maximumInterval?: number };
  /** A change of the resource does not drop the attempt in progress. Default: it does. */
  readonly onChange?: 'finish';
  /** What it deletes. Default: nothing. */
  readonly deletes?: Deletion;
  /** Who has approved of that, to be reported once it is done. Default: nobody had to. */
  readonly approval?: Approval;
}

/** An approval, as an Event and the result of the run report it. */
export interface Approval {
  readonly event: DecisionEvent;
  readonly action: Action;
}

/** What is known does not suffice for a decision. A step activity reads what is missing and decides again. */
export interface Observe {
  readonly do: 'observe';
  readonly because: string;
  /** Everything, since what the watch shows does not suffice. Default: what is missing. */
  readonly isOfEverything?: true;
}

/** The resource is in its desired state, or gone. */
export interface Converged extends WithEvent {
  readonly do: 'converged';
  /** What was found, for people: the result of a run that wrote nothing. */
  readonly because: string;
  /** There is nothing to do, and yet the resource is not as it should be. */
  readonly notReady?: Cause;
  /** It will get ready by itself. */
  readonly isProgressing?: true;
  /** The watcher asks for another decision after so long, in milliseconds, even if nothing changes. */
  readonly recheckMs?: number;
}

/** There is nothing to do until something else has happened, which the watcher sees and signals. */
export interface Wait extends WithEvent {
  readonly do: 'wait';
  /** What has to happen, as it follows "Waiting for". */
  readonly for: string;
  /** The run looks again after so long even without a signal; in milliseconds. */
  readonly recheckMs: number;
  /** Why it does not come to that, where something is wrong. */
  readonly cause?: Cause;
}

/** Waiting cannot help: a person has to act. The run stays open until the resource changes. */
export interface Stalled extends WithEvent, Cause {
  readonly do: 'stalled';
  /** The run checks again after so long, in milliseconds, if the watch does not show what would end it. Default: never. */
  readonly recheckMs?: number;
}

/** What holds a step back. */
export type HeldReason = 'Paused' | 'NamespacePaused' | 'AwaitingApproval' | 'Rejected';

/** A person keeps it from its next step: the run stays open, writes only status and Events, and waits for a change. */
export interface Held extends WithEvent {
  readonly do: 'held';
  readonly by: 'pause' | 'approval';
  readonly reason: HeldReason;
  /** `paused by the annotation durable-operator.dev/paused`, `rejected by alice: not today`. */
  readonly message: string;
  /** The step that is held, and why it is needed: `createPods: there are 2 Pods, and spec.replicas is 3`. */
  readonly would: string;
  /** The id of the plan to approve. */
  readonly plan?: string;
}

/** Where a reconcile ends for now. */
export type Rest = Converged | Wait | Stalled | Held;

/**
 * What a controller decides from an observation: the next step, or that there is none.
 *
 * @typeParam S the controller's steps, with what each needs to be performed
 * @typeParam O what the controller can ask to observe besides, such as one node
 */
export type NextStep<S extends Step = Step> = S | Observe | Rest;

/** A decision as workflow history has it: the name and the reason, nothing of what a step needs. */
export type NextInHistory = Step | Observe | Rest;

/** What a step did, for people: `created 3 Pods`, `added label padok.fr/pod-name=web`. */
export interface Action {
  /** The past tense: `created`. */
  readonly did: string;
  /** What it was done to; in the singular where there is a count: `Pod`. */
  readonly what: string;
  /** How many. Actions of the same words add up. */
  readonly count?: number;
  /** How often, where there is no `count`. Default: once. */
  readonly times?: number;
  /** The names of a few of them. */
  readonly names?: readonly string[];
  /** It is reported once, however many steps did it. */
  readonly isOnce?: true;
}

/** Why the API server refused what a step was to write; or that it accepted something else (`overridden`). */
export interface Refusal {
  readonly because: 'refused' | 'overridden' | 'access-denied' | 'namespace-terminating';
  /** In the server's words. */
  readonly message: string;
  /** The step; undefined in a history that is older than this. */
  readonly step?: string;
  /** Other steps that were refused before, and have not been tried again since. Default: none. */
  readonly others?: readonly Refusal[];
}

/** What a step activity returns, and thereby what history keeps of it. */
export interface StepReport {
  readonly did: readonly Action[];
  readonly next: NextInHistory;
  /** The step was refused, and something else comes first, such as to report that. */
  readonly refusal?: Refusal;
  /** Attempts whose outcome is not known, and of which the run does not know yet. */
  readonly unknown?: readonly UnknownAttempt[];
  /** Such is this one: what it has done, if anything, is not all that it may have done. */
  readonly isUnknown?: true;
  /** Nothing was read for it: the next step is the one to find out what an earlier run may have left. */
  readonly hasNotLooked?: true;
}

export function isRest(decision: NextStep): decision is Rest {
  return isRestNamed(decision);
}

/** Whether that is no step, but why there is none. */
export function isRestNamed({ do: name, isStep }: Named): boolean {
  return isStep !== true && isRestWord(name);
}

/** A decision, or what a history has of one. */
type Named = Pick<Step, 'do' | 'isStep'>;

/** An author may give a step such a name. */
export function namedStep(name: string): Named {
  return { do: name, ...(isRestWord(name) && { isStep: true }) };
}

function isRestWord(name: string): boolean {
  return name === 'converged' || name === 'wait' || name === 'stalled' || name === 'held';
}

export function isConverged(decision: NextStep): decision is Converged {
  return isRest(decision) && decision.do === 'converged';
}

export function isObserve(decision: NextStep): decision is Observe {
  return decision.do === 'observe';
}

/** Whether there is something to write. */
export function isStep<S extends Step>(decision: NextStep<S>): decision is S {
  return !isRest(decision) && !isObserve(decision);
}

/** @param more about a resource that is not as it should be, although there is nothing to do */
export function converged(because: string, more: Omit<Converged, 'do' | 'because'> = {}): Converged {
  return { do: 'converged', because, ...more };
}

export function stalled(cause: Cause, more: Pick<Stalled, 'event' | 'recheckMs'> = {}): Stalled {
  return { do: 'stalled', ...causeIn(cause), ...more };
}

/** @param cause why it does not come to that, where something is wrong */
export function waitFor(what: string, recheckMs: number, cause?: Cause): Wait {
  return { do: 'wait', for: what, recheckMs, ...(cause && { cause }) };
}

/** The Event that reports a cause. @param occasion tells two of the same words apart; see {@link DecisionEvent} */
export function warning(cause: Cause, action: string, occasion?: string): DecisionEvent {
  const event = { type: 'Warning', reason: cause.reason, action, note: inOneLine(cause) } as const;
  return occasion === undefined ? event : { ...event, occasion };
}

/** What is wrong, if anything; undefined also where a step is on its way, and where a person holds the resource. */
export function causeOf(decision: NextStep): Cause | undefined {
  switch (decision.do) {
    case 'stalled':
      return 'reason' in decision ? causeIn(decision) : undefined;
    case 'wait':
      return 'cause' in decision ? decision.cause : undefined;
    case 'converged':
      return 'notReady' in decision ? decision.notReady : undefined;
    default:
      return undefined;
  }
}

/** The reason of a decision, for people. */
export function reasonOf(decision: NextStep): string {
  if ('because' in decision) return decision.because;
  return 'for' in decision ? waitingFor(decision.for) : decision.message;
}

/**
 * Leaves out what a step needs to be performed: history keeps names and reasons alone.
 *
 * @param summaries of the controller's steps
 */
export function nextInHistory(
  decision: NextStep,
  summaries: Readonly<Record<string, string>> = {},
): NextInHistory {
  if (isRest(decision)) return restOf(decision);
  const { do: step, because } = decision;
  const summary = summaries[step];
  return { do: step, because, ...(summary !== undefined && { summary }), ...travelling(decision) };
}

/** What of a step the workflow needs. */
function travelling(step: Partial<Step>): Partial<Step> {
  const { isStep, writes, isDurable, digest, attemptMaxMs, retry, onChange } = step;
  return {
    ...(isStep && { isStep }),
    ...(writes !== undefined && { writes }),
    ...(isDurable && { isDurable }),
    ...(digest !== undefined && { digest }),
    ...(attemptMaxMs !== undefined && { attemptMaxMs }),
    ...(retry && { retry }),
    ...(onChange && { onChange }),
  };
}

function restOf(rest: Rest): Rest {
  switch (rest.do) {
    case 'converged':
      return converged(rest.because, rest.notReady && { notReady: rest.notReady });
    case 'stalled':
      return stalled(rest, rest.recheckMs === undefined ? {} : { recheckMs: rest.recheckMs });
    case 'wait':
      return waitFor(rest.for, rest.recheckMs, rest.cause);
    case 'held': {
      const { by, reason, message, would, plan } = rest;
      return { do: 'held', by, reason, message, would, ...(plan !== undefined && { plan }) };
    }
  }
}

/** How many names of created or deleted objects a sentence or a result holds. */
const NAMES_MAX = 5;

/** Adds up actions of the same words: a whole run is summed up in one sentence. */
export function addedUp(actions: readonly Action[]): readonly Action[] {
  const sums = new Map<string, Action>();
  for (const action of actions) {
    const key = `${action.did} ${action.what}`;
    const before = sums.get(key);
    sums.set(key, before === undefined ? action : sumOf(before, action));
  }
  return [...sums.values()];
}

function sumOf(one: Action, other: Action): Action {
  if (one.isOnce) return one;
  const { did, what } = one;
  if (one.count === undefined) return { did, what, times: (one.times ?? 1) + (other.times ?? 1) };
  const names = [...(one.names ?? []), ...(other.names ?? [])].slice(0, NAMES_MAX);
  return { did, what, count: one.count + (other.count ?? 1), ...(names.length > 0 && { names }) };
}

/** `created 300 Pods, updated the status 3 times`; empty where nothing was done. */
export function sentenceOf(actions: readonly Action[]): string {
  return addedUp(actions).map(phraseOf).join(', ');
}

function phraseOf({ did, what, count, times = 1, names = [] }: Action): string {
  if (count === undefined) return times === 1 ? `${did} ${what}` : `${did} ${what} ${times} times`;
  const named = count <= names.length ? ` ${names.join(', ')}` : '';
  return count === 1 ? `${did} ${what}${named}` : `${did} ${count} ${what}s${named}`;
}
