import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { refOf, uniqueName } from '../support/cluster.ts';
import { PROGRAM } from '../support/built.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { ProjectCopy } from '../support/project-copy.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);
const WITHIN_MS = 120_000;
/** How the SDK begins the message of each non-determinism failure. */
const NON_DETERMINISM = 'TMPRL1100';

const { stack, cluster, temporal } = setUpStage(() => changed.remove());
let changed: ProjectCopy;
let namespace: string;
let taskQueue: string;

beforeAll(async () => {
  changed = await aProjectWithAnotherWorkflow();
});

beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
});

afterEach(endOperators);

/** A run of it begins with a timer, so that it cannot go on from the history of one of ours, nor ours from one of its. */
async function aProjectWithAnotherWorkflow(): Promise<ProjectCopy> {
  const copy = await ProjectCopy.make();
  await copy.patch('workflows/git-build.ts', [
    "-import type { RunInput } from '../src/contract/run.ts';",
    "+import { sleep } from '@temporalio/workflow';",
    "+import type { RunInput } from '../src/contract/run.ts';",
    '-export function gitBuild(run: RunInput): Promise<string> {',
    '+export async function gitBuild(run: RunInput): Promise<string> {',
    '+  await sleep(1);',
  ]);
  return copy;
}

type Version = 'ours' | 'changed';

const programOf = (version: Version) =>
  version === 'ours' ? PROGRAM : join(changed.directory, 'src/main.ts');

const versionArguments = (version: Version) => [
  `--worker-deployment=${taskQueue}`,
  `--worker-build-id=${version}`,
];

function startUnversioned(version: Version): Promise<Operator> {
  return startWith(version, 'run', []);
}

function startVersioned(version: Version, command = 'run'): Promise<Operator> {
  return startWith(version, command, versionArguments(version));
}

function startWith(version: Version, command: string, args: readonly string[]): Promise<Operator> {
  return startOperator({
    taskQueue,
    command,
    args: ['--controllers', 'git-build', '--namespaces', namespace, ...args],
    program: programOf(version),
  });
}

const said = ({ logs }: Operator) => logs.map(({ msg }) => msg);

/** The command `promote`, as a Job runs it. */
function launchPromote(version: Version, ...args: readonly string[]) {
  const all = ['promote', `--task-queue=${taskQueue}`, ...versionArguments(version), ...args];
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, TEMPORAL_ADDRESS: stack.temporalAddress };
  const child = spawn(process.execPath, [programOf(version), ...all, '--log-format=json'], { env });
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  return { child, end: async () => endOf(await ended) };
}

function endOf([[status], stdout, stderr]: [unknown[], string, string]) {
  return { status, stdout, stderr };
}

async function promote(version: Version, ...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await launchPromote(version, ...args).end();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

/** A build whose Pods keep running until it is changed, once it runs. */
async function aBuildUnderWay(): Promise<LiveBuild> {
  const build = await aNewBuild(true);
  await build.is('Building');
  return build;
}

async function aNewBuild(isLasting = false): Promise<LiveBuild> {
  const name = uniqueName();
  const fields = aBuild(namespace, name).with({ jobName: name, binaryName: name });
  const { manifest } = isLasting ? fields.lasting() : fields;
  await cluster.create(BUILDS, manifest);
  return new LiveBuild(cluster, manifest, WITHIN_MS);
}

const finish = (build: LiveBuild) => build.change({ buildCommand: 'go build' });

async function refTo(build: LiveBuild): Promise<ResourceRef> {
  const live = await build.get();
  if (live === undefined) throw new Error(`${build.at.name} is gone`);
  return refOf('git-build', live);
}

/** `COMPLETED on ours`, the oldest first. */
async function runsOf(build: LiveBuild): Promise<string[]> {
  const ref = await refTo(build);
  const runs = await temporal.runsOf(ref);
  return Promise.all(
    runs.map(async ({ runId, status }) => {
      const { raw } = await temporal.client.workflow.getHandle(workflowIdFor(ref), runId).describe();
      const version = raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
      return `${status} on ${version ?? 'no version'}`;
    }),
  );
}

/** As its input has it. */
async function clusterOfRun(build: LiveBuild, which: 'first' | 'latest' = 'latest'): Promise<unknown> {
  const ref = await refTo(build);
  const runs = await temporal.runsOf(ref);
  const [started] = await temporal.historyOf(ref, (which === 'first' ? runs[0] : runs.at(-1))?.runId);
  const [input] = started?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const { cluster: its } = JSON.parse(Buffer.from(input?.data ?? []).toString()) as { cluster?: unknown };
  expect(its).toEqual({ uid: expect.any(String) });
  return its;
}

async function eventuallyRuns(build: LiveBuild, ...runs: readonly string[]): Promise<void> {
  await eventually(async () => {
    expect(await runsOf(build)).toEqual(runs);
    return true;
  }, WITHIN_MS);
}

/** Why workflow tasks of any of its runs failed. */
async function taskFailuresOf(build: LiveBuild): Promise<string[]> {
  const ref = await refTo(build);
  const histories = await Promise.all(
    (await temporal.runsOf(ref)).map(({ runId }) => temporal.historyOf(ref, runId)),
  );
  return histories
    .flat()
    .flatMap(({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.message ?? []);
}

describe('a workflow that changed between two versions of the program', () => {
  it('breaks runs under way where no version is given: the next tests see what they are about', async () => {
    const before = await startUnversioned('ours');
    const build = await aBuildUnderWay();
    await before.end('SIGTERM');
    await startUnversioned('changed');
    await finish(build);
    await eventually(async () => {
      expect(await taskFailuresOf(build)).toContainEqual(expect.stringContaining(NON_DETERMINISM));
      return true;
    }, WITHIN_MS);
  });

  it.each([
    ['an upgrade', 'ours', 'changed'],
    ['a rollback', 'changed', 'ours'],
  ] as const)('%s lets them end where they began, and begins new ones on the other', async (_, from, to) => {
    const first = await startVersioned(from);
    expect(said(first)).toContainEqual(expect.stringContaining(`${taskQueue}:${from} gets no new runs`));
    expect(await promote(from)).toContain(`${taskQueue}:${from} is now current`);
    const underWay = await aBuildUnderWay();
    // The one that watches, and so starts runs, stays the old one, as a leader may for a while.
    await startVersioned(to, 'work');
    expect(await promote(to)).toContain(`(previously: ${from})`);
    const next = await aNewBuild();
    await next.is('Succeeded');
    await eventuallyRuns(next, `COMPLETED on ${to}`);
    await finish(underWay);
    await underWay.is('Succeeded');
    await eventuallyRuns(underWay, `COMPLETED on ${from}`);
    expect(await taskFailuresOf(underWay)).toEqual([]);
    expect(await promote(to, '--wait-for-drain=5m')).toContain('no run is open on a version other than');
  });
});

describe('a run under way whose workers are gone', () => {
  it('goes on once it is moved, with the Job that it had', async () => {
    const before = await startVersioned('ours');
    await promote('ours');
    const build = await aBuildUnderWay();
    const job = await build.job(build.at.name);
    await before.end('SIGTERM');
    await startVersioned('changed');
    await promote('changed', '--move-open-runs');
    await eventuallyRuns(build, 'TERMINATED on ours', 'RUNNING on changed');
    expect((await build.job(build.at.name))?.metadata.uid).toBe(job?.metadata.uid);
    // A worker of another cluster must not take up the new one either.
    expect(await clusterOfRun(build)).toEqual(await clusterOfRun(build, 'first'));
    await finish(build);
    await build.is('Succeeded');
    await eventuallyRuns(build, 'TERMINATED on ours', 'COMPLETED on changed');
    expect(await taskFailuresOf(build)).toEqual([]);
  });
});

describe('the command promote', () => {
  it('ends with status 3 and one line, where runs of another version do not end in time', async () => {
    await startVersioned('ours');
    await promote('ours');
    const build = await aBuildUnderWay();
    await startVersioned('changed');
    const { status, stderr } = await launchPromote('changed', '--wait-for-drain=1s').end();
    expect(stderr).toBe(
      `durable-operator: 1 run is open on ${taskQueue}:ours (git-build ${namespace}/${build.at.name}); wait longer, or use --move-open-runs\n`,
    );
    expect(status).toBe(3);
  });

  it('ends with status 3 where it is stopped before its version has workers', async () => {
    const { child, end } = launchPromote('ours');
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await end()).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/^durable-operator: promote was stopped before .*\n$/),
    });
  });
});

describe('a worker of the Worker Controller', () => {
  it('has the version that the variables of the controller say', async () => {
    const deploymentName = `durable-operator/${taskQueue}`;
    const buildId = '0-3-0-1a2b';
    const env = { TEMPORAL_DEPLOYMENT_NAME: deploymentName, TEMPORAL_WORKER_BUILD_ID: buildId };
    await startOperator({ taskQueue, command: 'work', env });
    const { workflowService } = temporal.client;
    const request = { namespace: 'default', deploymentVersion: { deploymentName, buildId } };
    await eventually(async () => {
      const { versionTaskQueues } = await workflowService.describeWorkerDeploymentVersion(request);
      expect(versionTaskQueues.map(({ name }) => name)).toContain(taskQueue);
      return true;
    }, WITHIN_MS);
  });
});
