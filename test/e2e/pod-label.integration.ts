import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aPod, type PodBuilder } from '../support/pods.ts';
import { setUpOperator } from '../support/stage.ts';
import { operatorWritesIn } from '../support/writes.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 20_000;

const { stack, cluster, temporal } = setUpOperator({ args: ['--controllers', 'pod-label'] });
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
});

let pods = 0;

/** Creates it under a name of its own, unless told. */
function create(pod: PodBuilder, name = `web-${(pods += 1)}`): Promise<KubernetesObject> {
  return cluster.create(PODS, pod.in(namespace).named(name).manifest);
}

const at = (name: string) => ({ type: PODS, namespace, name });
const runsOf = (pod: KubernetesObject) => temporal.runsOf(refOf('pod-label', pod));

async function labelsOf({ metadata }: KubernetesObject): Promise<Readonly<Record<string, string>>> {
  return (await cluster.get(at(metadata.name)))?.metadata.labels ?? {};
}

function eventuallyLabelled(pod: KubernetesObject, labels: Readonly<Record<string, string>>): Promise<true> {
  return eventually(async () => {
    expect(await labelsOf(pod)).toEqual(labels);
    return true as const;
  }, WITHIN_MS);
}

function annotate({ metadata }: KubernetesObject, value: string | null) {
  return cluster.patch(at(metadata.name), { metadata: { annotations: { [POD_NAME_ANNOTATION]: value } } });
}

const patchesOf = ({ metadata: { name } }: KubernetesObject) =>
  operatorWritesIn(namespace, stack.auditLog, 'pods').filter((write) => write.name === name);

/** Everything about pods that were created before has been seen once one that was created after is labelled. */
async function everythingIsSeen(): Promise<void> {
  const last = await create(aPod().annotated());
  await eventuallyLabelled(last, { [POD_NAME_LABEL]: last.metadata.name });
}

describe('a Pod whose annotation is not exactly "true"', () => {
  it('keeps a label of that key that somebody else gave it', async () => {
    const pod = await create(aPod().labelled({ [POD_NAME_LABEL]: 'somebody-elses' }));
    await everythingIsSeen();
    expect(await labelsOf(pod)).toEqual({ [POD_NAME_LABEL]: 'somebody-elses' });
    expect(patchesOf(pod)).toEqual([]);
  });
});

describe('a Pod that is deleted and created again with the same name', () => {
  it('gets a label and a run of its own', async () => {
    const first = await create(aPod().annotated(), 'again');
    await eventuallyLabelled(first, { [POD_NAME_LABEL]: 'again' });
    await cluster.deleteAndWait(at('again'));
    const second = await create(aPod().annotated(), 'again');
    await eventuallyLabelled(second, { [POD_NAME_LABEL]: 'again' });
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    for (const pod of [first, second]) {
      await eventually(async () => {
        expect(await runsOf(pod)).toMatchObject([{ status: 'COMPLETED' }]);
        return true;
      }, WITHIN_MS);
    }
  });
});

describe('a Pod that somebody else changes all the time', () => {
  it('converges, and keeps the other changes', async () => {
    const pod = await create(aPod());
    const { name } = pod.metadata;
    const other = { stopped: false, count: 0 };
    const writing = (async () => {
      while (!other.stopped) {
        other.count += 1;
        await cluster.patch(at(name), {
          metadata: { labels: { [`count-${other.count % 5}`]: String(other.count) } },
        });
      }
    })();
    await annotate(pod, 'true');
    await eventually(async () => (await labelsOf(pod))[POD_NAME_LABEL] === name, 60_000);
    other.stopped = true;
    await writing;
    const last = Array.from({ length: Math.min(5, other.count) }, (_, back) => other.count - back);
    const written = Object.fromEntries(last.map((count) => [`count-${count % 5}`, String(count)]));
    expect(await labelsOf(pod)).toEqual({ ...written, [POD_NAME_LABEL]: name });
  });
});

describe('a Pod whose name is too long for a label', () => {
  const tooLong = (begin: string) => begin.padEnd(70, 'x');

  async function stalledPod(name: string) {
    const pod = await create(aPod().annotated(), name);
    await eventually(async () => {
      expect(await runsOf(pod)).toMatchObject([{ status: 'RUNNING' }]);
      return true;
    }, WITHIN_MS);
    await eventually(async () => (await eventsAbout(pod)).length > 0, WITHIN_MS);
    return pod;
  }

  const eventsAbout = async ({ metadata }: KubernetesObject) =>
    (await cluster.eventsIn(namespace)).filter(({ regarding }) => regarding.uid === metadata.uid);

  it('gets one Warning Event, no label, and an open run without a timer or a retry', async () => {
    const pod = await stalledPod(tooLong('event'));
    await cluster.patch(at(pod.metadata.name), { metadata: { labels: { other: 'change' } } });
    await everythingIsSeen();
    expect(await eventsAbout(pod)).toMatchObject([
      { type: 'Warning', reason: 'NameTooLong', regarding: { kind: 'Pod', name: pod.metadata.name } },
    ]);
    const [event] = await eventsAbout(pod);
    expect(event?.note).toContain('has 70 characters, but a label value can have at most 63');
    expect(await labelsOf(pod)).toEqual({ other: 'change' });
    expect(patchesOf(pod)).toEqual([]);
    const open = await temporal.openRunOf(refOf('pod-label', pod));
    expect(open).toEqual({ status: 'RUNNING', pendingActivities: [] });
    const history = await temporal.historyOf(refOf('pod-label', pod));
    expect(
      history.map(({ timerStartedEventAttributes }) => timerStartedEventAttributes ?? undefined),
    ).toEqual(history.map(() => undefined));
  });
});
