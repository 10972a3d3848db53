import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import {
  converged,
  stalled,
  waitFor,
  type Deed,
  type Next,
  type Observe,
  type Step,
  type StepResult,
} from '../../src/contract/decision.ts';
import { FAILURE } from '../../src/contract/failures.ts';
import {
  anAttemptInProgress,
  WORKFLOWS,
  type AnyWorkflow,
  type Attempt,
  type WorkflowRun,
  type WorkflowWorld,
} from '../support/workflow-world.ts';

const HOUR_MS = 3_600_000;
export const OBSERVE: Observe = { do: 'observe', because: 'nothing is known yet' };
/** So many writes make a step durable from the start. */
export const MANY_WRITES = 300;

/** The first step of a workflow, and its second. */
export const stepsOf = (workflow: AnyWorkflow) => {
  const [first, second] = WORKFLOWS[workflow];
  return {
    first: { do: first, because: 'it is missing' },
    second: { do: second, because: 'it is out of date' },
    durable: { do: first, because: 'many are missing', writes: MANY_WRITES },
  } satisfies Record<string, Step>;
};

const did = (what: string): readonly Deed[] => [{ did: 'created', what }];
const returns =
  (next: Next, deeds: readonly Deed[] = []): Attempt =>
  () =>
    Promise.resolve({ did: deeds, next });
export const finished = (what: string): StepResult => ({ did: did(what), next: converged('up to date') });
export const finishes =
  (what = 'it'): Attempt =>
  () =>
    Promise.resolve(finished(what));
export const stalls: Attempt = returns(stalled('the name is too long'));
const waits = (atMostMs: number): Attempt =>
  returns(waitFor('Job build-web to end', atMostMs), did('Job build-web'));

export const failsUnavailable: Attempt = () =>
  Promise.reject(
    ApplicationFailure.create({ type: FAILURE.unavailable, message: '500 the server is out of order' }),
  );
/** Retried by Temporal, but only after an hour. */
const failsForAnHour: Attempt = () =>
  Promise.reject(
    ApplicationFailure.create({
      type: FAILURE.accessDenied,
      message: '403 forbidden',
      nextRetryDelay: HOUR_MS,
    }),
  );
const failsForGood: Attempt = () =>
  Promise.reject(ApplicationFailure.create({ type: 'InvalidSpec', message: 'never', nonRetryable: true }));
const isAskedToWait =
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
type Given = (steps: ReturnType<typeof stepsOf>) => {
  readonly first: Next;
  readonly attempts: readonly Attempt[];
};

const completing =
  (given: Given): Case =>
  async (world, workflow) => {
    const { first, attempts } = given(stepsOf(workflow));
    const run = await world.start(workflow, first, attempts);
    await run.result();
    return run;
  };

/** Of which each workflow has a recorded history: they differ by the names of the steps. */
export const COMMON_CASES = {
  'local-step': completing(({ first }) => ({ first, attempts: [finishes()] })),
  'local-step-fails': completing(({ first }) => ({
    first,
    attempts: [failsUnavailable, finishes('it durably')],
  })),
  'several-steps': completing(({ first, second }) => ({
    first,
    attempts: [returns(second, did('the first')), finishes('the second')],
  })),
} as const satisfies Record<string, Case>;

/** What is the same for all workflows: one has the recorded histories. */
export const LOOP_CASES = {
  'local-step-times-out': completing(({ first }) => ({
    first,
    attempts: [neverEnds, finishes('it durably')],
  })),
  'durable-step-retries': completing(({ durable }) => ({
    first: durable,
    attempts: [failsUnavailable, finishes()],
  })),
  'observes-first': completing(({ first }) => ({ first: OBSERVE, attempts: [returns(first), finishes()] })),
  'many-local-steps': completing(({ first }) => ({
    first,
    attempts: [...Array.from({ length: 6 }, () => returns(first, did('Pod'))), finishes('Pod')],
  })),
  'retry-after': completing(({ first }) => ({
    first,
    attempts: [isAskedToWait(1_000), returns(first), finishes()],
  })),
  'waits-until-its-time': completing(({ first }) => ({
    first,
    attempts: [waits(1_000), finishes('the status')],
  })),

  'wait-is-signalled': async (world, workflow) => {
    const { first } = stepsOf(workflow);
    const run = await world.start(workflow, first, [waits(HOUR_MS), finishes('the status')]);
    await run.reached((story) => story.includes('timerStarted'));
    await run.change();
    await run.result();
    return run;
  },

  'change-before-a-wait': async (world, workflow) => {
    const { durable } = stepsOf(workflow);
    const inProgress = anAttemptInProgress();
    const run = await world.start(workflow, durable, [inProgress.attempt, finishes('the status')]);
    await run.reached(() => run.calls.length === 1);
    await run.change();
    inProgress.end({ did: [], next: waitFor('Job build-web to end', HOUR_MS) });
    await run.result();
    return run;
  },

  'change-in-a-durable-step': async (world, workflow) => {
    const { durable } = stepsOf(workflow);
    const inProgress = anAttemptInProgress();
    const run = await world.start(workflow, durable, [inProgress.attempt, finishes('the second')]);
    await run.reached(() => run.calls.length === 1);
    await run.change();
    inProgress.end(finished('the first'));
    await run.result();
    return run;
  },

  'change-while-hanging': async (world, workflow) => {
    const { durable } = stepsOf(workflow);
    const run = await world.start(workflow, durable, [neverEnds, finishes('it after the change')]);
    await run.reached(() => run.calls.length === 1);
    await run.change();
    await run.result();
    return run;
  },

  'change-in-backoff': async (world, workflow) => {
    const { durable } = stepsOf(workflow);
    const run = await world.start(workflow, durable, [failsForAnHour, finishes('it after the change')]);
    await run.reached(() => run.calls.length === 1);
    await run.change();
    await run.result();
    return run;
  },

  'stalled-then-changed': async (world, workflow) => {
    const run = await world.start(workflow, stepsOf(workflow).first, [
      stalls,
      finishes('it after the change'),
    ]);
    await run.reached((story) => story.includes('workflowTaskCompleted'));
    await run.change();
    await run.result();
    return run;
  },

  'failed-for-good-then-changed': async (world, workflow) => {
    const { durable } = stepsOf(workflow);
    const run = await world.start(workflow, durable, [failsForGood, finishes('it after the change')]);
    await run.reached(
      (story) => story.at(-1) === 'upsertWorkflowSearchAttributes' && story.includes('activityTaskFailed'),
    );
    await run.change();
    await run.result();
    return run;
  },

  'stalled-waits': async (world, workflow) => {
    const run = await world.start(workflow, stepsOf(workflow).first, [stalls]);
    await run.reached((story) => story.includes('workflowTaskCompleted'));
    return run;
  },

  'wait-waits': async (world, workflow) => {
    const run = await world.start(workflow, stepsOf(workflow).first, [waits(HOUR_MS)]);
    await run.reached((story) => story.at(-1) === 'timerStarted');
    return run;
  },

  'retry-after-an-hour-waits': async (world, workflow) => {
    const run = await world.start(workflow, stepsOf(workflow).first, [isAskedToWait(HOUR_MS), finishes()]);
    await run.reached((story) => story.includes('timerStarted'));
    await run.change();
    await run.reached((story) => followedBy(story, 'workflowExecutionSignaled', 'workflowTaskCompleted'));
    return run;
  },
} as const satisfies Record<string, Case>;

/** The workflow that has the recorded histories of what is the same for all. */
export const LOOP_WORKFLOW: AnyWorkflow = 'podSet';

export const CASES = { ...COMMON_CASES, ...LOOP_CASES };
export type CaseName = keyof typeof CASES;
export const CASE_NAMES = Object.keys(CASES).filter((name): name is CaseName => name in CASES);
export const COMMON_CASE_NAMES = CASE_NAMES.filter((name) => name in COMMON_CASES);

/** Which histories are recorded: `podLabel/local-step`. */
export function recordings(): readonly { readonly workflow: AnyWorkflow; readonly name: CaseName }[] {
  const others = (['podLabel', 'namespaceRoleBinding', 'gitBuild'] as const).flatMap((workflow) =>
    COMMON_CASE_NAMES.map((name) => ({ workflow, name })),
  );
  return [...CASE_NAMES.map((name) => ({ workflow: LOOP_WORKFLOW, name })), ...others];
}

export function followedBy(story: readonly string[], first: string, then: string): boolean {
  const from = story.lastIndexOf(first);
  return from !== -1 && story.includes(then, from);
}
