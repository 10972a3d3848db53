import { hash } from 'node:crypto';
import type { Condition } from '../api/condition.ts';
import type { Controller } from '../engine/controller.ts';
import {
  converged,
  isConverged,
  isRest,
  isStep,
  nextInHistory,
  reasonOf,
  type NextStep,
  type NextInHistory,
  type Observe,
} from '../runs/decision.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import type { StartRequest } from './runs.ts';

/** What the watcher's view of a resource comes to. */
export interface ViewState {
  readonly decision: NextStep;
  /** What is news to an open run, in one text. */
  readonly inputs: string;
  /** What the decision was made from; undefined where the controller could make none. */
  readonly observation?: unknown;
}

/** A resource as the watcher last saw it, and what its controller decides from that. */
export interface Evaluation extends ViewState {
  readonly ref: ResourceRef;
  readonly resourceVersion: string;
  /** How many looks were asked for by then; undefined: none. */
  readonly look?: number;
}

/** What the dispatcher asks of the projections. */
export interface ProjectionReader {
  /** The controller of that name, or undefined where this watcher does not run it. */
  controller(name: string): Controller | undefined;
  /** The resource as it is now, or undefined where it is gone. */
  find(ref: ResourceRef): Evaluation | undefined;
  /** Whether this watcher would see such a resource if there were one. */
  covers(ref: ResourceRef): boolean;
}

/** A mistake in a controller concerns one resource, and its run meets it, too. */
export function undecided(error: unknown): Observe {
  return { do: 'observe', because: `the controller failed to decide: ${String(error)}` };
}

/** What it creates would be refused. */
export const DOOMED = converged('its namespace is being deleted');

/** Whether the resource is to have an open run: all are but those in their desired state. */
export function isNeeded(evaluation: Evaluation | undefined): evaluation is Evaluation {
  return evaluation !== undefined && !isConverged(evaluation.decision);
}

/** What a run is started with because of this view. */
export function startRequestFor(evaluation: Evaluation, controller: Controller): StartRequest {
  const { ref, decision, resourceVersion } = evaluation;
  return {
    ref,
    workflowType: controller.workflowType,
    summary: controller.summary(ref),
    reason: reasonOf(decision),
    first: firstStep(evaluation, controller.steps),
    resourceVersion,
    ...(controller.observesOutside && { observesOutside: true }),
  };
}

/** A run begins with the step that the view calls for; where that calls for none, it finds out by itself. */
export function firstStep(evaluation: Evaluation, summaries: Controller['steps'] = {}): NextInHistory {
  return calledFor(evaluation, summaries) ?? { do: 'observe', because: reasonOf(evaluation.decision) };
}

/** The step that a view calls for: an open run that waits goes on with it. */
export function calledFor(
  { decision }: Evaluation,
  summaries: Controller['steps'],
): NextInHistory | undefined {
  return isStep(decision) ? nextInHistory(decision, summaries) : undefined;
}

/** The same text where nothing that a run could change is different. */
export function fingerprintOf({ decision, inputs, resourceVersion }: Evaluation): string {
  return [decision.do, reasonOf(decision), inputs, resourceVersion].join('; ');
}

/** What an open run was last started or signalled with, and what the view has shown since. */
export interface Reported {
  readonly inputs: string;
  /** The first rest that the view has come to: what calls for a step after it is no work of the run. */
  readonly rest?: string;
  /** Nothing of the view has changed since but the words of conditions. */
  readonly current: boolean;
  /** The view, as long as it is current. Absent: no step was called for, or there is no view. */
  readonly shown?: Shown;
}

/**
 * Whether an open run has to be signalled: at once, if the view stays as it is for a while, or not.
 *
 * The run's own writes move the view from step to step, and are no news. Nor is a view that rests: the run rests, too,
 * or will when it looks; but it does not look while a person holds it, and people go by what it says it is held by. So it is
 * news when that begins, ends, or becomes something else. A step that is still called for although nothing happens any more
 * may be one that the run does not know of, because the change that called for it reached the view together with the run's
 * own writes. Where a server refuses in other words each time, and the status repeats them, the view has not changed.
 */
export function newsIn(view: ViewState, reported: Reported | undefined): 'now' | 'if unchanged' | 'none' {
  if (reported?.inputs !== view.inputs) return 'now';
  if (reported.rest !== undefined && reported.rest !== restIn(view.decision)) return 'now';
  if (isRest(view.decision)) return 'none';
  return reported.current ? 'none' : 'if unchanged';
}

/** The run is about to be started or signalled because of this view. */
export function reportedWith(view: ViewState): Reported {
  const { inputs, decision } = view;
  const shown = shownIn(view);
  return { inputs, current: true, ...restedAt(restIn(decision)), ...(shown !== undefined && { shown }) };
}

/** The view has changed. */
export function afterChange({ shown: before, ...reported }: Reported, view: ViewState): Reported {
  const rested = restedAt(reported.rest ?? restIn(view.decision));
  const shown = before && shownIn(view);
  return shown !== undefined && isSaidAnew(before, shown)
    ? { ...reported, shown, ...rested }
    : { ...reported, current: false, ...rested };
}

/** A view that calls for a step, and the words of the conditions in it. */
interface Shown {
  readonly view: string;
  readonly words: string;
}

function shownIn({ decision, observation }: ViewState): Shown | undefined {
  if (isRest(decision) || observation === undefined) return undefined;
  const words: string[] = [];
  /** Without the words of the conditions that an operator writes, and without versions, which each write changes. */
  const wordless = (field: string, value: unknown) => {
    if (field === 'resourceVersion') return undefined;
    if (!isConditionOfOurs(value)) return value;
    const { type, status, reason, observedGeneration, message } = value;
    words.push(message);
    return { type, status, reason, observedGeneration };
  };
  const view = JSON.stringify([decision.do, reasonOf(decision), observation], wordless);
  return { view: hash('sha256', view), words: hash('sha256', words.join('\n')) };
}

/** Where something else has changed and is again what it was, the words are the same. */
function isSaidAnew(before: Shown | undefined, now: Shown | undefined): boolean {
  return before?.view === now?.view && before?.words !== now?.words;
}

const OURS: readonly unknown[] = ['Ready', 'Reconciling', 'Stalled'];

function isConditionOfOurs(value: unknown): value is Condition {
  return (
    typeof value === 'object' &&
    value !== null &&
    'lastTransitionTime' in value &&
    'type' in value &&
    OURS.includes(value.type)
  );
}

/** The view has changed. @returns undefined where that is news */
export function unlessNews(reported: Reported, view: ViewState): Reported | undefined {
  return newsIn(view, reported) === 'now' ? undefined : afterChange(reported, view);
}

function restedAt(rest: string | undefined): Pick<Reported, 'rest'> {
  return rest === undefined ? {} : { rest };
}

/** The same text for rests that a run comes to by itself. */
function restIn(decision: NextStep): string | undefined {
  if (!isRest(decision)) return undefined;
  if (decision.do !== 'held') return 'a rest';
  return `held by ${decision.by} ${decision.plan ?? ''}`;
}
