import type { Decision } from './known.ts';
import type { JobView } from './job-view.ts';
import type { StepEvent } from './observation.ts';

/** The status while no Job of the spec has begun. */
export const BEFORE_JOB = {
  phase: 'Pending',
  reason: 'Pending',
  startTime: null,
  completionTime: null,
} as const;

/** Job by Job, in the foreground: each goes after its Pods. */
export function deleteFirst(jobs: readonly JobView[]): Decision {
  const job = jobs.find(({ deleting }) => !deleting);
  if (job === undefined) return undefined;
  const { name, uid } = job;
  const note = `Job ${name} is deleted: the spec is another now`;
  const event: StepEvent = { type: 'Normal', reason: 'JobReplaced', action: 'Replace', note, occasion: uid };
  return { do: 'delete-job', job, propagation: 'Foreground', event };
}
