import type { Client, WorkflowHandle } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { randomBytes } from 'node:crypto';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import { CHANGED_SIGNAL, type Outcome, type Pass } from '../../src/contract/run.ts';
import { workflowBundle, type WorkflowBundle } from '../../src/temporal/bundle.ts';
import { registerSearchAttributes } from '../../src/temporal/search-attributes.ts';
import { eventually } from './eventually.ts';
import { TestTemporal } from './temporal.ts';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** What an activity does on one attempt. */
export type Attempt = () => Promise<Outcome>;

/** The workflows that are one activity, and its name. */
export const ONE_STEP_WORKFLOWS = { podLabel: 'labelPod', namespaceRoleBinding: 'bindNamespace' } as const;
export type OneStepWorkflow = keyof typeof ONE_STEP_WORKFLOWS;

/** The workflows whose work takes several passes, and the name of the activity that makes one. */
export const PROCEDURES = { podSet: 'reconcilePodSet', build: 'advanceBuild' } as const;
export type Procedure = keyof typeof PROCEDURES;

export type AnyWorkflow = OneStepWorkflow | Procedure;

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
    const [client, connection, bundle] = await Promise.all([
      TestTemporal.connect(address),
      NativeConnection.connect({ address }),
      workflowBundle(),
    ]);
    await registerSearchAttributes(connection, 'default');
    const world = new WorkflowWorld(client, connection, bundle);
    await world.#work();
    return world;
  }

  /** A run whose activity makes these attempts, one after the other; the last for ever. */
  async start(workflow: AnyWorkflow, seen: object | undefined, attempts: readonly Attempt[]) {
    const name = `r${randomBytes(4).toString('hex')}`;
    const ref = { controller: 'test', namespace: 'shop', name, uid: `uid-${name}` };
    const run = new WorkflowRun(this.#temporal.client, ref, attempts);
    this.#runs.set(name, run);
    await run.start(workflow, this.#taskQueue, seen);
    return run;
  }

  async close(): Promise<void> {
    this.#worker?.worker.shutdown();
    await this.#worker?.running;
    await this.#connection.close();
    await this.#temporal.close();
  }

  async #work(): Promise<void> {
    const activity = (pass: Pass) => this.#runs.get(pass.ref.name)?.attempt(pass);
    const worker = await Worker.create({
      connection: this.#connection,
      taskQueue: this.#taskQueue,
      workflowBundle: this.bundle,
      activities: Object.fromEntries(ACTIVITIES.map((name) => [name, activity])),
      maxCachedWorkflows: 100,
    });
    this.#worker = { worker, running: worker.run() };
  }
}

const ACTIVITIES = [...Object.values(ONE_STEP_WORKFLOWS), ...Object.values(PROCEDURES)];

/** Activities fail by design here; that is not worth a warning. */
export function quieten(): void {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
}

export class WorkflowRun {
  /** What the activity was given, attempt by attempt. */
  readonly passes: Pass[] = [];
  readonly ref: ResourceRef;
  readonly #client: Client;
  readonly #attempts: readonly Attempt[];

  constructor(client: Client, ref: ResourceRef, attempts: readonly Attempt[]) {
    this.#client = client;
    this.ref = ref;
    this.#attempts = attempts;
  }

  async start(workflow: AnyWorkflow, taskQueue: string, seen: object | undefined): Promise<void> {
    await this.#client.workflow.start(workflow, {
      workflowId: workflowIdFor(this.ref),
      taskQueue,
      args: [{ ref: this.ref, reason: 'a test', seen }],
    });
  }

  attempt(pass: Pass): Promise<Outcome> {
    const index = Math.min(this.passes.length, this.#attempts.length - 1);
    this.passes.push(pass);
    const attempt = this.#attempts[index];
    if (attempt === undefined) throw new Error(`${this.ref.name} has no attempt to make`);
    return attempt();
  }

  get workflowId(): string {
    return workflowIdFor(this.ref);
  }

  /** Tells the run of a change. */
  async change(reason = 'a change'): Promise<void> {
    await this.#handle.signal(CHANGED_SIGNAL, reason);
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
export function anAttemptUnderWay(): { readonly attempt: Attempt; end(outcome: Outcome): void } {
  const ending: { resolve?: (outcome: Outcome) => void } = {};
  const ended = new Promise<Outcome>((resolve) => (ending.resolve = resolve));
  return { attempt: () => ended, end: (outcome) => ending.resolve?.(outcome) };
}
