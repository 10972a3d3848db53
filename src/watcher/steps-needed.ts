import { isRest } from '../contract/decision.ts';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import type { Evaluation } from './evaluation.ts';

/** Since when each resource has needed a step, be it in progress, in backoff or not begun. One that waits needs none. */
export class StepsNeeded {
  /** By controller, then by workflow id, the oldest first; on the clock of `performance.now()`. */
  readonly #sinceMs = new Map<string, Map<string, number>>();

  seen({ ref, decision }: Evaluation): void {
    if (isRest(decision)) {
      this.gone(ref);
      return;
    }
    const since = this.#sinceMs.get(ref.controller) ?? new Map<string, number>();
    this.#sinceMs.set(ref.controller, since);
    const id = workflowIdFor(ref);
    if (!since.has(id)) since.set(id, performance.now());
  }

  gone(ref: ResourceRef): void {
    this.#sinceMs.get(ref.controller)?.delete(workflowIdFor(ref));
  }

  /** How long the oldest has been needed, by controller; 0 where none is. */
  get oldest(): { readonly controller: string; readonly seconds: number }[] {
    const nowMs = performance.now();
    return [...this.#sinceMs].map(([controller, since]) => {
      const [oldestMs = nowMs] = since.values();
      return { controller, seconds: (nowMs - oldestMs) / 1_000 };
    });
  }
}
