import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import type { ResourceRef } from '../../src/contract/resource.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { refOf, uniqueName } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';
import { runsByVersion, versionArguments, WorkerVersions, type Version } from '../support/worker-versions.ts';

jest.setTimeout(300_000);
const WITHIN_MS = 120_000;
/** How the SDK begins the message of each non-determinism failure. */
const NON_DETERMINISM = 'TMPRL1100';

const { stack, cluster, temporal } = setUpStage(() => versions.remove());
let versions: WorkerVersions;
let namespace: string;
let taskQueue: string;

beforeAll(async () => {
  versions = await WorkerVersions.make('git-build', 'gitBuild');
});

beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
});

afterEach(endOperators);

function startUnversioned(version: Version): Promise<Operator> {
  return startWith(version, 'run', []);
}

function startVersioned(version: Version, command = 'run'): Promise<Operator> {
  return startWith(version, command, versionArguments(version, taskQueue));
}

function startWith(version: Version, command: string, args: readonly string[]): Promise<Operator> {
  return startOperator({
    taskQueue,
    command,
    args: ['--controllers', 'git-build', '--namespaces', namespace, ...args],
    program: versions.programOf(version),
  });
}

const said = ({ logs }: Operator) => logs.map(({ msg }) => msg);

const deployment = () => ({ taskQueue, temporalAddress: stack.temporalAddress });

function launchPromote(version: Version, ...args: readonly string[]) {
  return versions.launchPromote(version, deployment(), ...args);
}

function promote(version: Version, ...args: readonly string[]): Promise<string> {
  return versions.promote(version, deployment(), ...args);
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

async function eventuallyRuns(build: LiveBuild, ...runs: readonly string[]): Promise<void> {
  await eventually(async () => {
    expect(await runsByVersion(temporal, await refTo(build))).toEqual(runs);
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
