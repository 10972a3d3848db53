import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { refusalOfPods } from '../../activities/refused-pods.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { kubeOf } from '../../src/kubernetes/kube.ts';
import { aJobView } from '../support/build-views.ts';
import { answerJson, FakeApiServer } from '../support/fake-api-server.ts';

let server: FakeApiServer;
let client: KubernetesClient;

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = createKubernetesClient(server.kubeConfig());
});

afterEach(async () => {
  await client.close();
  await server.stop();
});

/** What is made of these Events of the Job. */
function refusalIn(...items: readonly object[]) {
  server.handle(answerJson(200, { metadata: {}, items }));
  return refusalOfPods(kubeOf(client), 'shop', aJobView());
}

const at = (minute: number, words: string) => ({
  metadata: {},
  note: `Error creating: ${words}`,
  deprecatedLastTimestamp: `2026-11-21T12:0${minute}:00Z`,
});

describe('why the Pods of a Job are refused', () => {
  it('is asked of the Events of just that Job', async () => {
    expect(await refusalIn()).toBe('none');
    expect(server.requests.map(({ url }) => url.pathname)).toEqual([
      '/apis/events.k8s.io/v1/namespaces/shop/events',
    ]);
    expect(Object.fromEntries(server.requests[0]?.url.searchParams ?? [])).toEqual({
      fieldSelector: 'regarding.uid=job-1,reason=FailedCreate',
      limit: '50',
    });
  });

  it.each([
    ['pods "build-x7k2p" is forbidden: violates PodSecurity "baseline:latest": hostPath', 'PodSecurity'],
    ['pods "build-x7k2p" is forbidden: exceeded quota: few, requested: pods=1', 'QuotaExceeded'],
    ['admission webhook "keep.example" denied the request: no owner', 'Refused'],
    ['Pod "build-x7k2p" is invalid: spec.containers: Required value', 'Refused'],
  ])('is in the words of the server, without the name of the Pod: %s', async (words, code) => {
    const message = words.replace(/^pods? "build-x7k2p" is (forbidden|invalid): /i, '');
    expect(await refusalIn(at(1, words))).toMatchObject({ reason: code, message });
    const combined = { ...at(1, words), note: `(combined from similar events): Error creating: ${words}` };
    expect(await refusalIn(combined)).toMatchObject({ message });
  });

  it('is what the newest of them says, whichever recorder wrote it', async () => {
    const series = { series: { lastObservedTime: '2026-11-21T12:05:00.000000Z' } };
    const old = { ...at(1, 'new'), deprecatedLastTimestamp: null, eventTime: '2026-11-21T11:00:00.000000Z' };
    expect(await refusalIn(at(3, 'new'), at(2, 'old'))).toMatchObject({ message: 'new' });
    expect(await refusalIn({ ...old, ...series }, at(4, 'old'))).toMatchObject({ message: 'new' });
    expect(await refusalIn(at(3, 'new'), { ...old, note: 'old' })).toMatchObject({ message: 'new' });
  });

  it('has no credentials, and is not longer than a status can hold', async () => {
    const secret = at(1, 'admission webhook "x" denied the request: https://u:s3cret@h/x?token=s3cret');
    expect(JSON.stringify(await refusalIn(secret))).not.toContain('s3cret');
    const long = await refusalIn(at(1, 'x'.repeat(2_000)));
    expect(long).toMatchObject({ message: 'x'.repeat(700) });
  });

  it('is not known where somebody has written Events too long to be read', async () => {
    expect(await refusalIn(at(1, 'x'.repeat(1024 * 1024)))).toBe('none');
  });
});
