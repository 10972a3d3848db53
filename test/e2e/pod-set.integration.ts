import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { NODES } from '../../src/api/kinds.ts';
import { desiredPod, labelsFor, type Pod } from '../../src/controllers/pod-set/pod.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { outputOf } from '../../local/program-output.ts';
import { aNodeWithoutKubelet } from '../support/builds.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { kstatusOf } from '../support/kstatus.ts';
import { conditionOf, LivePodSet } from '../support/live-pod-set.ts';
import { apiCallsOf } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { setUpOperator } from '../support/stage.ts';
import { operatorWritesIn } from '../support/writes.ts';

jest.setTimeout(180_000);
/** Nothing of ours waits longer once nothing is in its way any more. */
const WITHIN_MS = 60_000;

const WEBHOOKS: PathType = {
  ...{ group: 'admissionregistration.k8s.io', version: 'v1', plural: 'validatingwebhookconfigurations' },
};
const LIMIT_RANGES: PathType = { group: '', version: 'v1', plural: 'limitranges' };

const { stack, cluster, temporal } = setUpOperator({ args: ['--controllers', 'pod-set'] });
let namespace: string;
/** In that namespace, once a test has created it. */
let web: LivePodSet;

beforeEach(async () => {
  namespace = await cluster.aNamespace();
  web = new LivePodSet(cluster, namespace);
});

const podAt = (name: string) => ({ type: PODS, namespace, name });

function create(replicas: number): Promise<PodSet> {
  return cluster.create<PodSet>(PodSetKind, aPodSet().in(namespace).wanting(replicas).manifest);
}

const podsIn = () => cluster.list<Pod>(PODS, { namespace });

const namesOf = (pods: readonly KubernetesObject[]) => pods.map(({ metadata }) => metadata.name).sort();

function eventuallyOver(podSet: PodSet): Promise<void> {
  return temporal.untilCompleted(refOf('pod-set', podSet), WITHIN_MS);
}

function callsHere(...verbs: readonly string[]) {
  return apiCallsOf('operator', stack.auditLog).filter(
    ({ verb, objectRef }) =>
      objectRef?.namespace === namespace && (verbs.length === 0 || verbs.includes(verb)),
  );
}

/** Accepted by the server: `create`, `delete` of Pods. */
function podWrites(): readonly string[] {
  const verbs = operatorWritesIn(namespace, stack.auditLog, 'pods').map(({ verb }) => verb);
  return verbs.filter((verb) => verb !== 'patch');
}

const times = (count: number, verb: string) => Array.from({ length: count }, () => verb);

describe('a PodSet', () => {
  it('scales by its scale subresource, and deletes first what costs least', async () => {
    await create(3);
    await web.isReady(3);
    const [keep = '', ...others] = await web.podNames();
    await cluster.patch(podAt(keep), {
      metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '10' } },
    });
    const path = resourcePath(PodSetKind, { namespace, name: 'web', subresource: 'scale' });
    await cluster.client.request({ method: 'PATCH', path, body: { spec: { replicas: 1 } } });
    const podSet = await web.isReady(1);
    expect(podSet.status?.podNames).toEqual([keep]);
    const scale = await cluster.client.request({ method: 'GET', path });
    expect(scale).toMatchObject({ status: { replicas: 1, selector: 'app=web,version=v0.1' } });
    await eventuallyOver(podSet);
    const deleted = callsHere('delete')
      .map(({ objectRef }) => objectRef?.name)
      .sort();
    expect(deleted).toEqual(others);
  });

  it('is Ready for kubectl and current for kstatus at the same time', async () => {
    const fresh = await create(2);
    await kubectlWait('condition=Ready');
    const ready = await web.get();
    expect(await kstatusesOf(fresh, ready)).toEqual(['InProgress', 'Current']);
  });

  it('has a status that says why Pods are refused, and gets them once the quota allows', async () => {
    const quota = await limitPods(cluster, namespace, 2);
    const podSet = await create(20);
    await eventually(async () => {
      const seen = await web.get();
      const stalled = conditionOf(seen, 'Stalled');
      expect(stalled).toMatchObject({ status: 'True', reason: 'QuotaExceeded' });
      expect(stalled?.message).toContain('exceeded quota');
      expect(conditionOf(seen, 'Ready')?.message).toBe(stalled?.message);
      expect(seen?.status?.readyReplicas).toBe(2);
      return true;
    }, WITHIN_MS);
    const { pendingActivities } = await eventually(async () => {
      const open = await temporal.openRunOf(refOf('pod-set', podSet));
      return open.pendingActivities[0]?.lastFailure === 'Refused' && open;
    }, WITHIN_MS);
    expect(pendingActivities[0]?.message).toContain('exceeded quota');
    const creates = callsHere('create').filter(({ objectRef }) => objectRef?.resource === 'pods');
    // One and two of the first batches, and then one call an attempt.
    expect(creates.length).toBeLessThanOrEqual(6);
    await cluster.patch(quota, { spec: { hard: { pods: '20' } } });
    const ready = await web.isReady(20);
    expect(conditionOf(ready, 'Stalled')?.status).toBe('False');
    expect(podWrites()).toEqual(times(20, 'create'));
    const events = await eventually(async () => {
      const all = await cluster.eventsIn(namespace);
      return all.some(({ reason }) => reason === 'Created') && all;
    }, WITHIN_MS);
    const ours = events.filter(({ regarding }) => regarding.kind === 'PodSet');
    // The server may refuse once more, in other words, until it has noticed that there is room.
    const kinds = new Set(ours.map(({ type, reason }) => `${type} ${reason}`));
    expect([...kinds].sort()).toEqual(['Normal Created', 'Warning QuotaExceeded']);
  });

  it('that is deleted without its Pods leaves them, and one of the same name adopts them', async () => {
    const first = await create(2);
    const { status: before } = await web.isReady(2);
    const path = resourcePath(PodSetKind, { namespace, name: 'web' });
    await cluster.client.request({ method: 'DELETE', path, query: { propagationPolicy: 'Orphan' } });
    await eventually(async () => (await web.get()) === undefined, WITHIN_MS);
    await eventuallyOver(first);
    await create(2);
    const { status: after } = await web.isReady(2);
    expect(after?.podNames).toEqual(before?.podNames);
    expect(podWrites()).toEqual(times(2, 'create'));
  });

  it('says of a Pod whose node is not ready which node it is, and since when, and reads the node once', async () => {
    const node = await aNodeWithoutKubelet(cluster, `silent-${namespace}`);
    const { spec } = desiredPod({ namespace, name: 'web', uid: '' }, 'web-silent');
    const metadata = { namespace, name: 'web-silent', labels: labelsFor('web') };
    await cluster.create(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { ...spec, nodeName: node },
    });
    const podSet = await create(1);
    const ready = await eventually(async () => {
      const condition = conditionOf(await web.get(), 'Ready');
      return condition?.reason === 'NodeNotReady' && condition;
    }, 2 * WITHIN_MS);
    expect(ready.message).toMatch(
      RegExp(`^Pod web-silent is on node ${node}, which is not ready since \\d{4}-\\d\\d-\\d\\dT`),
    );
    await eventuallyOver(podSet);
    await cluster.patch(podAt('web-silent'), { metadata: { annotations: { 'test/touched': 'yes' } } });
    const { metadata: scaled } = await web.scaleTo(2);
    await eventually(async () => {
      const { status } = (await web.get()) ?? {};
      return status?.observedGeneration === scaled.generation && status?.podNames?.length === 2 && status;
    }, WITHIN_MS);
    await eventuallyOver(podSet);
    expect(conditionOf(await web.get(), 'Ready')?.message).toBe(ready.message);
    const reads = apiCallsOf('operator', stack.auditLog).filter(({ objectRef }) => objectRef?.name === node);
    expect(reads.map(({ verb }) => verb)).toEqual(['get']);
    await cluster.delete({ type: NODES, name: node });
  });

  it('whose Pods fail has the first replaced at once, and the next after a durable timer', async () => {
    const podSet = await create(1);
    await web.isReady(1);
    const first = await failTheOnlyPod();
    await eventuallyReplaced(first);
    const second = await failTheOnlyPod();
    await eventually(async () => {
      expect(conditionOf(await web.get(), 'Ready')).toMatchObject({ status: 'False', reason: 'PodsFailed' });
      const events = await temporal.historyOf(refOf('pod-set', podSet));
      return events.some(({ timerStartedEventAttributes: timer }) => timer !== null && timer !== undefined);
    }, WITHIN_MS);
    await eventuallyReplaced(second);
    expect(podWrites()).toEqual(times(3, 'create'));
    expect(namesOf(await podsIn())).toEqual(expect.arrayContaining([first, second]));
  });

  it('has all of its Pods replaced at once that were evicted after a minute', async () => {
    await create(5);
    await web.isReady(5);
    const evicted = await web.podNames();
    const at = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1_000).toISOString();
    const terminated = { exitCode: 137, startedAt: at(120), finishedAt: at(1) };
    const containerStatuses = [
      {
        ...{ name: 'busybox', image: 'busybox', imageID: '', ready: false, restartCount: 0 },
        state: { terminated },
      },
    ];
    const status = {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'the node is low on memory',
      containerStatuses,
    };
    for (const name of evicted) await cluster.patch(podAt(name), { status }, 'status');
    await eventually(async () => {
      const names = (await web.get())?.status?.podNames ?? [];
      return names.length === 5 && !names.some((name) => evicted.includes(name));
    }, WITHIN_MS);
    await eventuallySaid(/^created (Pod|\d Pods) .*, as spec\.replicas is 5$/);
  });

  it('says which webhook does not answer, and gets its Pods once nobody asks that any more', async () => {
    const webhook = { type: WEBHOOKS, name: `${namespace}.example.com` };
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }];
    await cluster.create(WEBHOOKS, {
      ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' },
      metadata: { name: webhook.name },
      webhooks: [
        {
          ...{
            name: webhook.name,
            rules,
            clientConfig: { url: 'https://127.0.0.1:1/' },
            sideEffects: 'None',
          },
          ...{ admissionReviewVersions: ['v1'], failurePolicy: 'Fail', timeoutSeconds: 1 },
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        },
      ],
    });
    await untilRefused(webhook.name);
    await create(1);
    const refused = await eventually(async () => {
      const live = await web.get();
      return conditionOf(live, 'Stalled')?.reason === 'WebhookUnavailable' && live;
    }, WITHIN_MS);
    expect(conditionOf(refused, 'Ready')?.message).toContain(`failed calling webhook "${webhook.name}"`);
    expect(conditionOf(refused, 'Ready')?.message).toContain(`have the webhook ${webhook.name} answer again`);
    await eventuallyWarned('WebhookUnavailable');
    await cluster.delete(webhook);
    await web.isReady(1);
  });

  it('of which no Pod finds a node is NotReady without an open run, and Ready once Pods find one', async () => {
    const range = { type: LIMIT_RANGES, namespace, name: 'large' };
    // More than any of the simulated nodes has.
    const limits = [{ type: 'Container', defaultRequest: { cpu: '2k' }, default: { cpu: '2k' } }];
    const metadata = { name: range.name, namespace };
    await cluster.create(LIMIT_RANGES, { apiVersion: 'v1', kind: 'LimitRange', metadata, spec: { limits } });
    const podSet = await create(3);
    const seen = await eventually(async () => {
      const live = await web.get();
      return conditionOf(live, 'Ready')?.message.includes(' and at least 2 others ') && live;
    }, WITHIN_MS);
    expect(conditionsOf(seen)).toEqual([
      'Ready False Unschedulable',
      'Stalled False NotStalled',
      'Reconciling False NotReady',
    ]);
    expect(conditionOf(seen, 'Ready')?.message).toMatch(
      /^Pod web-pod-\S+ and at least 2 others cannot be scheduled: no node is suitable: Insufficient cpu; /,
    );
    await eventuallyOver(podSet);
    await eventuallyWarned('Unschedulable');
    expect(await kstatusesOf(seen)).toEqual(['InProgress']);
    await cluster.delete(range);
    for (const name of await web.podNames()) await cluster.delete(podAt(name));
    await web.isReady(3);
  });

  it('is NotReady once a Pod has been unready for a minute, though nothing happens then', async () => {
    const podSet = await create(1);
    await web.isReady(1);
    const [name = ''] = await web.podNames();
    const lastTransitionTime = new Date(Date.now() - 40_000).toISOString();
    const conditions = [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady', lastTransitionTime }];
    await cluster.patch(podAt(name), { status: { conditions } }, 'status');
    await eventually(async () => {
      expect(conditionsOf(await web.get())).toEqual([
        'Ready False PodsStarting',
        'Stalled False NotStalled',
        'Reconciling True PodsStarting',
      ]);
      return true;
    }, WITHIN_MS);
    await eventuallyOver(podSet);
    await eventuallyWarned('PodsNotReady');
    const seen = await web.get();
    expect(conditionsOf(seen)[2]).toBe('Reconciling False NotReady');
    expect(conditionOf(seen, 'Ready')?.message).toBe(`Pod ${name} stayed unready for 60 seconds`);
    await eventuallyOver(podSet);
  });

  it('scales up to 300 and down to 1 in few calls', async () => {
    await create(300);
    await web.isReady(300);
    await web.scaleTo(1);
    const podSet = await web.isReady(1);
    await eventuallyOver(podSet);
    expect([...podWrites()].sort()).toEqual([...times(300, 'create'), ...times(299, 'delete')]);
    const byKind = new Map<string, number>();
    for (const { verb, objectRef } of callsHere()) {
      const kind = `${verb} ${objectRef?.resource ?? ''}`;
      byKind.set(kind, (byKind.get(kind) ?? 0) + 1);
    }
    // 599 are creates and deletes.
    const [all, kinds] = [callsHere().length, [...byKind]];
    expect({ all, kinds }).toEqual({ all: Math.min(all, 650), kinds });
  });
});

function conditionsOf(podSet: PodSet | undefined): readonly string[] {
  const conditions = podSet?.status?.conditions ?? [];
  return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

/** By an Event about the PodSet, in the words of its condition. */
async function eventuallyWarned(reason: string): Promise<void> {
  await eventually(async () => {
    const warnings = (await cluster.eventsIn(namespace)).filter(({ type }) => type === 'Warning');
    const ours = warnings.filter(({ regarding }) => regarding.kind === 'PodSet');
    expect(ours.map((event) => event.reason)).toEqual([reason]);
    return true;
  }, WITHIN_MS);
}

async function eventuallySaid(note: RegExp): Promise<void> {
  await eventually(async () => {
    const events = await cluster.eventsIn(namespace);
    return events.some((event) => event.regarding.kind === 'PodSet' && note.test(event.note));
  }, WITHIN_MS);
}

/** It takes the API server a moment to ask a new webhook. */
async function untilRefused(webhook: string): Promise<void> {
  const spec = { containers: [{ name: 'a', image: 'a' }] };
  await eventually(async () => {
    const path = resourcePath(PODS, { namespace });
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'probe' }, spec };
    const asked = cluster.client.request({ method: 'POST', path, query: { dryRun: 'All' }, body });
    await expect(asked).rejects.toThrow(webhook);
    return true;
  }, WITHIN_MS);
}

/** @returns its name */
async function failTheOnlyPod(): Promise<string> {
  const [name = ''] = (await web.get())?.status?.podNames ?? [];
  await cluster.patch(podAt(name), { status: { phase: 'Failed' } }, 'status');
  return name;
}

function eventuallyReplaced(failed: string): Promise<true> {
  return eventually(async () => {
    const podNames = (await web.get())?.status?.podNames ?? [];
    expect(podNames).toHaveLength(1);
    expect(podNames).not.toContain(failed);
    return true as const;
  }, WITHIN_MS);
}

/** As a person or a pipeline waits; fails where the time is over. */
async function kubectlWait(what: string): Promise<void> {
  const to = ['--kubeconfig', stack.kubeconfig, '--namespace', namespace];
  const waiting = ['wait', `--for=${what}`, 'podset/web', `--timeout=${WITHIN_MS / 1000}s`];
  const { outcome, output } = await outputOf(stack.kubectl, [...to, ...waiting]);
  expect([outcome, output]).toEqual(['succeeded', expect.stringContaining('condition met')]);
}

async function kstatusesOf(...podSets: readonly (PodSet | undefined)[]): Promise<readonly string[]> {
  const verdicts = await kstatusOf(podSets.filter((podSet) => podSet !== undefined));
  return verdicts.map(({ status }) => status);
}
