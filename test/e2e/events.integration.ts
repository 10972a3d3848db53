import { expect, it, jest } from '@jest/globals';
import { eventRecorder } from '../../activities/events/events.ts';
import { createKubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { aPod } from '../support/pods.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);

const { stack, cluster } = setUpStage();

it('the API server takes an Event with a note and a name of any length', async () => {
  const namespace = await cluster.aNamespace();
  const pod = await cluster.create(PODS, aPod().in(namespace).named('x'.repeat(250)).manifest);
  const kubeconfig = loadKubeConfig({ kubeconfig: stack.operatorKubeconfig, env: {} });
  const client = createKubernetesClient(kubeconfig);
  const log = aRecordingLogger();
  const recorder = eventRecorder(client, log);
  const note = '€'.repeat(1_000);
  const event = { type: 'Normal', reason: 'Tested', action: 'Test', note } as const;
  recorder.record(refOf('test', pod), { apiVersion: 'v1', kind: 'Pod' }, event, log);
  await recorder.close();
  await client.close();
  expect(log.lines).toEqual([]);
  const events = await cluster.eventsIn(namespace);
  expect(events.filter(({ reason }) => reason === 'Tested')).toMatchObject([{ note: '€'.repeat(341) }]);
});
