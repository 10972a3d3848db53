import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bounded } from '../src/temporal/bounded.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import { DEPLOYMENTS, SERVICES } from '../src/api/built-in.ts';
import { resourcePath, type PathType } from '../src/kubernetes/paths.ts';
import { TestCluster } from '../test/support/cluster.ts';

/*
 * How long so many Websites (examples/website) take until each has its Deployment, its Service and a status that says so. It loads the
 * cluster of --kubeconfig, where an operator of Websites runs already: the example, or `bench/websites-peer`, which does the same with
 * controller-runtime.
 *
 *   node bench/websites.ts --kubeconfig FILE --count 1000 --replicas 0
 */

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    count: { type: 'string', default: '1000' },
    replicas: { type: 'string', default: '0' },
  },
});
if (values.kubeconfig === undefined) throw new Error('--kubeconfig: a file of who may do everything');

const AT_ONCE = 20;
const LOOK_EVERY_MS = 250;
const GIVE_UP_MS = 600_000;
const WEBSITES = { group: 'example.com', version: 'v1', plural: 'websites' };

interface Website extends KubernetesObject {
  readonly status?: {
    readonly url?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const cluster = new TestCluster(values.kubeconfig);
const namespace = await cluster.aNamespace();
const count = Number(values.count);
const names = Array.from({ length: count }, (_, index) => `site-${index}`);
const beganMs = performance.now();
await bounded(names, AT_ONCE, (name) =>
  cluster.create(WEBSITES, {
    ...{ apiVersion: 'example.com/v1', kind: 'Website', metadata: { name, namespace } },
    ...{ spec: { image: 'nginx', replicas: Number(values.replicas) } },
  }),
);
const createdMs = performance.now();
while ((await readyWebsites()) < count) {
  if (performance.now() > beganMs + GIVE_UP_MS) throw new Error(`${count} Websites are not ready yet`);
  await pause(LOOK_EVERY_MS);
}
const seconds = (performance.now() - beganMs) / 1_000;
const children = await Promise.all([list(DEPLOYMENTS), list(SERVICES)]);
const report = {
  ...{ websites: count, replicas: Number(values.replicas), createdAfterS: (createdMs - beganMs) / 1_000 },
  ...{ seconds, perSecond: count / seconds, children: children.map((each) => each.length) },
};
process.stdout.write(`${JSON.stringify(report)}\n`);
await bounded(names, AT_ONCE, (name) => cluster.delete({ type: WEBSITES, namespace, name }));
await cluster.close();

/** Whose status says so. */
async function readyWebsites(): Promise<number> {
  const websites = await list<Website>(WEBSITES);
  const isReady = ({ status }: Website) =>
    status?.url !== undefined &&
    status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  return websites.filter(isReady).length;
}

async function list<T = KubernetesObject>(type: PathType): Promise<readonly T[]> {
  const path = resourcePath(type, { namespace });
  return (await cluster.client.request<{ items: T[] }>({ method: 'GET', path })).items;
}
