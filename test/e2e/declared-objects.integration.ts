import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CONFIG_MAPS, DEPLOYMENTS, SERVICES } from '../../src/api/built-in.ts';
import { fieldsOf, listOf, type Fields } from '../../src/api/fields.ts';
import { JOBS, PODS, RESOURCE_QUOTAS } from '../../src/api/kinds.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { eventually } from '../../testing/eventually.ts';
import { Bundle } from '../support/bundle-operator.ts';
import { uniqueName } from '../support/cluster.ts';
import { conditionIn, setUpProgram } from '../support/programs.ts';

jest.setTimeout(300_000);

/** Declared objects that are refused, or do not get ready. */
const WITHIN_MS = 60_000;
const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1' };
const POLICIES = { ...ADMISSION, plural: 'validatingadmissionpolicies' };
const POLICY_BINDINGS = { ...ADMISSION, plural: 'validatingadmissionpolicybindings' };

const { cluster, start, ...program } = setUpProgram({ file: 'bundle-operator.ts', kinds: [Bundle] });
let namespace: string;

beforeAll(async () => {
  await start();
});

beforeEach(async () => {
  namespace = await cluster.aNamespace();
});

async function create(...objects: readonly object[]): Promise<void> {
  await cluster.create(Bundle, {
    ...{ apiVersion: 'example.com/v1', kind: 'Bundle', metadata: { name: 'all', namespace } },
    spec: { objects: JSON.stringify(objects) },
  });
}

async function begin(...objects: readonly object[]): Promise<void> {
  await create(...objects);
  await eventually(isReady, WITHIN_MS);
}

async function declare(...objects: readonly object[]): Promise<void> {
  await cluster.patch(
    { type: Bundle, namespace, name: 'all' },
    { spec: { objects: JSON.stringify(objects) } },
  );
}

async function ready(): Promise<Fields> {
  const object = await cluster.get({ type: Bundle, namespace, name: 'all' });
  const { observedGeneration } = fieldsOf(object?.['status']);
  return observedGeneration === object?.metadata.generation ? conditionIn(object, 'Ready') : {};
}

async function isReady(): Promise<boolean> {
  return (await ready())['status'] === 'True';
}

async function isThere(type: typeof SERVICES, name: string): Promise<boolean> {
  return (await cluster.get({ type, namespace, name })) !== undefined;
}

async function warnings(): Promise<readonly string[]> {
  return (await cluster.eventsIn(namespace))
    .filter(({ type, regarding }) => type === 'Warning' && regarding.name === 'all')
    .map(({ reason, note }) => `${reason}: ${note}`);
}

const ask = (...args: readonly string[]) => program.ask(...args, '-n', namespace);

function service(name: string, nodePort?: number): object {
  const ports = [{ port: 80, ...(nodePort !== undefined && { nodePort }) }];
  const type = nodePort === undefined ? 'ClusterIP' : 'NodePort';
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { type, ports } };
}

function config(name: string, text: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } };
}

describe('a declared object that the server refuses', () => {
  it('replaces the one that it is renamed from, which holds the quota', async () => {
    await begin(service('one'));
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'one-service', namespace } };
    await cluster.create(RESOURCE_QUOTAS, { ...quota, spec: { hard: { services: '1' } } });
    const isUsed = async () => {
      const object = await cluster.get({ type: RESOURCE_QUOTAS, namespace, name: 'one-service' });
      return fieldsOf(fieldsOf(object?.['status'])['used'])['services'] === '1';
    };
    await eventually(isUsed, WITHIN_MS);
    await declare(service('two'), config('other', 'a'));
    await eventually(isReady, WITHIN_MS);
    expect(await isThere(SERVICES, 'one')).toBe(false);
    expect(await isThere(SERVICES, 'two')).toBe(true);
    expect(await isThere(CONFIG_MAPS, 'other')).toBe(true);
  });

  it('replaces the one that it is renamed from, which holds the node port', async () => {
    await begin(service('one'));
    await declare(service('one', 30_111));
    await eventually(isReady, WITHIN_MS);
    await declare(service('two', 30_111));
    await eventually(isReady, WITHIN_MS);
    expect(await isThere(SERVICES, 'one')).toBe(false);
    expect(await isThere(SERVICES, 'two')).toBe(true);
  });

  it('of a policy is told, while the others are repaired, and what it is to replace stays', async () => {
    await begin(service('one'), config('other', 'a'));
    await refuseServices();
    await declare(service('two'), config('other', 'b'));
    const isTold = async () => {
      const { status, reason, message } = await ready();
      return status === 'False' && reason === 'Refused' && String(message).includes('not today');
    };
    await eventually(isTold, WITHIN_MS);
    const textIn = async () =>
      fieldsOf((await cluster.get({ type: CONFIG_MAPS, namespace, name: 'other' }))?.['data'])['text'];
    await eventually(async () => (await textIn()) === 'b', WITHIN_MS);
    await cluster.patch({ type: CONFIG_MAPS, namespace, name: 'other' }, { data: { text: 'c' } });
    await eventually(async () => (await textIn()) === 'b', WITHIN_MS);
    await eventually(async () => (await warnings()).some((each) => each.includes('not today')), WITHIN_MS);
    const why = await ask('why', 'bundle/all');
    expect(why).toContain('not today');
    expect(why).toContain('createService');
    expect(await isThere(SERVICES, 'one')).toBe(true);
    await allowServices();
    await eventually(isReady, 2 * WITHIN_MS);
    expect(await isThere(SERVICES, 'one')).toBe(false);
    expect(await isThere(SERVICES, 'two')).toBe(true);
  });

  it('of PodSecurity does not hold up the others', async () => {
    await cluster.patch(
      { type: { group: '', version: 'v1', plural: 'namespaces' }, name: namespace },
      { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
    );
    const pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bare' } },
      spec: { containers: [{ name: 'web', image: 'nginx' }] },
    };
    await untilRefused(PODS, pod);
    await create(pod, config('other', 'a'));
    await eventually(async () => {
      expect(await ready()).toMatchObject({ reason: 'PodSecurity' });
      return true;
    }, WITHIN_MS);
    await eventually(() => isThere(CONFIG_MAPS, 'other'), WITHIN_MS);
    expect(await cluster.get({ type: PODS, namespace, name: 'bare' })).toBeUndefined();
  });
});

describe('a declared object that does not get ready', () => {
  it('is told with the Pod that hangs', async () => {
    const labels = { app: 'db' };
    const containers = [{ name: 'db', image: 'postgres' }];
    await create({
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' } },
      spec: {
        serviceName: 'db',
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { nodeSelector: { disk: 'none' }, containers } },
      },
    });
    const words = 'Pod db-0 cannot be scheduled';
    await eventually(async () => String((await ready())['message']).includes(words), 2 * WITHIN_MS);
    expect((await ready())['reason']).toBe('StatefulSetNotReady');
    expect(await ask('why', 'bundle/all')).toMatch(
      /Pod db-0 cannot be scheduled[^]*kubectl describe pod db-0/,
    );
  });
});

describe('a field that is no longer declared', () => {
  const deployment = (replicas?: number) => {
    const labels = { app: 'web' };
    return {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace } },
      spec: {
        ...(replicas !== undefined && { replicas }),
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'nginx' }] } },
      },
    };
  };
  const at = () => ({ type: DEPLOYMENTS, namespace, name: 'web' });
  const pause = (paused: string | null) =>
    cluster.patch(
      { type: Bundle, namespace, name: 'all' },
      { metadata: { annotations: { 'durable-operator.dev/paused': paused } } },
    );

  it('is removed, as plan shows, unless it is handed over first', async () => {
    await create(deployment(5));
    await eventually(async () => (await cluster.get(at())) !== undefined, WITHIN_MS);
    await pause('true');
    await declare(deployment());
    expect(await ask('plan', 'bundle/all')).toMatch(/- {2}replicas: 5\n.*\+ {2}replicas: 1\n/);
    await cluster.client.request({
      ...{ method: 'PATCH', path: resourcePath(DEPLOYMENTS, at()), query: { fieldManager: 'hand-over' } },
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 5 } },
    });
    expect(await ask('plan', 'bundle/all')).not.toContain('  replicas: 1');
    await pause(null);
    const isApplied = async () => {
      const entries = listOf(fieldsOf((await cluster.get(at()))?.metadata)['managedFields']);
      const owners = entries.filter(
        ({ fieldsV1 }) => fieldsOf(fieldsOf(fieldsV1)['f:spec'])['f:replicas'] !== undefined,
      );
      return owners.length === 1 && owners[0]?.['manager'] === 'hand-over';
    };
    await eventually(isApplied, WITHIN_MS);
    expect(await cluster.get(at())).toMatchObject({ spec: { replicas: 5 } });
  });
});

describe('a Job that is made once', () => {
  it('is not made again when its TTL deletes it', async () => {
    const job = {
      ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'migrate' } },
      spec: {
        // Long enough that a slow machine sees the end of the Job.
        ttlSecondsAfterFinished: 8,
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'migrate', image: 'busybox' }] } },
      },
    };
    await begin(job);
    await eventually(async () => !(await isThere(JOBS, 'migrate')), WITHIN_MS);
    await declare(job, config('other', 'a'));
    await eventually(() => isThere(CONFIG_MAPS, 'other'), WITHIN_MS);
    await eventually(isReady, WITHIN_MS);
    expect(await isThere(JOBS, 'migrate')).toBe(false);
    const history = await ask('history', 'bundle/all');
    expect(history.match(/ createJob /g)).toHaveLength(1);
    expect(history).not.toContain('to be deleted');
  });
});

const policy = uniqueName();

/** Resolves once the API server applies it. */
async function refuseServices(): Promise<void> {
  const apiVersion = `${ADMISSION.group}/${ADMISSION.version}`;
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['services'] },
  ];
  await cluster.create(POLICIES, {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name: policy } },
    spec: {
      matchConstraints: { resourceRules },
      validations: [{ expression: 'false', message: 'not today' }],
    },
  });
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  await cluster.create(POLICY_BINDINGS, {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: policy } },
    spec: { policyName: policy, validationActions: ['Deny'], matchResources: { namespaceSelector } },
  });
  await untilRefused(SERVICES, service('probe'));
}

async function untilRefused(type: typeof SERVICES, body: object): Promise<void> {
  const create = {
    method: 'POST',
    path: resourcePath(type, { namespace }),
    query: { dryRun: 'All' },
  } as const;
  const isRefused = () =>
    cluster.client.request({ ...create, body }).then(
      () => false,
      () => true,
    );
  await eventually(isRefused, WITHIN_MS);
}

async function allowServices(): Promise<void> {
  await cluster.delete({ type: POLICY_BINDINGS, name: policy });
  await cluster.delete({ type: POLICIES, name: policy });
}
