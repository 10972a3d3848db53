import { activityInfo, Context } from '@temporalio/activity';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { randomBytes } from 'node:crypto';
import { workflowIdFor, type ResourceRef } from '../../src/api/resource-ref.ts';
import type { NextInHistory, StepReport } from '../../src/runs/decision.ts';
import { CHANGED_SIGNAL, type StepInput } from '../../src/runs/run.ts';
import { workflowBundle, type WorkflowBundle } from '../../src/temporal/bundle.ts';
import { registerSearchAttributes } from '../../src/temporal/registration.ts';
import { startOptionsFor } from '../../src/temporal/runs.ts';
import { eventually } from '../../testing/eventually.ts';
import { TestTemporal } from './temporal.ts';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** What a step activity does on one attempt. */
export type Attempt = () => Promise<StepReport>;

/** The workflows, and the steps of each that the tests call: one that is brief and needs nothing else, and another. */
export const WORKFLOWS = {
  podLabel: ['addLabel', 'removeLabel'],
  namespaceRoleBinding: ['createRoleBinding', 'updateRoleBinding'],
  podSet: ['createPods', 'updateStatus'],
  gitBuild: ['createJob', 'updateStatus'],
} as const;
export type AnyWorkflow = keyof typeof WORKFLOWS;
export const WORKFLOW_TYPES = Object.keys(WORKFLOWS).filter((name): name is AnyWorkflow => name in WORKFLOWS);

/** One attempt of a step activity, as it was called. */
export interface StepCall {
  readonly step: string;
  readonly input: StepInput;
  readonly isLocal: boolean;
}

/** The real workflows on a real Temporal server, with activities that do what the test says. */
export class WorkflowWorld {
  readonly bundle: WorkflowBundle;
  readonly #temporal: TestTemporal;
  readonly #connection: NativeConnection;
  readonly #taskQueue: string;
  readonly #runs = new Map<string, WorkflowRun>();
  #worker: { readonly worker: Worker; readonly running: Promise<void> } | undefined;

  private constructor(temporal: TestTemporal, connection: NativeConnection, bundle: WorkflowBundle) {
    this.#temporal = temporal;
    this.#connection = connection;
    this.bundle = bundle;
    this.#taskQueue = `test-${randomBytes(4).toString('hex')}`;
  }

  static async open(address: string): Promise<WorkflowWorld> {
    quieten();
    const [connection, bundle] = await Promise.all([NativeConnection.connect({ address }), workflowBundle()]);
    await registerSearchAttributes(connection, 'default');
    const world = new WorkflowWorld(new TestTemporal(address), connection, bundle);
    await world.#work();
    return world;
  }

  /** A run whose steps make these attempts, one after the other; the last for ever. */
  async start(
    workflow: AnyWorkflow,
    first: NextInHistory,
    attempts: readonly Attempt[],
  ): Promise<WorkflowRun> {
    const name = `r${randomBytes(4).toString('hex')}`;
    const ref = { controller: 'test', namespace: 'shop', name, uid: `uid-${name}` };
    const run = new WorkflowRun(this.#temporal.client, ref, attempts);
    this.#runs.set(name, run);
    await run.start(workflow, this.#taskQueue, first);
    return run;
  }

  async close(): Promise<void> {
    this.#worker?.worker.shutdown();
    await this.#worker?.running;
    await this.#connection.close();
    await this.#temporal.close();
  }

  async #work(): Promise<void> {
    const activity = (step: string) => (input: StepInput) => {
      const { isLocal } = activityInfo();
      return this.#runs.get(input.ref.name)?.attempt({ step, input, isLocal });
    };
    const worker = await Worker.create({
      connection: this.#connection,
      taskQueue: this.#taskQueue,
      workflowBundle: this.bundle,
      activities: Object.fromEntries(ACTIVITIES.map((name) => [name, activity(name)])),
      maxCachedWorkflows: 100,
      maxHeartbeatThrottleInterval: HEARTBEAT_EVERY_MS,
      // The attempts learn it by their heartbeats alone.
      sinks: { attempts: { end: { fn: () => undefined } } },
    });
    this.#worker = { worker, running: worker.run() };
  }
}

const HEARTBEAT_EVERY_MS = 100;

const ACTIVITIES = ['observe', ...new Set(Object.values(WORKFLOWS).flat())];

/** Activities fail by design here; that is not worth a warning. */
export function quieten(): void {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
}

export class WorkflowRun {
  /** The steps that were called, attempt by attempt. */
  readonly calls: StepCall[] = [];
  readonly ref: ResourceRef;
  readonly #client: Client;
  readonly #attempts: readonly Attempt[];

  constructor(client: Client, ref: ResourceRef, attempts: readonly Attempt[]) {
    this.#client = client;
    this.ref = ref;
    this.#attempts = attempts;
  }

  async start(workflow: AnyWorkflow, taskQueue: string, first: NextInHistory): Promise<void> {
    await this.#client.workflow.start(workflow, {
      ...startOptionsFor({ ref: this.ref, taskQueue, summary: 'a test' }),
      args: [{ ref: this.ref, reason: 'a test', first, resourceVersion: '7' }],
    });
  }

  attempt(call: StepCall): Promise<StepReport> {
    const index = Math.min(this.calls.length, this.#attempts.length - 1);
    this.calls.push(call);
    const attempt = this.#attempts[index];
    if (attempt === undefined) throw new Error(`${this.ref.name} has no attempt to make`);
    return attempt();
  }

  /** The names of the steps that were called, such as `addLabel locally`. */
  get steps(): readonly string[] {
    return this.calls.map(({ step, isLocal }) => (isLocal ? `${step} locally` : step));
  }

  get workflowId(): string {
    return workflowIdFor(this.ref);
  }

  /** Signals the run that its resource changed. @param first the step that this calls for */
  async change(reason = 'a change', first?: NextInHistory): Promise<void> {
    await this.#handle.signal(CHANGED_SIGNAL, reason, ...(first === undefined ? [] : ['seen', first]));
  }

  async result(): Promise<string> {
    const result: unknown = await this.#handle.result();
    return String(result);
  }

  async terminate(): Promise<void> {
    await this.#handle.terminate('the test is over');
  }

  async history(): Promise<temporal.api.history.v1.IHistory> {
    return this.#handle.fetchHistory();
  }

  async events(): Promise<readonly HistoryEvent[]> {
    return (await this.history()).events ?? [];
  }

  /** The kinds of its events, such as `timerStarted`. */
  async story(): Promise<readonly string[]> {
    return (await this.events()).map(kindOf);
  }

  /** Resolves once the story has come so far. */
  async reached(isThere: (story: readonly string[]) => boolean): Promise<readonly string[]> {
    return eventually(async () => {
      const story = await this.story();
      return isThere(story) && story;
    }, 20_000);
  }

  get #handle(): WorkflowHandle {
    return this.#client.workflow.getHandle(this.workflowId);
  }
}

/** `timerStarted` for an event that has `timerStartedEventAttributes`. */
export function kindOf(event: HistoryEvent): string {
  const attributes = Object.entries(event).find(([key, value]) => key.endsWith('EventAttributes') && value);
  return attributes?.[0].replace('EventAttributes', '') ?? 'unknown';
}

/** An attempt that goes on until the test lets it end. */
export function anAttemptInProgress(): { readonly attempt: Attempt; end(result: StepReport): void } {
  const ending: { resolve?: (result: StepReport) => void } = {};
  const ended = new Promise<StepReport>((resolve) => (ending.resolve = resolve));
  return { attempt: () => ended, end: (result) => ending.resolve?.(result) };
}

/** An attempt that comes to its end once it is asked to. */
export function anAttemptThatEndsWhenAsked(result: StepReport): Attempt {
  return async () => {
    const context = Context.current();
    const beating = setInterval(() => context.heartbeat(), HEARTBEAT_EVERY_MS);
    await context.cancelled.catch(() => undefined);
    clearInterval(beating);
    return result;
  };
}
