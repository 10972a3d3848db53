import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVAL_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../src/api/annotations.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { ask as asked, ASK_PROGRAM, type Answer } from '../support/asking.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import { aTaskQueue } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

const taskQueue = aTaskQueue();
const { stack, cluster, temporal } = setUpOperator({ taskQueue });

function ask(words: string): Promise<Answer> {
  return asked([...words.split(' '), '--task-queue', taskQueue]);
}

async function idle(podSet: KubernetesObject): Promise<void> {
  await eventually(async () => {
    const runs = await temporal.runsOf(refOf('pod-set', podSet));
    return runs.length > 0 && runs.every(({ status }) => status === 'COMPLETED');
  }, WITHIN_MS);
}

async function aPodSetOf(replicas: number): Promise<LivePodSet> {
  const namespace = await cluster.aNamespace();
  await cluster.create<PodSet>(PodSetKind, aPodSet().in(namespace).wanting(replicas).manifest);
  return new LivePodSet(cluster, namespace);
}

describe('retry', () => {
  it('ends the backoff of all resources of a kind', async () => {
    const web = await aPodSetOf(2);
    const { namespace } = web.at;
    await idle(await web.isReady(2));
    const quota = await limitPods(cluster, namespace, 2);
    await web.scaleTo(3);
    await eventually(
      async () => /attempt [4-9]/.test((await ask(`history podset/web -n ${namespace}`)).stdout),
      WITHIN_MS,
    );
    const others = await ask(`retry pods -n ${namespace} --yes`);
    expect(others).toMatchObject({
      status: 1,
      stderr: `nothing in namespace ${namespace} is in backoff\n`,
    });
    const unasked = await ask(`retry -n ${namespace}`);
    expect(unasked.status).toBe(2);
    expect(unasked.stderr).toMatch(/Retry 1 resource now\? .*--yes/);
    const answer = await ask(`retry podsets -n ${namespace} --yes`);
    expect(answer.status).toBe(0);
    expect(answer.stdout).toMatch(/^podset\/web -n \S+: createPods, attempt \d+, Refused: .*exceeded quota/);
    expect(answer.stdout).toMatch(/retried: 1 of 1 resource\n$/);
    await eventually(async () => {
      const { stdout } = await ask(`history podset/web -n ${namespace}`);
      return /createPods +ended by a change/.test(stdout);
    }, WITHIN_MS);
    await cluster.delete(quota);
    await idle(await web.isReady(3));
    const again = await ask(`retry podset/web -n ${namespace}`);
    expect(again.status).toBe(1);
    expect(again.stderr).toContain('is not in backoff');
  });
});

describe('retry of a PodSet whose Pods failed', () => {
  it('ends its pause', async () => {
    const web = await aPodSetOf(3);
    const { namespace } = web.at;
    await web.isReady(3);
    // Three at once: a pause of half a minute.
    for (const name of await web.podNames())
      await cluster.patch({ type: PODS, namespace, name }, { status: { phase: 'Failed' } }, 'status');
    await eventually(async () => {
      const { stdout } = await ask(`why podset/web -n ${namespace}`);
      return stdout.includes('the pause after failed Pods to end');
    }, WITHIN_MS);
    const answer = await ask(`retry podset/web -n ${namespace}`);
    expect(answer.stdout).toMatch(
      /^podset\/web -n \S+: waiting for the pause after failed Pods to end, PodsFailed: [^]*retried: 1 of 1 resource\n$/,
    );
    await web.hasPods(3);
  });
});

describe('a pause', () => {
  it('holds all changes until it is resumed', async () => {
    const web = await aPodSetOf(1);
    const { namespace } = web.at;
    await idle(await web.isReady(1));
    await ask(`pause podset/web -n ${namespace}`);
    await web.scaleTo(2);
    await web.isHeld('Paused');
    const waited = await ask(`reconcile podset/web -n ${namespace} --wait`);
    expect(waited.status).toBe(1);
    expect(waited.stderr).toContain('is not up to date: Paused; ask: kubectl durable why podset/web');
    const plan = await ask(`plan podset/web -n ${namespace}`);
    expect(plan.stdout).toMatch(
      /, held\n[^]*on hold: paused by .*; without the hold:\n[^]*createPods[^]*create pods\/[^]*then: up to date/,
    );
    expect((await web.get())?.status?.readyReplicas).toBe(1);
    await ask(`resume podset/web -n ${namespace}`);
    await idle(await web.isReady(2));
  });
});

describe('approve and reject', () => {
  it('answer the plan that awaits approval, in the name of the user, and say that nobody checks it', async () => {
    const web = await aPodSetOf(3);
    const { namespace } = web.at;
    await idle(await web.isReady(3));
    expect(await ask(`approve podset/web -n ${namespace} -y`)).toMatchObject({
      status: 1,
      stderr: `podset/web -n ${namespace} does not wait for approval\n`,
    });
    await cluster.patch(web.at, {
      metadata: { annotations: { [APPROVAL_ANNOTATION]: 'required' } },
      spec: { replicas: 1 },
    });
    await web.isHeld('AwaitingApproval');
    const unasked = await ask(`approve podset/web -n ${namespace}`);
    expect(unasked.status).toBe(2);
    expect(unasked.stdout).toContain('delete 2 Pods');
    const rejected = await ask(`reject podset/web -n ${namespace} --yes --because typo`);
    expect(rejected.status).toBe(0);
    const user = / by (\S+)\n$/.exec(rejected.stdout)?.[1] ?? '';
    const annotations = (await web.get())?.metadata.annotations ?? {};
    expect(annotations).toMatchObject({
      [ANSWERED_BY_ANNOTATION]: user,
      [ANSWERED_BECAUSE_ANNOTATION]: 'typo',
    });
    await eventually(async () => {
      const { stdout } = await ask(`plan podset/web -n ${namespace}`);
      return (
        stdout.includes(`rejected; who did is not checked; said to be ${user}; reason: typo`) &&
        /without the hold:[^]*delete pods\/\S+, pods\/\S+/.test(stdout)
      );
    }, WITHIN_MS);
    expect((await web.get())?.status?.readyReplicas).toBe(3);
    const approved = await ask(`approve podset/web -n ${namespace} --yes --because agreed`);
    expect(approved.status).toBe(0);
    expect(approved.stderr).toMatch(
      /not checked: [^]*kubectl apply --server-side --filename deploy\/install.yaml/,
    );
    await idle(await web.isReady(1));
    const history = await ask(`history podset/web -n ${namespace}`);
    const words = `approved; who did is not checked; said to be ${user}; reason: agreed`;
    expect(history.stdout).toMatch(new RegExp(`deletePods +deleted 2 Pods .*, ${words}`));
    expect(history.stdout).toMatch(new RegExp(`Approved +${words}; plan 2-`));
    const after = (await web.get())?.metadata.annotations ?? {};
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

  it('runs and completes in kubectl', async () => {
    const web = await aPodSetOf(0);
    const { namespace } = web.at;
    expect(shell(`'${stack.kubectl}' durable history --help`)).toContain('Usage: kubectl durable history');
    expect(shell(`'${stack.kubectl}' __complete durable wh`)).toMatch(/^why\t/);
    expect(shell(`'${stack.kubectl}' __complete durable why -n ${namespace} podset/`)).toMatch(
      /^podset\/web\b/,
    );
  });
});
