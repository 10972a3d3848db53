import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { ask, type Answer } from '../support/asking.ts';
import { aBuild, LiveBuild, SAMPLE } from '../support/builds.ts';
import { PODS, ROLE_BINDINGS } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import { aTaskQueue, startOperator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';
import { operatorWritesIn, writesIn } from '../support/writes.ts';

/*
 * A plan is what then happens. The operator is stopped, the world is changed, and each plan asked for; then the operator
 * is started, and the audit log has to begin with the very writes of the plan.
 */

jest.setTimeout(240_000);
const WITHIN_MS = 90_000;

/** A Namespace with this label is not selected. */
const LEFT_OUT = 'test.durable-operator.dev/left-out';

const { stack, cluster } = setUpStage();
const taskQueue = aTaskQueue();

function plan(words: string, input = ''): Promise<Answer> {
  return ask(['plan', ...words.split(' '), '--task-queue', taskQueue], { input });
}

const PlanOutput = z.object({
  steps: z.array(
    z.object({ step: z.string(), writes: z.array(z.looseObject({ verb: z.string(), path: z.string() })) }),
  ),
  end: z.object({ is: z.string(), next: z.looseObject({ do: z.string() }).optional() }),
});

/** What a plan says, in the words of the audit log. */
interface Planned {
  readonly steps: readonly string[];
  readonly writes: readonly string[];
  /** How it ends: `converged`, or `wait` where something has to happen first. */
  readonly end: string;
}

function plannedIn({ stdout }: Answer): Planned {
  const { steps, end } = PlanOutput.parse(JSON.parse(stdout));
  const writes = steps.flatMap((step) => step.writes.map(({ verb, path }) => `${verb} ${objectIn(path)}`));
  return { steps: steps.map(({ step }) => step), writes: writes.map(unnamed), end: end.next?.do ?? end.is };
}

function objectIn(path: string): string {
  return path.replace(/^.*\/namespaces\/[^/]+\//, '');
}

/** The name of a Pod to be differs from run to run. */
function unnamed(write: string): string {
  return write.replace(/(pods\/web-pod-)\w+/, '$1*');
}

function writtenIn(namespace: string): readonly string[] {
  return operatorWritesIn(namespace, stack.auditLog).map(({ write }) => unnamed(write));
}

const sampleIn = (namespace: string) => new LiveBuild(cluster, aBuild(namespace).manifest, WITHIN_MS);

async function aBuildIn(namespace: string, phase: 'Building' | 'Succeeded'): Promise<void> {
  const sample = aBuild(namespace);
  await cluster.create(BUILDS, (phase === 'Building' ? sample.lasting() : sample).manifest);
  await sampleIn(namespace).is(phase);
}

async function aPodSetIn(namespace: string, replicas: number): Promise<void> {
  await cluster.create(PodSetKind, aPodSet().in(namespace).wanting(replicas).manifest);
  await new LivePodSet(cluster, namespace).isReady(replicas);
}

const bindingIn = (namespace: string) => ({
  type: ROLE_BINDINGS,
  namespace,
  name: `ad-kubernetes-${namespace}`,
});
const nothing = () => Promise.resolve();

interface Case {
  readonly what: string;
  /** With the operator at work, until it is at rest. */
  readonly before: (namespace: string) => Promise<unknown>;
  /** With no operator there. */
  readonly change: (namespace: string) => Promise<unknown>;
  readonly resource: (namespace: string) => string;
  /** The steps of the plan, and its writes, with NS for the namespace. */
  readonly steps: readonly string[];
  readonly writes: readonly string[];
  readonly end: 'converged' | 'wait';
}

const JOB = `jobs/${SAMPLE.jobName}`;
const STATUS = 'patch xxxes/sample/status';
const BINDING = 'rolebindings/ad-kubernetes-NS';
const ofBuild = { resource: () => 'xxx/sample' } as const;
const ofTeam = { resource: (namespace: string) => `namespace/${namespace}`, end: 'converged' } as const;
const ofPod = { resource: () => 'pod/api', end: 'converged' } as const;
const ofPodSet = { resource: () => 'podset/web' } as const;

const CASES: readonly Case[] = [
  {
    ...ofBuild,
    what: 'a build that is new',
    before: nothing,
    change: (namespace) => cluster.create(BUILDS, aBuild(namespace).lasting().manifest),
    steps: ['addFinalizer', 'updateStatus', 'createJob', 'updateStatus'],
    writes: ['patch xxxes/sample', STATUS, `create ${JOB}`, STATUS],
    end: 'wait',
  },
  {
    ...ofBuild,
    what: 'a build that is deleted',
    before: (namespace) => aBuildIn(namespace, 'Succeeded'),
    change: (namespace) => cluster.delete(sampleIn(namespace).at),
    steps: ['updateStatus', 'createCleanupJob', 'updateStatus'],
    writes: [STATUS, `create ${JOB}-delete`, STATUS],
    end: 'wait',
  },
  {
    ...ofTeam,
    what: 'a Namespace without its RoleBinding',
    before: (namespace) => eventually(() => cluster.get(bindingIn(namespace)), WITHIN_MS),
    change: (namespace) => cluster.delete(bindingIn(namespace)),
    steps: ['createRoleBinding'],
    writes: [`create ${BINDING}`],
  },
  {
    ...ofPod,
    what: 'a Pod that asks for its label',
    before: nothing,
    change: (namespace) => cluster.create(PODS, aPod().in(namespace).named('api').annotated().manifest),
    steps: ['addLabel'],
    writes: ['patch pods/api'],
  },
  {
    ...ofPodSet,
    what: 'a PodSet that is scaled down',
    before: (namespace) => aPodSetIn(namespace, 4),
    change: (namespace) => new LivePodSet(cluster, namespace).scaleTo(1),
    steps: ['deletePods', 'updateStatus'],
    writes: [...Array.from({ length: 3 }, () => 'delete pods/web-pod-*'), 'patch podsets/web/status'],
    end: 'converged',
  },
];

interface Found {
  readonly planned: Planned;
  readonly namespace: string;
  /** How many writes the operator had made there before it was stopped. */
  readonly madeBefore: number;
}

/** By what the case is. */
const found = new Map<string, Found>();

beforeAll(async () => {
  const args = ['--namespace-selector', `!${LEFT_OUT}`];
  const operator = await startOperator({ taskQueue, args });
  const places = await Promise.all(
    CASES.map(async (each) => {
      const namespace = await cluster.aNamespace();
      await eventually(() => cluster.get(bindingIn(namespace)), WITHIN_MS);
      await each.before(namespace);
      return { each, namespace };
    }),
  );
  await operator.end('SIGTERM');
  for (const { each, namespace } of places) {
    const madeBefore = writtenIn(namespace).length;
    await each.change(namespace);
    const answer = await plan(`${each.resource(namespace)} -n ${namespace} -o json`);
    found.set(each.what, { planned: plannedIn(answer), namespace, madeBefore });
  }
  await startOperator({ taskQueue, args });
});

describe('the operator makes exactly the writes of the plan:', () => {
  it.each(CASES)('$what', async ({ what, steps, writes, end }) => {
    const { planned, namespace, madeBefore } = found.get(what) ?? {};
    if (planned === undefined || namespace === undefined) throw new Error('it was not planned');
    const named = writes.map((write) => write.replaceAll('NS', namespace));
    expect(planned).toEqual({ steps, writes: named, end });
    await eventually(() => {
      const made = writtenIn(namespace).slice(madeBefore);
      // What follows from what the plan waits for is no part of it.
      expect(end === 'converged' ? made : made.slice(0, named.length)).toEqual(named);
      return true;
    }, WITHIN_MS);
  });
});

describe('a plan for a file', () => {
  it('writes nothing, and the operator then makes its writes', async () => {
    const namespace = await cluster.aNamespace();
    await aPodSetIn(namespace, 2);
    const manifest = aPodSet().in(namespace).wanting(5).manifest;
    const before = writesIn(namespace, stack.auditLog).length;

    const answer = await plan(`-f - -n ${namespace} -o json`, JSON.stringify(manifest));
    expect(answer.status).toBe(1);
    const text = await plan(`-f - -n ${namespace}`, JSON.stringify(manifest));
    expect(text.stdout).toMatch(/^1\. createPods: /m);

    const tried = writesIn(namespace, stack.auditLog).slice(before);
    expect(tried.filter(({ isDryRun }) => !isDryRun)).toEqual([]);
    expect(tried.length).toBeGreaterThan(3);

    const madeBefore = writtenIn(namespace).length;
    await new LivePodSet(cluster, namespace).scaleTo(5);
    await new LivePodSet(cluster, namespace).isReady(5);
    const { writes } = plannedIn(answer);
    expect(writes).toHaveLength(4);
    expect(writtenIn(namespace).slice(madeBefore, madeBefore + 4)).toEqual(writes);
  });
});
