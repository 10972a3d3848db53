import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { FAILURE } from '../../src/contract/failures.ts';
import { converged, progressed, stalled, waiting } from '../../src/contract/run.ts';
import {
  anAttemptUnderWay,
  type Attempt,
  type AnyWorkflow,
  type WorkflowRun,
  type WorkflowWorld,
} from '../support/workflow-world.ts';

/** What the watcher saw, as small as the real thing. */
const SEEN = { step: 'create', resourceVersion: '7' };

export const succeeds =
  (did = 'done'): Attempt =>
  () =>
    Promise.resolve(converged(did));
export const stalls: Attempt = () => Promise.resolve(stalled('the name is too long'));
export const failsUnavailable: Attempt = () =>
  Promise.reject(
    ApplicationFailure.create({ type: FAILURE.unavailable, message: '500 the server is out of order' }),
  );
/** Retried by Temporal, but only after an hour. */
export const failsForAnHour: Attempt = () =>
  Promise.reject(
    ApplicationFailure.create({
      type: FAILURE.accessDenied,
      message: '403 forbidden',
      nextRetryDelay: 3_600_000,
    }),
  );
export const failsForGood: Attempt = () =>
  Promise.reject(ApplicationFailure.create({ type: 'InvalidSpec', message: 'never', nonRetryable: true }));
const askedToWait =
  (ms: number): Attempt =>
  () =>
    Promise.reject(
      ApplicationFailure.create({
        type: FAILURE.retryAfter,
        message: '429 too many requests',
        nonRetryable: true,
        details: [ms],
      }),
    );
/** Until it is cancelled, at the latest when the worker stops. */
const neverEnds: Attempt = () => Context.current().cancelled;

/** Drives one run to the point that makes the case; the run is over unless the name says that it waits. */
export type Case = (world: WorkflowWorld, workflow: AnyWorkflow) => Promise<WorkflowRun>;

const completing =
  (seen: object | undefined, attempts: readonly Attempt[]): Case =>
  async (world, workflow) => {
    const run = await world.start(workflow, seen, attempts);
    await run.result();
    return run;
  };

export const CASES = {
  'quick-success': completing(SEEN, [succeeds()]),
  'quick-failure': completing(SEEN, [failsUnavailable, succeeds('done durably')]),
  'quick-time-out': completing(SEEN, [neverEnds, succeeds('done durably')]),
  'quick-retry-after': completing(SEEN, [askedToWait(1_000), succeeds('done durably')]),
  'durable-success': completing(undefined, [succeeds()]),
  'durable-retries': completing(undefined, [failsUnavailable, failsUnavailable, succeeds('done at last')]),

  'change-while-working': async (world, workflow) => {
    const underWay = anAttemptUnderWay();
    const run = await world.start(workflow, undefined, [underWay.attempt, succeeds('done after the change')]);
    await run.reached(() => run.passes.length === 1);
    await run.change();
    underWay.end(converged('done before the change'));
    await run.result();
    return run;
  },

  'change-while-hanging': async (world, workflow) => {
    const run = await world.start(workflow, undefined, [neverEnds, succeeds('done after the change')]);
    await run.reached(() => run.passes.length === 1);
    await run.change();
    await run.result();
    return run;
  },

  'change-in-backoff': async (world, workflow) => {
    const run = await world.start(workflow, undefined, [failsForAnHour, succeeds('done after the change')]);
    await run.reached(() => run.passes.length === 1);
    await run.change();
    await run.result();
    return run;
  },

  'stalled-then-changed': async (world, workflow) => {
    const run = await world.start(workflow, SEEN, [stalls, succeeds('done after the change')]);
    await run.reached((story) => story.includes('workflowTaskCompleted'));
    await run.change();
    await run.result();
    return run;
  },

  'stalled-waits': async (world, workflow) => {
    const run = await world.start(workflow, SEEN, [stalls]);
    await run.reached((story) => story.includes('workflowTaskCompleted'));
    return run;
  },

  'failed-for-good-then-changed': async (world, workflow) => {
    const run = await world.start(workflow, undefined, [failsForGood, succeeds('done after the change')]);
    await run.reached(
      (story) => story.at(-1) === 'upsertWorkflowSearchAttributes' && story.includes('activityTaskFailed'),
    );
    await run.change();
    await run.result();
    return run;
  },

  'retry-after-an-hour-waits': async (world, workflow) => {
    const run = await world.start(workflow, undefined, [askedToWait(3_600_000), succeeds()]);
    await run.reached((story) => story.includes('timerStarted'));
    await run.change();
    await run.reached((story) => followedBy(story, 'workflowExecutionSignaled', 'workflowTaskCompleted'));
    return run;
  },
} as const satisfies Record<string, Case>;

export type CaseName = keyof typeof CASES;
export const CASE_NAMES = Object.keys(CASES).filter((name): name is CaseName => name in CASES);

const progresses: Attempt = () => Promise.resolve(progressed('created 4 of 5', 'create the fifth'));
const waits =
  (atMostMs: number): Attempt =>
  () =>
    Promise.resolve(
      waiting('Job build-web to end', { atMostMs, did: 'created Job build-web', next: 'see how it ended' }),
    );
const HOUR_MS = 3_600_000;

/** What only a workflow of several passes comes to. */
export const PROCEDURE_CASES = {
  'several-passes': completing(SEEN, [progresses, progresses, succeeds('created all 5')]),
  'retries-with-what-was-seen': completing(SEEN, [failsUnavailable, succeeds('done at last')]),
  'waiting-until-its-time': completing(SEEN, [waits(1_000), succeeds('the Job has succeeded')]),

  'waiting-until-told': async (world, workflow) => {
    const run = await world.start(workflow, SEEN, [waits(HOUR_MS), succeeds('the Job has succeeded')]);
    await run.reached((story) => story.includes('timerStarted'));
    await run.change();
    await run.result();
    return run;
  },

  'told-before-waiting': async (world, workflow) => {
    const underWay = anAttemptUnderWay();
    const run = await world.start(workflow, SEEN, [underWay.attempt, succeeds('the Job has succeeded')]);
    await run.reached(() => run.passes.length === 1);
    await run.change();
    underWay.end(waiting('Job build-web to end', { atMostMs: HOUR_MS }));
    await run.result();
    return run;
  },

  'wait-waits': async (world, workflow) => {
    const run = await world.start(workflow, SEEN, [waits(HOUR_MS)]);
    await run.reached((story) => story.at(-1) === 'timerStarted');
    return run;
  },
} as const satisfies Record<string, Case>;

export type ProcedureCaseName = keyof typeof PROCEDURE_CASES;
export const PROCEDURE_CASE_NAMES = Object.keys(PROCEDURE_CASES).filter(
  (name): name is ProcedureCaseName => name in PROCEDURE_CASES,
);

export function followedBy(story: readonly string[], first: string, then: string): boolean {
  const from = story.lastIndexOf(first);
  return from !== -1 && story.includes(then, from);
}
