import type { Reconciler } from '../../activities/reconciler.ts';
import { StepRun } from '../../activities/step-run.ts';
import { namespaceOf } from '../api/resource-type.ts';
import type { NextInHistory } from '../runs/decision.ts';
import type { Logger } from '../api/logger.ts';
import type { ResourceRef } from '../api/resource-ref.ts';

export interface LookingOptions {
  readonly reconciler: (controller: string) => Reconciler;
  readonly isNamespacePaused: (namespace: string) => Promise<boolean>;
  readonly log: Logger;
  /** What the watcher of this process shows, as its controller decides on it. Undefined: not all of it is known. */
  readonly watched?: (ref: ResourceRef) => unknown;
}

/**
 * One observation of a resource in this process, and what is decided from it. Nothing is written.
 *
 * @throws ApiError; and whatever the author's functions throw
 */
export async function look(
  { reconciler: reconcilerOf, isNamespacePaused, log, watched }: LookingOptions,
  ref: ResourceRef,
  signal: AbortSignal = new AbortController().signal,
): Promise<NextInHistory> {
  const reconciler = reconcilerOf(ref.controller);
  const namespace = namespaceOf(ref, reconciler.controller.primary.type);
  const context = {
    ...{ ref, now: Date.now, superseded: signal, log: log.child({ ...ref }) },
    ...(watched && { watched: () => watched(ref) }),
    isNamespacePaused: async () => namespace !== undefined && (await isNamespacePaused(namespace)),
  };
  const { next } = await new StepRun(reconciler, context).perform('observe', undefined);
  return next;
}
