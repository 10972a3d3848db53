import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVAL_ANNOTATION,
  PAUSED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../src/contract/control.ts';
import type { KubernetesList, KubernetesObject } from '../../src/contract/object.ts';
import { POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { ASK_PROGRAM, askProgram, type Answered } from '../support/ask-program.ts';
import { PODS, refOf, ROLE_BINDINGS, type At } from '../support/cluster.ts';
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

function isTrue(podSet: PodSet | undefined, type: string): boolean {
  return podSet?.status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
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
    const answer = await ask(`retry --step createPods --failure Refused -n ${at.namespace} --yes`);
    expect(answer.status).toBe(0);
    expect(answer.stdout).toMatch(/^podset\/web -n \S+: createPods, attempt \d+, Refused: .*exceeded quota/);
    expect(answer.stdout).toMatch(/retried: 1 of 1 resource\n$/);
    await eventually(async () => {
      const { stdout } = await ask(`history podset/web -n ${at.namespace}`);
      return /createPods +ended by a change/.test(stdout);
    }, WITHIN_MS);
    await cluster.delete(quota);
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

describe('a pause', () => {
  it('holds what is to be done until it is resumed', async () => {
    const at = await aPodSetOf(1);
    await idle(await converged(at, 1));
    await ask(`pause podset/web -n ${at.namespace}`);
    await cluster.patch(at, { spec: { replicas: 2 } });
    await eventually(async () => isTrue(await cluster.get<PodSet>(at), 'Paused'), WITHIN_MS);
    const waited = await ask(`reconcile podset/web -n ${at.namespace} --wait`);
    expect(waited.status).toBe(1);
    expect(waited.stderr).toContain('is not up to date: Paused; ask: kubectl durable why podset/web');
    const plan = await ask(`plan podset/web -n ${at.namespace}`);
    expect(plan.stdout).toMatch(/it is held: paused by .*createPods/);
    expect((await cluster.get<PodSet>(at))?.status?.readyReplicas).toBe(1);
    await ask(`resume podset/web -n ${at.namespace}`);
    await idle(await converged(at, 2));
  });
});

describe('reconcile', () => {
  it('has one made even where nothing seems to be needed, and waits for its end', async () => {
    const at = await aPodSetOf(1);
    const podSet = await converged(at, 1);
    await idle(podSet);
    const before = (await temporal.runsOf(refOf('pod-set', podSet))).length;
    const answer = await ask(`reconcile podset/web -n ${at.namespace} --wait`);
    const name = `podset/web -n ${at.namespace}`;
    expect(answer).toEqual({
      status: 0,
      stderr: '',
      stdout: `${name} reconcile requested\n${name} is up to date\n`,
    });
    expect((await temporal.runsOf(refOf('pod-set', podSet))).length).toBeGreaterThan(before);
    const { stdout } = await ask(`history podset/web -n ${at.namespace}`);
    expect(stdout).toMatch(/reconcile +.*a reconcile was requested: 20/);
  });

  it('waits, too, where there is no status', async () => {
    const { namespace } = await aPodSetOf(0);
    await eventually(
      async () =>
        (await cluster.get({ type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` })) !==
        undefined,
      WITHIN_MS,
    );
    const answer = await ask(`reconcile namespace/${namespace} --wait`);
    expect(answer).toMatchObject({ status: 0, stderr: '' });
    expect(answer.stdout).toContain(`namespace/${namespace} is up to date`);
  });
});

describe('approve and reject', () => {
  it('answer the plan that is awaited, as the user whom the API server knows', async () => {
    const at = await aPodSetOf(3);
    await idle(await converged(at, 3));
    expect(await ask(`approve podset/web -n ${at.namespace} -y`)).toMatchObject({
      status: 1,
      stderr: `podset/web -n ${at.namespace} does not wait for an approval\n`,
    });
    await cluster.patch(at, {
      metadata: { annotations: { [APPROVAL_ANNOTATION]: 'required' } },
      spec: { replicas: 1 },
    });
    await eventually(async () => isTrue(await cluster.get<PodSet>(at), 'AwaitingApproval'), WITHIN_MS);
    const unasked = await ask(`approve podset/web -n ${at.namespace}`);
    expect(unasked.status).toBe(2);
    expect(unasked.stdout).toContain('delete 2 Pods');
    const rejected = await ask(`reject podset/web -n ${at.namespace} --yes --because typo`);
    expect(rejected.status).toBe(0);
    const user = / by (\S+)\n$/.exec(rejected.stdout)?.[1] ?? '';
    const annotations = (await cluster.get(at))?.metadata.annotations ?? {};
    expect(annotations).toMatchObject({
      [ANSWERED_BY_ANNOTATION]: user,
      [ANSWERED_BECAUSE_ANNOTATION]: 'typo',
    });
    await eventually(async () => {
      const { stdout } = await ask(`plan podset/web -n ${at.namespace}`);
      return stdout.includes(`rejected by ${user}: typo`);
    }, WITHIN_MS);
    expect((await cluster.get<PodSet>(at))?.status?.readyReplicas).toBe(3);
    const approved = await ask(`approve podset/web -n ${at.namespace} --yes`);
    expect(approved.status).toBe(0);
    await idle(await converged(at, 1));
    const after = (await cluster.get(at))?.metadata.annotations ?? {};
    expect(Object.keys(after)).not.toContain(REJECTED_ANNOTATION);
  });
});

describe('the kubectl plugin', () => {
  let path: string;

  beforeAll(async () => {
    const bin = join(stack.dir, 'plugin');
    await mkdir(bin, { recursive: true });
    const programs = [
      ['kubectl-durable', ASK_PROGRAM],
      ['kubectl_complete-durable', join(ASK_PROGRAM, '../complete.js')],
    ] as const;
    for (const [name, program] of programs) {
      // As npm and krew do.
      await chmod(program, 0o755);
      await symlink(program, join(bin, name));
    }
    path = `${bin}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
  });

  function shell(script: string): string {
    const env = {
      ...process.env,
      PATH: path,
      KUBECONFIG: stack.kubeconfig,
      TEMPORAL_ADDRESS: stack.temporalAddress,
    };
    return execFileSync('bash', ['-c', script], { env, encoding: 'utf8' });
  }

  it('is found by kubectl, and completed by it', async () => {
    const at = await aPodSetOf(0);
    expect(shell(`'${stack.kubectl}' durable history --help`)).toContain('Usage: kubectl durable history');
    expect(shell(`'${stack.kubectl}' __complete durable wh`)).toMatch(/^why\t/);
    expect(shell(`'${stack.kubectl}' __complete durable why -n ${at.namespace} podset/`)).toMatch(
      /^podset\/web\b/,
    );
  });

  it('is completed by bash', async () => {
    const at = await aPodSetOf(0);
    const script = `
      _get_comp_words_by_ref() { cur="\${COMP_WORDS[COMP_CWORD]}"; words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
      compopt() { :; }
      source <(kubectl-durable completion bash)
      COMP_WORDS=(kubectl-durable why -n ${at.namespace} podset/); COMP_CWORD=4
      __kubectl_durable_complete
      printf '%s\n' "\${COMPREPLY[@]}"`;
    expect(shell(script)).toBe('podset/web\n');
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
