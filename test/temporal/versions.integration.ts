import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Client, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { converged, stalled, type NextInHistory, type StepReport } from '../../src/runs/decision.ts';
import { CHANGED_SIGNAL, type RunInput, type StepInput } from '../../src/runs/run.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { workflowBundle, type WorkflowBundle } from '../../src/temporal/bundle.ts';
import { promote, type PromotionClock } from '../../src/temporal/promotion.ts';
import { startOptionsFor } from '../../src/temporal/runs.ts';
import { registerSearchAttributes } from '../../src/temporal/registration.ts';
import { TASK_KIND } from '../../src/temporal/task-queue.ts';
import { workerVersions, type WorkerVersions } from '../../src/temporal/versions.ts';
import { pinnedTo } from '../../src/temporal/worker.ts';
import { eventually } from '../../testing/eventually.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { testStack } from '../support/stack.ts';
import { quieten } from '../support/workflow-world.ts';
import { aCause } from '../support/causes.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 30_000;
const NAMESPACE = 'default';

let connection: NativeConnection;
let client: Client;
let bundle: WorkflowBundle;
let world: World;

beforeAll(async () => {
  quieten();
  connection = await NativeConnection.connect({ address: testStack().temporalAddress });
  await registerSearchAttributes(connection, NAMESPACE);
  client = new Client({ connection });
  bundle = await workflowBundle();
});

beforeEach(() => {
  world = new World();
});

afterEach(() => world.end());
afterAll(() => connection.close());

/** What every step comes to, by the build id of the worker that it runs on. */
type Work = (buildId: string) => NextInHistory;

const ends: Work = (buildId) => converged(`done by ${buildId}`);
const stalls: Work = () => stalled(aCause('the test says so'));

/** A task queue and a deployment of its own, with workers that run the real workflows. */
class World {
  readonly #name = `test-${randomBytes(4).toString('hex')}`;
  readonly versions: WorkerVersions;
  work: Work = ends;
  readonly steps: StepInput[] = [];
  readonly #workers = new Map<string, { readonly worker: Worker; readonly running: Promise<void> }>();

  constructor() {
    const [taskQueue, deploymentName] = [this.#name, this.#name];
    this.versions = workerVersions({ connection, namespace: NAMESPACE, taskQueue, deploymentName });
  }

  nameOf(buildId: string): string {
    return `${this.#name}:${buildId}`;
  }

  /** A worker of a version; `unversioned` has none. */
  async startWorker(buildId: string): Promise<void> {
    const step = (input: StepInput): Promise<StepReport> => {
      this.steps.push(input);
      return Promise.resolve({ did: [], next: this.work(buildId) });
    };
    const version = { deploymentName: this.#name, buildId };
    const worker = await Worker.create({
      connection,
      taskQueue: this.#name,
      workflowBundle: bundle,
      activities: { observe: step, addLabel: step },
      maxCachedWorkflows: 100,
      ...(buildId !== 'unversioned' && { workerDeploymentOptions: pinnedTo(version) }),
    });
    this.#workers.set(buildId, { worker, running: worker.run() });
  }

  async stopWorker(buildId: string): Promise<void> {
    const { worker, running } = this.#workers.get(buildId) ?? {};
    this.#workers.delete(buildId);
    worker?.shutdown();
    await running;
  }

  async promote(buildId: string) {
    const log = aRecordingLogger();
    const version = { deploymentName: this.#name, buildId };
    const { versions } = this;
    await promote({ versions, version, taskQueue: this.#name, log, clock: aHastyClock() });
    return log.lines.map(({ message }) => message);
  }

  /** The build id of the version that gets tasks of one kind from now on, save those of pinned runs. */
  async currentFor(kind: keyof typeof TASK_KIND): Promise<string | undefined> {
    const { versioningInfo } = await connection.workflowService.describeTaskQueue({
      namespace: NAMESPACE,
      taskQueue: { name: this.#name },
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- see TASK_KIND
      taskQueueType: TASK_KIND[kind],
    });
    return versioningInfo?.currentDeploymentVersion?.buildId ?? undefined;
  }

  async start(): Promise<{ readonly ref: ResourceRef; readonly handle: WorkflowHandle }> {
    const name = `r${randomBytes(4).toString('hex')}`;
    const ref = { controller: 'pod-label', namespace: 'shop', name, uid: `uid-${name}` };
    const options = startOptionsFor({ ref, taskQueue: this.#name, summary: `label ${name}` });
    const input: RunInput = { ref, reason: 'a test', first: { do: 'addLabel', because: 'a test' } };
    const args = [input];
    const { firstExecutionRunId } = await client.workflow.start('podLabel', { ...options, args });
    return { ref, handle: client.workflow.getHandle(options.workflowId, firstExecutionRunId) };
  }

  /** A run that waits for a change, on the version that is current. */
  async startStalled() {
    const before = this.steps.length;
    this.work = stalls;
    const run = await this.start();
    await eventually(() => this.steps.length > before, WITHIN_MS);
    return run;
  }

  async end(): Promise<void> {
    for (const buildId of [...this.#workers.keys()]) await this.stopWorker(buildId);
  }
}

/** Two seconds of it are a tenth of a real one. */
function aHastyClock(): PromotionClock {
  let nowMs = 0;
  return {
    now: () => nowMs,
    pause: async (ms) => {
      nowMs += ms;
      await delay(ms / 20);
    },
  };
}

const change = (handle: WorkflowHandle, reason = 'a change') => handle.signal(CHANGED_SIGNAL, reason);

async function buildIdOf(handle: WorkflowHandle): Promise<string | undefined> {
  const { raw } = await handle.describe();
  return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId ?? undefined;
}

const statusOf = async (handle: WorkflowHandle) => (await handle.describe()).status.name;

/** The latest run of the same resource. */
const latestOf = ({ workflowId }: WorkflowHandle) => client.workflow.getHandle(workflowId);

describe('a new run', () => {
  it('waits until a version is promoted, and begins on it', async () => {
    await world.startWorker('v1');
    await eventually(() => world.versions.isRegistered('v1'), WITHIN_MS);
    const { handle } = await world.start();
    expect((await handle.fetchHistory()).events).toHaveLength(2);
    await world.promote('v1');
    expect(await world.currentFor('workflow')).toBe('v1');
    expect(await world.currentFor('activity')).toBe('v1');
    expect(await handle.result()).toBe('done by v1');
  });

  it('begins on the version that was promoted last, be it an older one', async () => {
    await world.startWorker('v1');
    await world.startWorker('v2');
    for (const buildId of ['v1', 'v2', 'v1']) {
      await world.promote(buildId);
      expect(await (await world.start()).handle.result()).toBe(`done by ${buildId}`);
    }
  });
});

describe('an open run', () => {
  it('ends on the version that began it, also where it continues as new', async () => {
    await world.startWorker('v1');
    await world.promote('v1');
    const { handle } = await world.startStalled();
    await world.startWorker('v2');
    await world.promote('v2');
    // The server suggests it at 4 MiB of history; see continue-as-new.integration.ts.
    for (let told = 1; (await statusOf(handle)) === 'RUNNING'; told += 1) {
      const before = world.steps.length;
      await change(latestOf(handle), 'because '.repeat(125_000));
      await eventually(() => world.steps.length > before, WITHIN_MS);
    }
    expect(await statusOf(handle)).toBe('CONTINUED_AS_NEW');
    world.work = ends;
    const next = latestOf(handle);
    await eventually(async () => {
      if ((await statusOf(next)) === 'RUNNING') await change(next);
      return (await statusOf(next)) === 'COMPLETED';
    }, WITHIN_MS);
    expect(await next.result()).toBe('done by v1');
    expect(await buildIdOf(next)).toBe('v1');
  });

  it('that no version began goes on on the one that is promoted', async () => {
    await world.startWorker('unversioned');
    const { handle } = await world.startStalled();
    await world.startWorker('v1');
    await world.promote('v1');
    world.work = (buildId) => (buildId === 'v1' ? ends(buildId) : stalls(buildId));
    // The worker that has the run in its cache may still get the next task: its sticky queue hears of the promotion
    // a little later than the task queue.
    await eventually(async () => {
      if ((await statusOf(handle)) === 'RUNNING') await change(handle);
      return (await statusOf(handle)) === 'COMPLETED';
    }, WITHIN_MS);
    expect(await handle.result()).toBe('done by v1');
  });
});

describe('promote', () => {
  it('waits for the first worker of the version', async () => {
    const promoted = world.promote('v1');
    await world.startWorker('v1');
    const said = await promoted;
    expect(said.at(0)).toContain(`waiting for workers of ${world.nameOf('v1')}: `);
    expect(said).toContain(`${world.nameOf('v1')} is now current: new runs start on it (previously: none)`);
  });

  it('is not done where somebody has changed the routing since it was read', async () => {
    await world.startWorker('v1');
    await world.promote('v1');
    await world.startWorker('v2');
    const routing = await eventually(() => world.versions.routing(), WITHIN_MS);
    await world.promote('v2');
    expect(await world.versions.makeCurrent('v1', routing)).toEqual({ refused: expect.any(String) });
    expect(await eventually(() => world.versions.routing(), WITHIN_MS)).toMatchObject({
      current: 'v2',
      buildIds: ['v2', 'v1'],
    });
  });

  it('names the runs that are open on other versions', async () => {
    await world.startWorker('v1');
    await world.startWorker('v2');
    await world.promote('v1');
    const { ref } = await world.startStalled();
    await eventually(async () => (await world.versions.openOnOthers('v2')).length === 1, WITHIN_MS);
    expect((await world.promote('v2')).at(-1)).toBe(
      `1 run is open on ${world.nameOf('v1')} (pod-label shop/${ref.name})`,
    );
  });
});
