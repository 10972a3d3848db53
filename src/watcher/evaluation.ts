import type { Controller } from '../contract/controller.ts';
import { isRest, nextOf, reasonOf, type Decision, type Next } from '../contract/decision.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { ViewState } from './news.ts';
import type { StartRequest } from './runs.ts';

/** A resource as the watcher last saw it, and what its controller decides from that. */
export interface Evaluation extends ViewState {
  readonly ref: ResourceRef;
  readonly decision: Decision;
  readonly resourceVersion: string;
  /** What the decision was made from; undefined where the controller could make none. */
  readonly observation: unknown;
  /** How many looks were asked for by then; undefined: none. */
  readonly look?: number;
}

/** What the dispatcher asks of the projections. */
export interface Known {
  /** The controller of that name, or undefined where this watcher does not run it. */
  controller(name: string): Controller | undefined;
  /** The resource as it is now, or undefined where it is gone. */
  find(ref: ResourceRef): Evaluation | undefined;
  /** Whether this watcher would see such a resource if there were one. */
  covers(ref: ResourceRef): boolean;
}

/** Whether the resource is to have an open run: all are but those in their desired state. */
export function isNeeded(evaluation: Evaluation | undefined): evaluation is Evaluation {
  return evaluation !== undefined && evaluation.decision.do !== 'converged';
}

/** What a run is started with because of this view. */
export function startRequestFor(
  evaluation: Evaluation,
  controller: Controller,
): Omit<StartRequest, 'requestedAtMs'> {
  const { ref, decision, resourceVersion } = evaluation;
  return {
    ref,
    workflowType: controller.workflowType,
    summary: controller.summary(ref),
    reason: reasonOf(decision),
    first: firstStep(evaluation),
    resourceVersion,
  };
}

/** A run begins with the step that the view calls for; where the view rests, it finds that out by itself. */
export function firstStep({ decision }: Evaluation): Next {
  return isRest(decision) ? { do: 'observe', because: reasonOf(decision) } : nextOf(decision);
}

/** The same text where nothing that a run could change is different. */
export function fingerprintOf({ decision, inputs, resourceVersion }: Evaluation): string {
  return [decision.do, reasonOf(decision), inputs, resourceVersion].join('; ');
}
