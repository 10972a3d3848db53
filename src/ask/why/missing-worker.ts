import { pendingStepOf } from '../runs/runs.ts';
import type { PendingStep } from '../runs/timeline.ts';
import type { WorkerProblem } from '../runs/workers.ts';
import type { Explanation } from './explanation.ts';
import { liveIn, type Open } from './findings.ts';
import { workerProblemText } from './general-advice.ts';
import { openRun, stepFact, wordsOfFailure } from './open-run-parts.ts';

/*
 * Of an open run that no worker would go on with.
 */

/** Whether it has something to do, and only a worker is missing. */
export function isDue(open: Open): boolean {
  const { run, nowMs } = open;
  const hasTaskAlone = run.workflowTaskAttempt !== undefined && run.pending.length === 0;
  return hasTaskAlone || run.pending.some((step) => isOverdue(step, nowMs)) || isRestOver(open);
}

/** Such as by an annotation that was taken away while nobody watched. */
function isRestOver(open: Open): boolean {
  const { runState } = open.run;
  const now = liveIn(open)?.next.do;
  return runState !== undefined && now !== undefined && now !== (runState === 'Stalled' ? 'stalled' : 'held');
}

function isOverdue({ nextTryAtMs }: PendingStep, nowMs: number): boolean {
  return nextTryAtMs !== undefined && nextTryAtMs <= nowMs;
}

export function withoutWorker(open: Open, problem: WorkerProblem): Explanation {
  const { because, advice } = workerProblemText(problem, open.temporal);
  const pending = pendingStepOf(open.run);
  const failed = wordsOfFailure(pending);
  return openRun(open, {
    state: 'Waiting',
    headline: 'is waiting for a worker',
    facts: [
      ...(pending ? [stepFact(pending, open.nowMs)] : []),
      ...(failed === '' ? [] : [{ label: 'failed', text: failed }]),
      { label: 'because', text: because },
    ],
    advice,
  });
}

/** It needs no worker yet, and none is there. */
export function untilDue(open: Open, problem: WorkerProblem, explanation: Explanation): Explanation {
  const { because, advice } = workerProblemText(problem, open.temporal);
  return {
    ...explanation,
    facts: [...explanation.facts, { label: 'but', text: `${because}: whatever comes next has to wait` }],
    advice: [...advice, ...explanation.advice],
  };
}
