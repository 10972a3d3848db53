import { StepRun } from '../../../activities/step-run.ts';
import { type Reconciler } from '../../../activities/reconciler.ts';
import { reconcilersFor } from '../../../activities/reconcilers.ts';
import type { Options } from '../../config/config.ts';
import type { Next, Step } from '../../contract/decision.ts';
import type { ResourceRef } from '../../contract/resource.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';

/** What the operator would see of a resource now, and what it would decide. */
export interface Live {
  readonly observation: unknown;
  readonly next: Next;
}

export interface LiveRequest {
  readonly client: KubernetesClient;
  /** The operator's own. */
  readonly options: Options;
  readonly now: () => number;
  /** Whether the Namespace has the annotation; Default: it is not paused. */
  readonly isNamespacePaused?: boolean;
}

/**
 * Reads a resource as the step `observe` does, with the rights of whoever asks, and asks the controller's own `decide`.
 * Nothing is written.
 *
 * @throws ApiError
 */
export async function readLive(
  ref: ResourceRef,
  { client, options, now, isNamespacePaused = false }: LiveRequest,
): Promise<Live> {
  const reconcilers: Readonly<Record<string, Reconciler<unknown, Step>>> = reconcilersFor({
    client,
    options,
  });
  const reconciler = reconcilers[ref.controller];
  if (reconciler === undefined) throw new Error(`there is no controller ${ref.controller}`);
  const superseded = new AbortController().signal;
  const context = { ref, now, superseded, isNamespacePaused: () => Promise.resolve(isNamespacePaused) };
  const { next, known } = await new StepRun(reconciler, context).perform('observe', undefined);
  return { observation: known?.observation, next };
}
