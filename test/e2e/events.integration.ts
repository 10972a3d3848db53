import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { eventRecorder, regardingNamespace, type Event } from '../../activities/events.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { aPod } from '../support/pods.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { setUpStage } from '../support/stage.ts';

/* The API server's own limits for Events, met by the recorder with the permissions of the operator alone. */

jest.setTimeout(120_000);

const { stack, cluster } = setUpStage();
const kubeconfig = stack.operatorKubeconfig;

const eventsAbout = async ({ metadata: { uid, name, namespace = name } }: KubernetesObject) =>
  (await cluster.eventsIn(namespace)).filter(({ regarding }) => regarding.uid === uid);

describe('the API server', () => {
  const AN_HOUR_MS = 3_600_000;
  const log = aRecordingLogger();
  const aTest: Event = { type: 'Normal', reason: 'Tested', action: 'Test', note: 'it is tested' };
  const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace' };
  const clients: KubernetesClient[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    expect(log.lines).toEqual([]);
  });

  /** Records one Event as a process that has just begun, or one that knows it. */
  async function record(object: KubernetesObject, timesMs: readonly number[], event = aTest) {
    const client = createKubernetesClient(loadKubeConfig({ kubeconfig, env: {} }));
    clients.push(client);
    for (const timeMs of timesMs) {
      const recorder = eventRecorder(client, log, { now: () => Date.now() + timeMs });
      recorder.record(refOf('test', object), NAMESPACE, event, log);
      await recorder.close();
    }
  }

  it('takes the count of an Event that lasts', async () => {
    const namespace = await cluster.createNamespace();
    await record(namespace, [0, AN_HOUR_MS, 2 * AN_HOUR_MS]);
    const events = (await eventsAbout(namespace)).filter(({ reason }) => reason === 'Tested');
    expect(events).toMatchObject([{ series: { count: 3 } }]);
  });

  it('takes a note and a name of any length', async () => {
    const { name } = (await cluster.createNamespace()).metadata;
    const pod = await cluster.create(PODS, aPod().in(name).named('x'.repeat(250)).manifest);
    await record(pod, [0], { ...aTest, note: '€'.repeat(1_000) });
    expect(await eventsAbout(pod)).toMatchObject([{ note: '€'.repeat(341) }]);
  });

  it('takes an Event about a namespace itself, in "default"', async () => {
    const namespace = await cluster.createNamespace();
    const client = createKubernetesClient(loadKubeConfig({ kubeconfig, env: {} }));
    clients.push(client);
    const recorder = eventRecorder(client, log);
    const ref = refOf('test', namespace);
    recorder.record(ref, regardingNamespace(ref, { apiVersion: 'v1', kind: 'Pod' }), aTest, log);
    await recorder.close();
    const events = await cluster.eventsIn('default');
    expect(events.filter(({ regarding }) => regarding.name === ref.name)).toMatchObject([
      { reason: 'Tested', regarding: { kind: 'Namespace' } },
    ]);
  });
});
