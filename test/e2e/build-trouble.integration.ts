import { describe, expect, it, jest } from '@jest/globals';
import { SIMULATED_NODE } from '../../local/server-commands.ts';
import { MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS } from '../../src/api/built-in.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { ask } from '../support/asking.ts';
import {
  aBuild,
  aNodeWithoutKubelet,
  conditionOf,
  JOBS,
  LiveBuild,
  NODES,
  SAMPLE,
} from '../support/builds.ts';
import { PODS, uniqueName, type Manifest } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * Others add containers to the Pods of builds, suspend Jobs, delete Pods and shut nodes down. A policy changes new Pods, as the
 * label of their namespace says. The tests set the statuses that no kubelet sets here.
 */

jest.setTimeout(240_000);
const WITHIN_MS = 90_000;
const CLEANUP = `${SAMPLE.jobName}-delete`;
const UNPULLABLE =
  "its Pod cannot pull the image missing.invalid/golang:1.13; make the image available to the nodes, or change the operator's --build-image";

/** All files share the cluster. */
const POLICY = uniqueName();
const SILENT = `silent-${POLICY}`;
const WINDOWS = `windows-${POLICY}`;
const LABEL = 'test/pods';
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const AFFINITY = `Object.spec.affinity.nodeAffinity`;
const CHANGES = {
  sidecar: `op: "add", path: "/spec/containers/0", value: Object.spec.containers{name: "proxy", image: "proxy",
    env: [Object.spec.containers.env{name: "COMMAND", value: "sleep infinity"}]}`,
  silent: `op: "add", path: "/spec/nodeName", value: "${SILENT}"`,
  windows: `op: "add", path: "/spec/affinity", value: Object.spec.affinity{nodeAffinity: ${AFFINITY}{${REQUIRED}:
    ${AFFINITY}.${REQUIRED}{nodeSelectorTerms: [${AFFINITY}.${REQUIRED}.nodeSelectorTerms{matchFields:
    [${AFFINITY}.${REQUIRED}.nodeSelectorTerms.matchFields{key: "metadata.name", operator: "In", values: ["${WINDOWS}"]}]}]}}}`,
  unpullable: `op: "replace", path: "/spec/containers/0/image", value: "missing.invalid/golang:1.13"`,
};
/** A list as the value of a JSONPatch makes the API server 1.36.3 break off the request. */
const GATED = `namespaceObject.metadata.labels["${LABEL}"] == "gated"
  ? Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: "example.com/quota"}]}} : Object{}`;

const { cluster } = setUpStage(async () => {
  await cluster.delete({ type: MUTATING_ADMISSION_POLICY_BINDINGS, name: POLICY });
  await cluster.delete({ type: MUTATING_ADMISSION_POLICIES, name: POLICY });
  for (const name of [SILENT, WINDOWS]) await cluster.delete({ type: NODES, name });
});

interface Pod extends KubernetesObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

const taskQueue = aTaskQueue();
const operate = () => startOperator({ taskQueue, args: ['--controllers', 'git-build'] });
/** One for all, once the policy is in place. */
let operator: Promise<Operator> | undefined;

async function changePods(): Promise<void> {
  await aNodeWithoutKubelet(cluster, SILENT);
  await cluster.create(NODES, {
    metadata: { name: WINDOWS, annotations: SIMULATED_NODE, labels: { 'kubernetes.io/os': 'windows' } },
    // Pods of other files go elsewhere.
    spec: { taints: [{ key: 'test/windows', effect: 'PreferNoSchedule' }] },
  });
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: POLICY };
  const expression = Object.entries(CHANGES).reduce(
    (otherwise, [change, patch]) =>
      `namespaceObject.metadata.labels["${LABEL}"] == "${change}" ? [JSONPatch{${patch}}] : ${otherwise}`,
    '[]',
  );
  await cluster.create(MUTATING_ADMISSION_POLICIES, {
    ...{ apiVersion, kind: 'MutatingAdmissionPolicy', metadata },
    spec: {
      matchConstraints: {
        namespaceSelector: { matchExpressions: [{ key: LABEL, operator: 'Exists' }] },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
      },
      mutations: [
        { patchType: 'JSONPatch', jsonPatch: { expression } },
        { patchType: 'ApplyConfiguration', applyConfiguration: { expression: GATED } },
      ],
      ...{ reinvocationPolicy: 'Never', failurePolicy: 'Fail' },
    },
  });
  await cluster.create(MUTATING_ADMISSION_POLICY_BINDINGS, {
    ...{ apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata },
    spec: { policyName: POLICY },
  });
  const { name: namespace } = (await cluster.createNamespace(uniqueName(), { [LABEL]: 'silent' })).metadata;
  const body: Manifest = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'probe', namespace } },
    spec: { containers: [{ name: 'probe', image: 'probe' }] },
  };
  const request = { method: 'POST', path: resourcePath(PODS, { namespace }), body } as const;
  await eventually(async () => {
    const probe = await cluster.client.request<Pod>({ ...request, query: { dryRun: 'All' } });
    return probe.spec.nodeName === SILENT;
  }, WITHIN_MS);
}

/** A build in its own namespace. */
class TroubledBuild extends LiveBuild {
  static async begin(change?: keyof typeof CHANGES | 'gated'): Promise<TroubledBuild> {
    await (operator ??= changePods().then(operate));
    const labels = change === undefined ? {} : { [LABEL]: change };
    const { name: namespace } = (await cluster.createNamespace(uniqueName(), labels)).metadata;
    const { manifest } = aBuild(namespace).lasting();
    const build = new TroubledBuild(cluster, manifest, WITHIN_MS);
    await cluster.create(BUILDS, manifest);
    return build;
  }

  /** Of a Job. */
  async pods(job = SAMPLE.jobName): Promise<readonly Pod[]> {
    const path = resourcePath(PODS, { namespace: this.namespace });
    const query = { labelSelector: `job-name=${job}` };
    return (await cluster.client.request<{ items: Pod[] }>({ method: 'GET', path, query })).items;
  }

  /** The only one in this phase. */
  pod(phase: string, job = SAMPLE.jobName): Promise<Pod> {
    return eventually(
      async () => (await this.pods(job)).find(({ status }) => status.phase === phase),
      WITHIN_MS,
    );
  }

  async setStatus({ metadata: { name } }: Pod, phase: string, containers: object, more = {}): Promise<void> {
    const containerStatuses = Object.entries(containers).map(([its, state]: [string, unknown]) => ({
      ...{ name: its, image: its, imageID: '', ready: false, restartCount: 0, state },
    }));
    const status = { phase, containerStatuses, ...more };
    await cluster.patch({ type: PODS, namespace: this.namespace, name }, { status }, 'status');
  }

  async deletePod({ metadata: { name, namespace } }: Pod, gracePeriodSeconds: number): Promise<void> {
    const path = resourcePath(PODS, { namespace, name });
    await cluster.client.request({ method: 'DELETE', path, query: { gracePeriodSeconds } });
  }

  patchJob(patch: object): Promise<unknown> {
    return cluster.patch({ type: JOBS, namespace: this.namespace, name: SAMPLE.jobName }, patch);
  }

  /** The Job controller deletes its Pods, and then the Job fails. */
  async exceedDeadline(): Promise<void> {
    await this.patchJob({ spec: { activeDeadlineSeconds: 1 } });
  }

  /** Its status says so. */
  async says(message: string | RegExp, reason: string) {
    return this.reaches(
      (its) =>
        conditionOf(its, 'Ready') === `False ${reason}` && its.status?.message?.match(message) !== null,
    );
  }

  /** Its status lists the nodes, or comes to do so. */
  on(...nodes: readonly string[]) {
    return this.reaches(({ status }) => String(status?.artifacts?.map(({ node }) => node)) === nodes.join());
  }
}

async function why(...of: readonly string[]): Promise<string> {
  return (await ask(['why', ...of, '--task-queue', taskQueue])).stdout;
}

const runs = { running: { startedAt: new Date().toISOString() } };
const ended = (exitCode: number, message = '') => ({
  terminated: { exitCode, message, reason: 'Error', finishedAt: new Date().toISOString() },
});

describe('a container that was added to the Pods', () => {
  it.concurrent('runs on: the build says so, its binary is known, and is removed', async () => {
    const build = await TroubledBuild.begin('sidecar');
    const pod = await build.pod('Running');
    await build.setStatus(pod, 'Running', { build: ended(0), proxy: runs });
    const told = await build.says(
      new RegExp(
        `^the build has ended, but in its Pod ${pod.metadata.name} still runs proxy, .*; keep proxy out`,
      ),
      'ContainerRunning',
    );
    await build.exceedDeadline();
    const failed = await build.is('Failed');
    const artifacts = [{ node: pod.spec.nodeName, binary: build.binary }];
    expect([told.status?.artifacts, failed.status?.artifacts]).toEqual([artifacts, artifacts]);
    await build.delete();
    const cleanup = await build.pod('Running', CLEANUP);
    expect(cleanup.spec.nodeName).toBe(pod.spec.nodeName);
    await build.setStatus(cleanup, 'Running', { cleanup: ended(0), proxy: runs });
    await build.gone();
    expect((await build.pods(CLEANUP)).map(({ status }) => status.phase)).toEqual(['Running']);
  });

  it.concurrent('has ended well before the build failed: the message is about the build', async () => {
    const build = await TroubledBuild.begin('sidecar');
    const pod = await build.pod('Running');
    await build.patchJob({ spec: { backoffLimit: 0 } });
    await build.setStatus(pod, 'Failed', { proxy: ended(0), build: ended(2, 'no rule to make target') });
    const failed = await build.is('Failed');
    expect(failed.status?.message).toBe('Job build-helloworld failed: exit code 2: no rule to make target');
    expect(await why('xxx/sample', '-n', build.namespace)).toContain(
      `kubectl logs -n ${build.namespace} job/build-helloworld -c build`,
    );
  });
});

describe('a node on which a build may have run', () => {
  it.concurrent.each<[how: string, take: (build: TroubledBuild, pod: Pod) => Promise<void>]>([
    ['is deleted', (build, pod) => build.deletePod(pod, 30)],
    ['is deleted by force', (build, pod) => build.deletePod(pod, 0)],
    ['is taken by the deadline', (build) => build.exceedDeadline()],
  ])('is known where its Pod %s before it could say that it runs', async (_, take) => {
    const build = await TroubledBuild.begin('silent');
    await build.is('Building');
    const pod = await build.pod('Pending');
    expect((await build.get())?.status?.artifacts).toEqual([]);
    await take(build, pod);
    await build.on(SILENT);
  });

  it.concurrent('is cleaned after the deadline took a Pod that could not say that it runs', async () => {
    const build = await TroubledBuild.begin('silent');
    await build.is('Building');
    const pod = await build.pod('Pending');
    await build.exceedDeadline();
    await build.on(SILENT);
    await build.deletePod(pod, 0);
    const failed = await build.is('Failed');
    expect(failed.status?.message).toBe('Job build-helloworld failed: it exceeded its deadline');
    await build.delete();
    const cleanup = await build.pod('Pending', CLEANUP);
    await build.setStatus(cleanup, 'Succeeded', { cleanup: ended(0) });
    await build.gone();
  });

  it.concurrent('and is shut down: its Pod is no failure, and the build goes on elsewhere', async () => {
    const build = await TroubledBuild.begin();
    const pod = await build.pod('Running');
    const since = new Date().toISOString();
    const conditions = [
      { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', lastTransitionTime: since },
    ];
    await build.setStatus(pod, 'Failed', { build: ended(137) }, { conditions });
    const second = await build.pod('Running');
    expect(await build.job()).toMatchObject({ status: expect.not.objectContaining({ failed: 1 }) });
    await build.setStatus(second, 'Succeeded', { build: ended(0) });
    await build.is('Succeeded');
    await build.on(...new Set([pod.spec.nodeName ?? '', second.spec.nodeName ?? ''].sort()));
  });
});

describe('a build that cannot begin', () => {
  it.concurrent('says that its Job is suspended, and by whom', async () => {
    const build = await TroubledBuild.begin();
    await build.is('Building');
    await build.patchJob({ spec: { suspend: true } });
    await build.says(/^Job \S+ is suspended by \S+, so it has no Pods/, 'Suspended');
    expect(await why('-n', build.namespace)).toMatch(/is suspended by/);
    await build.patchJob({ metadata: { labels: { 'kueue.x-k8s.io/queue-name': 'team' } } });
    await build.says(/ is suspended by Kueue/, 'Suspended');
    expect(await why('xxx/sample', '-n', build.namespace)).toContain('kubectl get workloads');
    await build.patchJob({ spec: { suspend: false } });
    await build.says(/^$/, 'Building');
  });

  it.concurrent('says which scheduling gate its Pod waits for', async () => {
    const build = await TroubledBuild.begin('gated');
    await build.says(/example\.com\/quota/, 'SchedulingGated');
  });

  it.concurrent('does not run on a Windows node', async () => {
    const build = await TroubledBuild.begin('windows');
    await build.says(/^its Pod cannot be scheduled/, 'Unschedulable');
    expect((await build.pods()).map(({ spec }) => spec.nodeName)).toEqual([undefined]);
  });

  it.concurrent('names the image that cannot be pulled, and needs no cleanup Job', async () => {
    const build = await TroubledBuild.begin('unpullable');
    await build.reaches(({ status }) => status?.phase === 'Building' && status.message === UNPULLABLE);
    await build.delete();
    await build.gone();
    expect(await build.job(CLEANUP)).toBeUndefined();
    expect(await build.job()).toBeUndefined();
  });

  it.concurrent('fails at its deadline, and names the image', async () => {
    const build = await TroubledBuild.begin('unpullable');
    await build.reaches(({ status }) => status?.message === UNPULLABLE);
    await build.exceedDeadline();
    const failed = await build.is('Failed');
    expect(failed.status?.message).toBe(
      `Job build-helloworld failed: it exceeded its deadline; before that: ${UNPULLABLE}`,
    );
  });
});

// The last one, since it kills the operator of all.
it('a build whose Pod went while no operator ran says that nobody saw whether it ran', async () => {
  const build = await TroubledBuild.begin('silent');
  await build.is('Building');
  const pod = await build.pod('Pending');
  await (await operator)?.end('SIGKILL');
  await build.exceedDeadline();
  await eventually(async () => (await build.pods())[0]?.metadata.deletionTimestamp, WITHIN_MS);
  await build.deletePod(pod, 0);
  await eventually(async () => (await build.pods()).length === 0, WITHIN_MS);
  operator = operate();
  const failed = await build.is('Failed');
  expect(failed.status?.message).toMatch(/nobody saw whether they ran: a binary may be left/);
});
