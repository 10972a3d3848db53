import { Context } from '@temporalio/activity';
import { ApplicationFailure, type ApplicationFailureOptions } from '@temporalio/common';
import {
  converged,
  stalled,
  waitFor,
  type Action,
  type NextInHistory,
  type Observe,
  type Step,
  type StepReport,
} from '../../src/runs/decision.ts';
import { FAILURE } from '../../src/runs/failures.ts';
import {
  anAttemptInProgress,
  anAttemptThatEndsWhenAsked,
  WORKFLOWS,
  type AnyWorkflow,
  type Attempt,
  type WorkflowRun,
  type WorkflowWorld,
} from '../support/workflow-world.ts';
import { aCause } from '../support/causes.ts';

const HOUR_MS = 3_600_000;
export const OBSERVE: Observe = { do: 'observe', because: 'nothing is known yet' };
/** So many writes make a step durable from the start. */
const MANY_WRITES = 300;

/** The first step of a workflow, and its second. */
export const stepsOf = (workflow: AnyWorkflow) => {
  const [first, second] = WORKFLOWS[workflow];
  return {
    first: { do: first, because: 'it is missing' },
    second: { do: second, because: 'it is out of date' },
    durable: { do: first, because: 'many are missing', writes: MANY_WRITES },
  } satisfies Record<string, Step>;
};

const did = (what: string): readonly Action[] => [{ did: 'created', what }];
const returns =
  (next: NextInHistory, actions: readonly Action[] = []): Attempt =>
  () =>
    Promise.resolve({ did: actions, next });
const finished = (what: string): StepReport => ({ did: did(what), next: converged('up to date') });
export const finishes =
  (what = 'it'): Attempt =>
  () =>
    Promise.resolve(finished(what));
export const stalls: Attempt = returns(stalled(aCause('the name is too long')));
const waits = (recheckMs: number): Attempt =>
  returns(waitFor('Job build-web to end', recheckMs), did('Job build-web'));

const fails =
  (type: string, message: string, more: ApplicationFailureOptions = {}): Attempt =>
  () =>
    Promise.reject(ApplicationFailure.create({ type, message, ...more }));
const failsUnavailable = fails(FAILURE.unavailable, '500 the server is out of order');
/** Retried by Temporal, but only after an hour. */
const failsForAnHour = fails(FAILURE.accessDenied, '403 forbidden', { nextRetryDelay: HOUR_MS });
const failsForGood = fails('InvalidSpec', 'never', { nonRetryable: true });
const isAskedToWait = (ms: number) =>
  fails(FAILURE.retryAfter, '429 too many requests', { nonRetryable: true, details: [ms] });
/** Until it is cancelled, at the latest when the worker stops. */
const neverEnds: Attempt = () => Context.current().cancelled;

/** Drives one run to the point that makes the case; the run is over unless the name says that it waits. */
export type Case = (world: WorkflowWorld, workflow: AnyWorkflow) => Promise<WorkflowRun>;
type Given = (steps: ReturnType<typeof stepsOf>) => {
  readonly first: NextInHistory;
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

type Reached = (story: readonly string[], run: WorkflowRun) => boolean;

/** A run that waits for something, once its history shows that it does. */
const waiting =
  (given: Given, isReached: Reached): Case =>
  async (world, workflow) => {
    const { first, attempts } = given(stepsOf(workflow));
    const run = await world.start(workflow, first, attempts);
    await run.reached((story) => isReached(story, run));
    return run;
  };

/** The same, which completes after a change. @param then what happens right after that */
const changed =
  (given: Given, isReached: Reached, then = (): void => undefined): Case =>
  async (world, workflow) => {
    const run = await waiting(given, isReached)(world, workflow);
    await run.change();
    then();
    await run.result();
    return run;
  };

/** A step that is in progress until after the change. */
const changedInProgress =
  (result: StepReport, attempt: Attempt): Case =>
  (world, workflow) => {
    const inProgress = anAttemptInProgress();
    const given: Given = ({ durable }) => ({ first: durable, attempts: [inProgress.attempt, attempt] });
    return changed(given, isCalled, () => inProgress.end(result))(world, workflow);
  };

const isCalled: Reached = (_, { calls }) => calls.length === 1;
const hasTimer: Reached = (story) => story.includes('timerStarted');
const hasCompletedATask: Reached = (story) => story.includes('workflowTaskCompleted');

/** Of which each workflow has a recorded history: they differ by the names of the steps. */
const COMMON_CASES = {
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
const LOOP_CASES = {
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

  'wait-is-signalled': changed(
    ({ first }) => ({ first, attempts: [waits(HOUR_MS), finishes('the status')] }),
    hasTimer,
  ),
  'wait-is-signalled-with-a-step': async (world, workflow) => {
    const given: Given = ({ first }) => ({ first, attempts: [waits(HOUR_MS), finishes('the status')] });
    const run = await waiting(given, hasTimer)(world, workflow);
    await run.change('the Job has ended', { do: 'updateStatus', because: 'the Job has ended' });
    await run.result();
    return run;
  },
  'change-before-a-wait': changedInProgress(
    { did: [], next: waitFor('Job build-web to end', HOUR_MS) },
    finishes('the status'),
  ),
  'change-in-a-durable-step': changedInProgress(finished('the first'), finishes('the second')),
  'change-while-hanging': changed(
    ({ durable }) => ({ first: durable, attempts: [neverEnds, finishes('it after the change')] }),
    isCalled,
  ),
  'change-asks-to-end': changed(
    ({ durable }) => ({
      first: durable,
      attempts: [anAttemptThatEndsWhenAsked(finished('the first')), finishes('the second')],
    }),
    isCalled,
  ),
  'change-in-backoff': changed(
    ({ durable }) => ({ first: durable, attempts: [failsForAnHour, finishes('it after the change')] }),
    isCalled,
  ),
  'stalled-then-changed': changed(
    ({ first }) => ({ first, attempts: [stalls, finishes('it after the change')] }),
    hasCompletedATask,
  ),
  'failed-for-good-then-changed': changed(
    ({ durable }) => ({ first: durable, attempts: [failsForGood, finishes('it after the change')] }),
    (story) => story.at(-1) === 'upsertWorkflowSearchAttributes' && story.includes('activityTaskFailed'),
  ),
  'stalled-waits': waiting(({ first }) => ({ first, attempts: [stalls] }), hasCompletedATask),
  'wait-waits': waiting(({ first }) => ({ first, attempts: [waits(HOUR_MS)] }), hasTimer),

  'retry-after-an-hour-waits': async (world, workflow) => {
    const run = await world.start(workflow, stepsOf(workflow).first, [isAskedToWait(HOUR_MS), finishes()]);
    await run.reached((story) => story.includes('timerStarted'));
    await run.change();
    await run.reached((story) => followedBy(story, 'workflowExecutionSignaled', 'workflowTaskCompleted'));
    return run;
  },
} as const satisfies Record<string, Case>;

/** The workflow that has the recorded histories of what is the same for all. */
const LOOP_WORKFLOW: AnyWorkflow = 'podSet';

export const CASES = { ...COMMON_CASES, ...LOOP_CASES };
export type CaseName = keyof typeof CASES;
export const CASE_NAMES = Object.keys(CASES).filter((name): name is CaseName => name in CASES);
const COMMON_CASE_NAMES = CASE_NAMES.filter((name) => name in COMMON_CASES);

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
