import { type Reconciler } from '../../../activities/reconciler.ts';
import { StepRun } from '../../../activities/step-run.ts';
import type { Options } from '../../config/config.ts';
import type { NextInHistory } from '../../runs/decision.ts';
import type { ResourceRef } from '../../api/resource-ref.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import type { Program } from '../../program/program.ts';
import { reconcilersOf, type Reconcilers } from '../../program/reconcilers.ts';

/** What the operator would observe of a resource now, and decide. */
export interface LiveDecision {
  readonly observation: unknown;
  readonly next: NextInHistory;
}

export interface LiveRequest {
  readonly program: Program;
  readonly client: KubernetesClient;
  readonly options: Options;
  readonly now: () => number;
  readonly isNamespacePaused?: boolean;
}

export function reconcilerOf(reconcilers: Reconcilers, { controller }: ResourceRef): Reconciler {
  const reconciler = reconcilers[controller];
  if (reconciler === undefined) throw new Error(`there is no controller ${controller}`);
  return reconciler;
}

/**
 * Reads a resource like the step `observe`, with the user's own rights, and calls the controller's `decide`. Writes nothing.
 *
 * @throws ApiError
 */
export async function readLive(
  ref: ResourceRef,
  { program, client, options, now, isNamespacePaused = false }: LiveRequest,
): Promise<LiveDecision> {
  const reconciler = reconcilerOf(reconcilersOf(program, { client, options }), ref);
  const superseded = new AbortController().signal;
  const context = { ref, now, superseded, isNamespacePaused: () => Promise.resolve(isNamespacePaused) };
  const { next, known } = await new StepRun(reconciler, context).perform('observe', undefined);
  return { observation: known?.observation, next };
}
