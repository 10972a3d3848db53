import { describe, expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PAUSED_ANNOTATION } from '../../src/contract/control.ts';
import type { KubernetesList, KubernetesObject } from '../../src/contract/object.ts';
import { POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { askProgram, type Answered } from '../support/ask-program.ts';
import { PODS, refOf, type At } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

const taskQueue = aTaskQueue();
const { stack, cluster, temporal } = setUpOperator({ taskQueue });

const QUOTAS = { group: '', version: 'v1', plural: 'resourcequotas' };

function ask(words: string, input?: string): Promise<Answered> {
  return askProgram(stack, [...words.split(' '), '--task-queue', taskQueue], input);
}

async function converged({ type, namespace = '', name }: At, replicas: number): Promise<PodSet> {
  return eventually(async () => {
    const podSet = await cluster.get<PodSet>({ type, namespace, name });
    const { status, metadata } = podSet ?? {};
    const isReady = status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
    const isObserved = status?.observedGeneration === metadata?.generation;
    return isReady === true && isObserved && status?.readyReplicas === replicas && podSet;
  }, WITHIN_MS);
}

async function idle(podSet: KubernetesObject): Promise<void> {
  await eventually(async () => {
    const runs = await temporal.runsOf(refOf('pod-set', podSet));
    return runs.length > 0 && runs.every(({ status }) => status === 'COMPLETED');
  }, WITHIN_MS);
}

async function aPodSetOf(replicas: number): Promise<At & { readonly namespace: string }> {
  const namespace = await cluster.aNamespace();
  await cluster.create<PodSet>(POD_SETS, aPodSet().in(namespace).wanting(replicas).manifest);
  return { type: POD_SETS, namespace, name: 'web' };
}

/** Refuses every Pod, once it counts. */
async function forbidPods(namespace: string): Promise<At> {
  const metadata = { name: 'none', namespace };
  await cluster.create(QUOTAS, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata,
    spec: { hard: { pods: '2' } },
  });
  const at = { type: QUOTAS, namespace, name: 'none' };
  await eventually(async () => {
    const quota = await cluster.get<KubernetesObject & { status?: { hard?: object } }>(at);
    return quota?.status?.hard !== undefined;
  }, WITHIN_MS);
  return at;
}

const linesOf = ({ stdout }: Answered) =>
  stdout.split('\n').map((line) => line.replace(/^\S+Z /, '').replace(/ {2,}/g, ' '));

describe('history', () => {
  it('tells every reconcile, its steps and failures, the Events between, and each object of the name', async () => {
    const at = await aPodSetOf(2);
    await idle(await converged(at, 2));
    await forbidPods(at.namespace);
    await cluster.patch(at, { spec: { replicas: 3 } });
    await eventually(async () => {
      const { stdout } = await ask(`history podset/web -n ${at.namespace}`);
      return /retrying: .*exceeded quota/.test(stdout) && /attempt [2-9]/.test(stdout);
    }, WITHIN_MS);
    await cluster.patch(at, { spec: { replicas: 1 } });
    const first = await converged(at, 1);
    await idle(first);
    await cluster.deleteAndWait(at);
    await cluster.create<PodSet>(POD_SETS, aPodSet().in(at.namespace).wanting(1).manifest);
    const second = await converged(at, 1);
    await idle(second);

    const answer = await ask(`history podset web -n ${at.namespace}`);
    const lines = linesOf(answer);
    expect(answer).toMatchObject({ status: 0, stderr: '' });
    const heads = lines.filter((line) => line.startsWith('──'));
    expect(heads).toEqual([
      `── PodSet ${at.namespace}/web, UID ${first.metadata.uid}, deleted`,
      expect.stringMatching(`^── PodSet ${at.namespace}/web, UID ${second.metadata.uid}, created 20`),
    ]);
    const boundary = lines.indexOf(heads[1] ?? '');
    expect(lines.slice(0, boundary).join('\n')).toMatch(/createPods created 2 Pods/);
    expect(lines.slice(0, boundary).join('\n')).toMatch(/Event Refused .*exceeded quota/);
    expect(lines.slice(0, boundary).join('\n')).toMatch(/deletePods deleted Pod/);
    expect(lines.slice(boundary).join('\n')).toMatch(/createPods created Pod/);
    const times = answer.stdout.split('\n').map((line) => /^\S+Z/.exec(line)?.[0] ?? '');
    const timed = times.filter((time) => time !== '');
    expect(timed).toEqual(timed.toSorted());
  });

  it('says so where nothing of the name is known', async () => {
    const answer = await ask('history podset/nobody');
    expect(answer).toMatchObject({ status: 1, stdout: '' });
    expect(answer.stderr).toBe('there is no PodSet default/nobody, and Temporal keeps no reconcile of one\n');
  });
});

describe('retry', () => {
  it('ends a backoff, of one or by what is failing, and says what it was', async () => {
    const at = await aPodSetOf(2);
    await idle(await converged(at, 2));
    const quota = await forbidPods(at.namespace);
    await cluster.patch(at, { spec: { replicas: 3 } });
    await eventually(
      async () => /attempt [4-9]/.test((await ask(`history podset/web -n ${at.namespace}`)).stdout),
      WITHIN_MS,
    );
    const others = await ask(`retry --failure Unavailable -n ${at.namespace} --yes`);
    expect(others).toMatchObject({
      status: 1,
      stderr: `nothing in namespace ${at.namespace} is in backoff because of Unavailable\n`,
    });
    const unasked = await ask(`retry --step createPods -n ${at.namespace}`);
    expect(unasked.status).toBe(2);
    expect(unasked.stderr).toMatch(/Retry 1 resource now\? .*--yes/);
    await cluster.delete(quota);
    const answer = await ask(`retry --step createPods --failure Refused -n ${at.namespace} --yes`);
    expect(answer.status).toBe(0);
    expect(answer.stdout).toMatch(/^podset\/web -n \S+: createPods, attempt \d+, Refused: .*exceeded quota/);
    expect(answer.stdout).toMatch(/retried: 1 of 1 resource\n$/);
    await idle(await converged(at, 3));
    const again = await ask(`retry podset/web -n ${at.namespace}`);
    expect(again.status).toBe(1);
    expect(again.stderr).toContain('is not in backoff');
  });
});

describe('pause and resume', () => {
  it('annotate with the rights of whoever asks, one by one and all of a controller', async () => {
    const at = await aPodSetOf(0);
    const isPaused = async () => (await cluster.get(at))?.metadata.annotations?.[PAUSED_ANNOTATION];
    expect(await ask(`pause podset/web -n ${at.namespace}`)).toMatchObject({
      status: 0,
      stdout: `podset/web -n ${at.namespace} paused\n`,
    });
    expect(await isPaused()).toBe('true');
    expect((await ask(`pause podset/web -n ${at.namespace}`)).stdout).toBe(
      `podset/web -n ${at.namespace} is paused already\n`,
    );
    expect((await ask(`resume ps/web -n ${at.namespace}`)).status).toBeLessThan(3);
    await ask(`resume podset/web -n ${at.namespace}`);
    expect(await isPaused()).toBeUndefined();
    const unasked = await ask(`pause controller/pod-set -n ${at.namespace}`);
    expect(unasked).toMatchObject({ status: 2, stdout: '' });
    expect(unasked.stderr).toContain(`Pause 1 PodSet in namespace ${at.namespace}?`);
    expect((await ask(`pause controller/pod-set -n ${at.namespace} --yes`)).status).toBe(0);
    expect(await isPaused()).toBe('true');
    await ask(`resume podsets -n ${at.namespace} -y`);
    expect(await isPaused()).toBeUndefined();
  });

  it('say in one line what is not there', async () => {
    const answer = await ask('pause podset/nobody');
    expect(answer).toMatchObject({ status: 2, stdout: '' });
    expect(answer.stderr).toBe(
      'kubectl durable: there is no PodSet nobody in namespace default; check the name and -n\n',
    );
  });
});

const AuditLine = z.object({
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z.object({ namespace: z.string().default(''), resource: z.string() }).optional(),
  responseStatus: z.object({ code: z.number() }).optional(),
});

/** The accepted writes in a namespace, but Events: `create pods`, and whether it was a dry run. */
function writesIn(namespace: string) {
  const lines = readFileSync(stack.auditLog, 'utf8').split('\n').slice(0, -1);
  return lines
    .filter((line) => line.includes(namespace))
    .map((line) => AuditLine.parse(JSON.parse(line)))
    .filter(
      ({ stage, verb, objectRef }) =>
        stage === 'ResponseComplete' &&
        objectRef?.namespace === namespace &&
        !['get', 'list', 'watch'].includes(verb),
    )
    .filter(
      ({ objectRef, responseStatus }) =>
        objectRef?.resource !== 'events' && (responseStatus?.code ?? 500) < 300,
    )
    .map(({ verb, objectRef, requestURI, user }) => ({
      write: `${verb} ${objectRef?.resource ?? ''}${/\/status(\?|$)/.test(requestURI) ? '/status' : ''}`,
      isDryRun: requestURI.includes('dryRun=All'),
      user: user.username,
    }));
}

interface PlannedWrites {
  readonly steps: readonly {
    readonly step: string;
    readonly writes: readonly { readonly verb: string; readonly path: string }[];
  }[];
}

async function versionsIn(namespace: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    [PODS, POD_SETS, QUOTAS].map((type) =>
      cluster.client.request<KubernetesList>({ method: 'GET', path: resourcePath(type, { namespace }) }),
    ),
  );
  return lists
    .flatMap(({ items }) =>
      (items ?? []).map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
    )
    .toSorted();
}

const counted = (writes: readonly string[]) =>
  Object.fromEntries(
    [...new Set(writes)].map((write) => [write, writes.filter((each) => each === write).length]),
  );

function plannedWrites({ stdout }: Answered): Readonly<Record<string, number>> {
  // The program's own output.
  const { steps } = JSON.parse(stdout) as PlannedWrites;
  return counted(
    steps.flatMap(({ writes }) =>
      writes.map(
        ({ verb, path }) =>
          `${verb} ${/namespaces\/[^/]+\/([^/]+)/.exec(path)?.[1] ?? ''}${path.endsWith('/status') ? '/status' : ''}`,
      ),
    ),
  );
}

describe('plan', () => {
  it.each([
    { from: 2, to: 5, first: 'create pods' },
    { from: 4, to: 1, first: 'delete pods' },
  ])('writes nothing, and says which writes a scale from $from to $to makes', async ({ from, to, first }) => {
    const at = await aPodSetOf(from);
    await idle(await converged(at, from));
    const manifest = JSON.stringify(aPodSet().in(at.namespace).wanting(to).manifest);
    const before = await versionsIn(at.namespace);
    const madeBefore = writesIn(at.namespace).length;

    const answer = await ask(`plan -f - -n ${at.namespace} -o json`, manifest);
    expect(answer.status).toBe(1);
    const text = await ask(`plan -f - -n ${at.namespace}`, manifest);
    expect(text.stdout).toMatch(
      new RegExp(`^1\\. ${first.startsWith('create') ? 'createPods' : 'deletePods'}: `, 'm'),
    );

    expect(await versionsIn(at.namespace)).toEqual(before);
    const tried = writesIn(at.namespace).slice(madeBefore);
    expect(tried.filter(({ isDryRun }) => !isDryRun)).toEqual([]);
    expect(tried.length).toBeGreaterThan(Math.abs(from - to));

    await cluster.patch(at, { spec: { replicas: to } });
    await idle(await converged(at, to));
    const made = await eventually(() => {
      const all = writesIn(at.namespace).filter(
        ({ isDryRun, user }) => !isDryRun && user.startsWith('system:serviceaccount:system'),
      );
      return Promise.resolve(all.some(({ write }) => write === first) && all.map(({ write }) => write));
    }, WITHIN_MS);
    const planned = plannedWrites(answer);
    expect(planned[first]).toBe(Math.abs(to - from));
    expect(Object.keys(planned).every((write) => made.includes(write))).toBe(true);
    expect(made.filter((write) => write === first)).toHaveLength(first === 'create pods' ? to : from - to);
  });

  it('has nothing to do where all is up to date', async () => {
    const at = await aPodSetOf(1);
    await idle(await converged(at, 1));
    const answer = await ask(`plan podset/web -n ${at.namespace}`);
    expect(answer).toMatchObject({ status: 0 });
    expect(answer.stdout).toMatch(/^PodSet \S+: nothing to do\n\nup to date: /);
  });

  it('goes through the steps of a build that does not exist, up to where it waits for its Job', async () => {
    const namespace = await cluster.aNamespace();
    const spec = {
      gitUrl: 'https://user:secret@example.com/app.git',
      clonePath: '/root/app',
      buildCommand: 'go build',
      binaryName: 'app',
      jobName: 'build-app',
    };
    const manifest = {
      apiVersion: 'test.inspur.com/v1alpha1',
      kind: 'Xxx',
      metadata: { name: 'app', namespace },
      spec,
    };
    const answer = await ask('plan -f -', JSON.stringify(manifest));
    expect(answer.status).toBe(1);
    expect(answer.stdout).not.toContain('secret');
    const steps = answer.stdout.split('\n').flatMap((line) => /^\d+\. (\w+)/.exec(line)?.[1] ?? []);
    expect(steps.slice(0, 2)).toEqual(['addFinalizer', 'createJob']);
    expect(answer.stdout).toMatch(/create jobs\/build-app\n/);
    expect(answer.stdout).toMatch(/then: it waits for /);
    const tried = writesIn(namespace);
    expect(tried.filter(({ isDryRun, user }) => !isDryRun && !user.startsWith('system:'))).toEqual([]);
  });
});
