import { afterEach, beforeEach, describe, it, jest } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { join } from 'node:path';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { identityOf, type Projection } from '../../src/watcher/known-objects.ts';
import { Reflector } from '../../src/watcher/reflector.ts';
import { eventually } from '../../testing/eventually.ts';
import { ApiProxy } from '../../testing/stack/api-proxy.ts';
import { uniqueName } from '../support/cluster.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);

const { stack, cluster } = setUpStage();
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps' };
const hearing = { silenceMs: 500, compareEveryMs: 500, tellWithinMs: 1_000, listEveryMs: 3_000 };

let namespace: string;
let proxy: ApiProxy;
let client: KubernetesClient;
let reflector: Reflector;
let items: ReadonlyMap<string, Projection>;

beforeEach(async () => {
  namespace = await cluster.aNamespace();
  proxy = await ApiProxy.start(stack.kubeconfig, join(stack.dir, `${uniqueName()}.kubeconfig`));
  const config = new KubeConfig();
  config.loadFromFile(proxy.kubeconfig);
  client = createKubernetesClient(config);
});

afterEach(async () => {
  await reflector.stop();
  await client.close();
  await proxy.stop();
});

async function start(): Promise<void> {
  const log = aRecordingLogger();
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  reflector = new Reflector({ client, log, path, hearing });
  items = reflector.join({ log, project: identityOf, onChange: () => undefined });
  reflector.start();
  await reflector.synced;
}

const create = (name: string) =>
  cluster.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } });
const eventuallyKnown = (name: string) => eventually(() => items.has(`${namespace}/${name}`), 60_000);

const hold = () => (proxy.onWatch = (watch) => watch.hold());
const endAtOnce = () =>
  (proxy.judge = ({ isWatch }) => (isWatch ? { instead: { status: 200, body: '' } } : {}));
const repair = () => {
  proxy.judge = () => ({});
  proxy.onWatch = () => undefined;
};

describe('a proxy that accepts watches of an API server', () => {
  it.each([
    ['and delivers nothing', hold],
    ['and ends each at once', endAtOnce],
  ])('%s is found out, and its end is, too', async (_, spoil) => {
    spoil();
    await start();
    await create('unheard');
    await eventually(() => reflector.problem, 60_000);
    await create('unheard-too');
    await eventuallyKnown('unheard-too');
    repair();
    await eventually(() => reflector.problem === undefined, 60_000);
  });
});
