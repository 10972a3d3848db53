import {
  ActivityFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
  CancelledFailure,
  RetryState,
  TypedSearchAttributes,
  type TemporalFailure,
} from '@temporalio/common';
import type { coresdk, temporal } from '@temporalio/proto';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { NextInHistory, StepReport } from '../../src/runs/decision.ts';
import { CHANGED_SIGNAL, type RunInput, type StepInput } from '../../src/runs/run.ts';

type Job = coresdk.workflow_activation.IWorkflowActivationJob;
type Command = coresdk.workflow_commands.IWorkflowCommand;
type Payload = temporal.api.common.v1.IPayload;

// The sandbox of a worker has it as a global, which the SDK looks for when it is loaded: hence no import before this.
Object.assign(globalThis, { AsyncLocalStorage });
const { reconcile } = await import('../../workflows/reconcile.ts');
const { Activator } = await import('@temporalio/workflow/lib/internals.js');
const { setActivator } = await import('@temporalio/workflow/lib/global-attributes.js');
const { activate, concludeActivation, tryUnblockConditions } =
  await import('@temporalio/workflow/lib/worker-interface.js');

const INFO = {
  workflowId: 'pod-label/shop/web/uid-1',
  runId: 'run-1',
  workflowType: 'podLabel',
  searchAttributes: {},
  historyLength: 1,
  historySize: 100,
  continueAsNewSuggested: false,
  targetWorkerDeploymentVersionChanged: false,
  taskQueue: 'test',
  namespace: 'default',
  firstExecutionRunId: 'run-1',
  originalExecutionRunId: 'run-1',
  startTime: new Date(0),
  runStartTime: new Date(0),
  taskTimeoutMs: 10_000,
  attempt: 1,
};

/** A step as the workflow has called it. */
export interface CalledStep {
  readonly name: string;
  readonly isLocal: boolean;
  readonly seq: number;
  readonly input: StepInput;
  readonly summary: unknown;
  /** In milliseconds; undefined where there is no such limit. */
  readonly startToCloseMs: number | undefined;
  readonly scheduleToCloseMs: number | undefined;
  readonly retry: {
    readonly initialMs: number | undefined;
    readonly coefficient: number;
    readonly mostMs: number | undefined;
    /** 0: as many as it takes. */
    readonly attempts: number;
  };
  readonly cancellation: coresdk.workflow_commands.ActivityCancellationType | null | undefined;
}

/**
 * One run of a workflow, in this process and without a server: the SDK itself executes it, and the test plays the part
 * of the worker, job by job. Time passes only where a timer fires. There can be one run at a time.
 */
export class WorkflowInProcess {
  /** The last step that was called. */
  called: CalledStep | undefined;
  /** What it continues as new with. */
  continuesAs: RunInput | undefined;
  readonly #activator: InstanceType<typeof Activator>;
  readonly #names = new Map<number, string>();
  #timer = 0;

  private constructor() {
    const unsafe = { now: () => 0, random: () => 0.5, isReplaying: false, isReplayingHistoryEvents: false };
    this.#activator = new Activator({
      info: { ...INFO, typedSearchAttributes: new TypedSearchAttributes(), unsafe } as never,
      now: 0,
      showStackTraceSources: false,
      randomnessSeed: [1],
      sourceMap: { version: 3, sources: [], names: [], mappings: '' } as never,
      getTimeOfDay: () => 0n,
      registeredActivityNames: new Set(['default']),
      stackTracesEnabled: false,
    });
    this.#activator.workflow = reconcile as never;
    setActivator(this.#activator);
  }

  /** @returns the run, and what it did at first, in words: `addLabel locally` */
  static async start(
    run: RunInput,
    ...before: readonly Job[]
  ): Promise<[WorkflowInProcess, readonly string[]]> {
    const started = new WorkflowInProcess();
    const initializeWorkflow = { workflowId: INFO.workflowId, arguments: [payloadOf(run)] };
    return [started, await started.#does([{ initializeWorkflow }, ...before])];
  }

  /** What the Temporal UI shows of the run. */
  get details(): string | undefined {
    return this.#activator.currentDetails;
  }

  suggestToContinueAsNew(): void {
    this.#activator.mutateWorkflowInfo((info) => ({ ...info, continueAsNewSuggested: true }));
  }

  /** Nobody knows whether the resource changed. */
  changeIsPossible(): Promise<readonly string[]> {
    return this.#does([POSSIBLE_CHANGE]);
  }

  /** The resource changed. @param first the step that this calls for */
  changes(first?: NextInHistory): Promise<readonly string[]> {
    return this.#does([first === undefined ? CHANGE : changeCallingFor(first)]);
  }

  /** The step that was called last ends. */
  ends(result: StepReport, ...besides: readonly Job[]): Promise<readonly string[]> {
    return this.#resolves({ completed: { result: payloadOf(result) } }, besides);
  }

  /** It fails for good: as Temporal wraps it at first, or bare, as a replay has it of a local activity. */
  fails(failure: TemporalFailure, kind: 'wrapped' | 'bare' = 'wrapped'): Promise<readonly string[]> {
    const error = kind === 'bare' ? failure : this.#wrapped(failure);
    return this.#resolves({ failed: { failure: failureOf(error) } });
  }

  /** It is cancelled, as the run has asked for: Temporal says so at once, whatever the attempt does. */
  isCancelled(): Promise<readonly string[]> {
    const cancelled = this.#wrapped(new CancelledFailure('cancelled'));
    return this.#resolves({ cancelled: { failure: failureOf(cancelled) } });
  }

  /** The last timer fires. */
  timeIsUp(): Promise<readonly string[]> {
    return this.#does([{ fireTimer: { seq: this.#timer } }]);
  }

  #resolves(
    result: coresdk.activity_result.IActivityResolution,
    besides: readonly Job[] = [],
  ): Promise<readonly string[]> {
    if (this.called === undefined) throw new Error('no step was called');
    return this.#does([...besides, { resolveActivity: { seq: this.called.seq, result } }]);
  }

  #wrapped(cause?: TemporalFailure): ActivityFailure {
    const state = RetryState.NON_RETRYABLE_FAILURE;
    return new ActivityFailure('Activity task failed', this.called?.name ?? '', '1', state, 'worker', cause);
  }

  async #does(jobs: readonly Job[]): Promise<readonly string[]> {
    const withVariants = jobs.map((job) => ({ ...job, variant: Object.keys(job)[0] }));
    activate({ jobs: withVariants } as never);
    do await new Promise(setImmediate);
    while (tryUnblockConditions() > 0);
    const commands = concludeActivation().successful?.commands ?? [];
    const calls = this.#activator.getAndResetSinkCalls();
    const asks = calls.filter(({ ifaceName }) => ifaceName === 'attempts');
    const asked = asks.map(({ fnName }) => `ask the attempt to ${fnName}`);
    return [...commands.map((command) => this.#inWords(command)), ...asked];
  }

  #inWords(command: Command): string {
    const { scheduleActivity, scheduleLocalActivity, startTimer, userMetadata } = command;
    const summary = valueOf(userMetadata?.summary);
    const scheduled = scheduleActivity ?? scheduleLocalActivity;
    if (scheduled) {
      const { seq, activityType: name } = scheduled;
      const isLocal = scheduled === scheduleLocalActivity;
      this.called = {
        name: String(name),
        isLocal,
        seq: Number(seq),
        input: valueOf(scheduled.arguments?.[0]) as StepInput,
        summary,
        startToCloseMs: msOf(scheduled.startToCloseTimeout),
        scheduleToCloseMs: msOf(scheduled.scheduleToCloseTimeout),
        retry: retryOf(scheduled.retryPolicy),
        cancellation: scheduled.cancellationType,
      };
      this.#names.set(Number(seq), String(name));
      return isLocal ? `${name} locally` : String(name);
    }
    if (startTimer) {
      this.#timer = Number(startTimer.seq);
      return `timer of ${msOf(startTimer.startToFireTimeout)} ms: ${String(summary)}`;
    }
    if (command.cancelTimer) return 'no timer';
    if (command.setPatchMarker) return `patch ${command.setPatchMarker.patchId}`;
    const cancelled = command.requestCancelActivity ?? command.requestCancelLocalActivity;
    if (cancelled) return `cancel ${this.#names.get(Number(cancelled.seq))}`;
    return this.#endInWords(command);
  }

  #endInWords(command: Command): string {
    const { completeWorkflowExecution, failWorkflowExecution, upsertWorkflowSearchAttributes } = command;
    const { continueAsNewWorkflowExecution } = command;
    if (completeWorkflowExecution) return `result: ${String(valueOf(completeWorkflowExecution.result))}`;
    if (failWorkflowExecution) return `failure: ${failWorkflowExecution.failure?.message}`;
    if (upsertWorkflowSearchAttributes) {
      const fields = upsertWorkflowSearchAttributes.searchAttributes?.indexedFields ?? {};
      return Object.entries(fields)
        .map(([key, value]) => `${key}: ${String(valueOf(value))}`)
        .join(', ');
    }
    if (continueAsNewWorkflowExecution) {
      this.continuesAs = valueOf(continueAsNewWorkflowExecution.arguments?.[0]) as RunInput;
      return 'continue as new';
    }
    return `unknown: ${Object.keys(command).join(', ')}`;
  }
}

/** The job of a signal. */
export const CHANGE: Job = {
  signalWorkflow: { signalName: CHANGED_SIGNAL, input: [payloadOf('a change')], headers: {} },
};

function changeCallingFor(first: NextInHistory): Job {
  const input = ['a change', 'seen', first].map(payloadOf);
  return { signalWorkflow: { signalName: CHANGED_SIGNAL, input, headers: {} } };
}

const POSSIBLE_CHANGE: Job = {
  signalWorkflow: {
    signalName: CHANGED_SIGNAL,
    input: [payloadOf('a new watcher'), payloadOf('possible')],
    headers: {},
  },
};

function payloadOf(value: unknown): Payload {
  return defaultPayloadConverter.toPayload(value);
}

function valueOf(payload: Payload | null | undefined): unknown {
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}

function failureOf(error: Error): temporal.api.failure.v1.IFailure {
  return defaultFailureConverter.errorToFailure(error, defaultPayloadConverter);
}

function msOf(duration: { seconds?: unknown; nanos?: number | null } | null | undefined): number | undefined {
  return duration ? Number(duration.seconds ?? 0) * 1000 + (duration.nanos ?? 0) / 1_000_000 : undefined;
}

function retryOf(policy: temporal.api.common.v1.IRetryPolicy | null | undefined): CalledStep['retry'] {
  return {
    initialMs: msOf(policy?.initialInterval),
    coefficient: policy?.backoffCoefficient ?? 0,
    mostMs: msOf(policy?.maximumInterval),
    attempts: policy?.maximumAttempts ?? 0,
  };
}
