import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { PODS, refOf, uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { conditionOf, LivePodSet } from '../support/live-pod-set.ts';
import { aPod } from '../support/pods.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { OPERATOR } from '../support/service-accounts.ts';
import { userNameOf } from '../../testing/stack/service-account.ts';
import { setUpOperator } from '../support/stage.ts';
import { writesIn } from '../support/writes.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

const GROUP = { group: 'admissionregistration.k8s.io', version: 'v1' };
const POLICIES = { ...GROUP, plural: 'mutatingadmissionpolicies' };
const BINDINGS = { ...GROUP, plural: 'mutatingadmissionpolicybindings' };

const { stack, cluster, temporal } = setUpOperator({ args: ['--controllers', 'pod-label,pod-set'] });
let namespace: string;
let policy: string;

beforeEach(async () => {
  namespace = await cluster.aNamespace();
  policy = uniqueName();
});

afterEach(removePolicy);

async function removePolicy(): Promise<void> {
  await cluster.delete({ type: BINDINGS, name: policy });
  await cluster.delete({ type: POLICIES, name: policy });
}

/** A policy that changes Pods of the namespace. Resolves once the API server applies it. @param label that it sets or takes away */
async function changePods(
  label: string,
  mutation: object,
  isChanged: (value: unknown) => boolean,
): Promise<void> {
  const resources = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['pods'] },
  ];
  const apiVersion = `${GROUP.group}/${GROUP.version}`;
  await cluster.create(POLICIES, {
    apiVersion,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: policy },
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: resources,
      },
      mutations: [mutation],
      reinvocationPolicy: 'Never',
      failurePolicy: 'Fail',
    },
  });
  await cluster.create(BINDINGS, {
    apiVersion,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: policy },
    spec: { policyName: policy },
  });
  await eventually(async () => {
    const body = aPod()
      .in(namespace)
      .named('probe')
      .labelled({ [label]: 'probe' }).manifest;
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const probe = await cluster.client.request<{ metadata: { labels?: Record<string, string> } }>({
      ...{ method: 'POST', path, body },
      query: { dryRun: 'All' },
    });
    expect(isChanged(probe.metadata.labels?.[label])).toBe(true);
    return true;
  }, WITHIN_MS);
}

/** The operator's writes to Pods of the namespace that the API server accepted. */
function podWrites(verb: string, { tried }: { readonly tried: boolean }): number {
  return writesIn(namespace, stack.auditLog).filter(
    (write) =>
      write.user === userNameOf(OPERATOR) &&
      write.verb === verb &&
      write.resource === 'pods' &&
      write.isDryRun === tried,
  ).length;
}

/** Its backoff has begun: it has tried so often in vain. */
function untilTried(verb: string, times: number): Promise<true> {
  return eventually(() => {
    expect(podWrites(verb, { tried: true })).toBeGreaterThanOrEqual(times);
    return Promise.resolve(true as const);
  }, WITHIN_MS);
}

describe('a policy that changes a label of new Pods', () => {
  const VERSION = {
    patchType: 'ApplyConfiguration',
    applyConfiguration: {
      expression: 'Object{metadata: Object.metadata{labels: {"version": "other"}}}',
    },
  };

  it('costs at most two Pods, is named in a condition, and no longer matters once it is gone', async () => {
    await changePods('version', VERSION, (value) => value === 'other');
    const web = new LivePodSet(cluster, namespace);
    await cluster.create(PodSetKind, aPodSet().in(namespace).wanting(3).manifest);
    await eventually(async () => {
      const stalled = conditionOf(await web.get(), 'Stalled');
      expect(stalled).toMatchObject({ status: 'True', reason: 'Overridden' });
      expect(stalled?.message).toContain('metadata.labels.version from "v0.1" to "other"');
      return true;
    }, WITHIN_MS);
    await untilTried('create', 3);
    const inVain = podWrites('create', { tried: false });
    expect(inVain).toBeLessThanOrEqual(2);
    await removePolicy();
    await web.isReady(3);
    expect(podWrites('create', { tried: false })).toBe(inVain + 3);
  });
});

describe('a policy that takes the label off a Pod', () => {
  const STRIPPING = {
    patchType: 'JSONPatch',
    jsonPatch: {
      expression: `has(object.metadata.labels) && ${JSON.stringify(POD_NAME_LABEL)} in object.metadata.labels
        ? [JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey(${JSON.stringify(POD_NAME_LABEL)})}]
        : []`,
    },
  };

  it('costs few writes, is an Event, and no longer matters once it is gone', async () => {
    await changePods(POD_NAME_LABEL, STRIPPING, (value) => value === undefined);
    const pod = await cluster.create(PODS, aPod().annotated().in(namespace).named('web').manifest);
    await untilTried('patch', 3);
    expect(podWrites('patch', { tried: false })).toBeLessThanOrEqual(2);
    await eventually(async () => {
      const reasons = (await cluster.eventsIn(namespace)).map(({ reason }) => reason);
      expect(reasons).toContain('Overridden');
      return true;
    }, WITHIN_MS);
    await removePolicy();
    await eventually(async () => {
      const labels = (await cluster.get({ type: PODS, namespace, name: 'web' }))?.metadata.labels;
      expect(labels).toEqual({ [POD_NAME_LABEL]: 'web' });
      return true;
    }, WITHIN_MS);
    await temporal.untilCompleted(refOf('pod-label', pod), WITHIN_MS);
  });
});
