import { describe, expect, it } from '@jest/globals';
import {
  aPodOf,
  aPodSet,
  decided,
  statusWrite,
  type Known,
  type OwnedPodBuilder,
} from '../support/pod-sets.ts';

const set = aPodSet();
const pod = (name: string) => aPodOf(set, name).createdAgo(90);
const withoutImage = (name: string) =>
  pod(name).withContainer({ state: { waiting: { reason: 'ErrImagePull' } } });
const withoutNode = (name: string) => pod(name).unschedulable('0/1 nodes are available: 1 Insufficient cpu.');
const DESCRIBE = { run: 'kubectl describe pod a -n default', to: 'show the Events of the Pod' };

const READY_NODE = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };

/** The write of the status by a step that has read the nodes, and what a watcher that has read none decides then. */
function settle(
  pods: readonly OwnedPodBuilder[],
  podSet = set,
  lookups: Known['lookups'] = Object.fromEntries(
    pods.map(({ view: { node } }) => [`node ${node}`, { metadata: { name: node }, ...READY_NODE }]),
  ),
) {
  const wanting = podSet.wanting(pods.length);
  const write = statusWrite(wanting, pods, { lookups });
  const known = wanting.withStatus(write.status);
  return { write, rest: decided(known, pods), known };
}

const conditionsOf = ({ known }: ReturnType<typeof settle>) =>
  known.object.status?.conditions?.map(({ type, status, reason }) => `${type} ${status}: ${reason}`);
const messageOf = (pods: readonly OwnedPodBuilder[]) =>
  settle(pods).known.object.status?.conditions?.[0]?.message;

describe('a PodSet whose Pods exist and are not Ready', () => {
  it('is on its way while nothing is wrong, and asks for another decision when a minute is over', () => {
    const seen = settle([pod('a'), pod('b').unreadyFor(20), pod('c').unreadyFor(45)]);
    expect(conditionsOf(seen)).toEqual([
      'Ready False: PodsStarting',
      'Stalled False: NotStalled',
      'Reconciling True: PodsStarting',
    ]);
    expect(seen.rest).toMatchObject({ do: 'converged', isProgressing: true, recheckMs: 15_000 });
    expect(seen.rest).not.toHaveProperty('event');
  });

  it('is not Ready once a Pod has been unready for a minute, and needs no run', () => {
    const seen = settle([pod('a').unreadyFor(60), pod('b')]);
    expect(conditionsOf(seen)).toEqual([
      'Ready False: PodsNotReady',
      'Stalled False: NotStalled',
      'Reconciling False: NotReady',
    ]);
    expect(seen.rest).toMatchObject({
      do: 'converged',
      because: 'all desired Pods exist, but some are not Ready',
      notReady: {
        reason: 'PodsNotReady',
        message: 'Pod a stayed unready for 60 seconds',
        advice: [DESCRIBE, { run: 'kubectl logs a -n default', to: 'show what it writes' }],
      },
    });
  });

  it('counts that minute from the creation of a Pod of which no kubelet has said anything', () => {
    const silent = (secondsAgo: number) => pod('a').pending().createdAgo(secondsAgo);
    expect(settle([silent(59)]).rest).toMatchObject({ recheckMs: 1_000 });
    expect(settle([silent(60)]).rest).toMatchObject({ notReady: { reason: 'PodsNotReady' } });
  });

  it('waits no longer than a minute for a Pod of the future, as a clock may have it', () => {
    expect(settle([pod('a').unreadyFor(-3_600)]).rest).toMatchObject({ recheckMs: 60_000 });
  });

  it('is not Ready at once where a Pod has a trouble, with what a person can do', () => {
    expect(settle([withoutImage('a')]).rest).toMatchObject({
      notReady: {
        reason: 'ImageNotPulled',
        message: 'Pod a cannot pull the image busybox',
        advice: ['check that the image exists, and that the nodes reach its registry', DESCRIBE],
      },
    });
  });

  it('says in the condition and in a Warning what the decision says', () => {
    const message =
      'Pod a cannot pull the image busybox; check that the image exists, and that the nodes reach its registry';
    const { rest, known } = settle([withoutImage('a')]);
    expect(known.object.status?.conditions?.[0]).toMatchObject({ reason: 'ImageNotPulled', message });
    expect(rest).toMatchObject({
      event: { type: 'Warning', reason: 'ImageNotPulled', action: 'Reconcile', note: message },
    });
  });

  it('names the oldest Pod with the worst trouble, and about how many are like it', () => {
    const many = Array.from({ length: 7 }, (_, i) => withoutImage(`p-${i}`));
    const others = [withoutNode('first').createdAgo(999), pod('old').unreadyFor(999)];
    expect(messageOf([...others, ...many, withoutImage('a').createdAgo(91)])).toContain(
      'Pod a and at least 4 others cannot pull the image busybox',
    );
    expect(messageOf([withoutImage('b'), withoutImage('a')])).toContain('Pod a and at least 1 other cannot');
  });

  it('has few messages while 300 Pods fail one after the other', () => {
    const failing = (count: number) =>
      Array.from({ length: 300 }, (_, i) =>
        i < count ? withoutImage(`p-${i}`) : pod(`p-${i}`).unreadyFor(9),
      );
    const messages = Array.from({ length: 300 }, (_, i) => messageOf(failing(i + 1)));
    expect(new Set(messages).size).toBeLessThan(12);
  });

  it('is Ready again with its Pods', () => {
    const { known } = settle([withoutImage('a')]);
    const seen = settle([pod('a')], known);
    expect(conditionsOf(seen)).toEqual([
      'Ready True: PodsReady',
      'Stalled False: NotStalled',
      'Reconciling False: UpToDate',
    ]);
    expect(seen.rest).toEqual({ do: 'converged', because: 'all desired Pods exist and are Ready' });
  });
});

describe('a PodSet one of whose Pods stays unready, and does not say why', () => {
  const silent = (name: string) => pod(name).on('n1').unreadyFor(90);
  const nodeOf = (status: string) => ({
    metadata: { name: 'n1' },
    status: { conditions: [{ type: 'Ready', status, lastTransitionTime: '2026-11-22T09:00:00Z' }] },
  });
  const GONE = { 'node n1': nodeOf('Unknown') };

  it('reads the node of the oldest, once a minute is over', () => {
    const decide = (...pods: readonly OwnedPodBuilder[]) => decided(set.wanting(pods.length), pods);
    expect(decide(silent('a'), silent('b').on('n2').createdAgo(999))).toMatchObject({
      do: 'observe',
      lookups: ['node n2'],
    });
    expect(decide(pod('a').on('n1').unreadyFor(59)).do).toBe('updateStatus');
    expect(decide(silent('a').unscheduled()).do).toBe('updateStatus');
    expect(decide(silent('a'), withoutImage('b')).do).toBe('updateStatus');
  });

  it('names the node, since when it is not ready, and about how many Pods are on it', () => {
    const pods = [silent('a').createdAgo(999), silent('b'), silent('c').on('n2')];
    const { rest, known } = settle(pods, set, GONE);
    expect(rest).toMatchObject({
      notReady: {
        reason: 'NodeNotReady',
        message: 'Pod a and at least 1 other are on node n1, which is not ready since 2026-11-22T09:00:00Z',
        advice: [{ run: 'kubectl describe node n1', to: 'show the state of the node' }, DESCRIBE],
      },
    });
    expect(known.object.status?.conditions?.[0]).toMatchObject({ reason: 'NodeNotReady' });
  });

  it('is told by the status what the node was, and neither reads it again nor writes', () => {
    const [first, second] = [silent('a').createdAgo(999), silent('b')];
    // Once the oldest is Ready, the next one is judged: on the same node, or on one that nobody knows to be ready still.
    for (const [lookups, then] of [
      [GONE, 'updateStatus'],
      [{ 'node n1': nodeOf('True') }, 'observe'],
    ] as const) {
      const { known, rest } = settle([first, second], set, lookups);
      expect(rest.do).toBe('converged');
      expect(decided(known, [pod('a').on('n1').createdAgo(999), second]).do).toBe(then);
    }
  });
});
