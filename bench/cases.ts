import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../src/api/object.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { NAMESPACES, PODS, ROLE_BINDINGS, type TestCluster } from '../test/support/cluster.ts';
import { aPod } from '../test/support/pods.ts';
import { Arrivals } from './arrivals.ts';
import { measure, runsClosed, type Bench, type Result } from './bench.ts';
import { inFlight, type Load } from './load.ts';
import { namesOf } from './names.ts';

/** Most resources that are measured one at a time: it takes a while, and more say nothing more. */
const AT_REST = 100;

/** Adds the label and removes it, at rest and at once. Leaves the pods without it. */
export async function podLabelCases(bench: Bench, namespace: string, count: number): Promise<Result[]> {
  const names = await createPods(bench, namespace, count);
  const few = names.slice(0, AT_REST);
  return [
    await podLabelCase(bench, { namespace, names: few, load: 'at rest', change: 'add' }),
    await podLabelCase(bench, { namespace, names: few, load: 'at rest', change: 'remove' }),
    await podLabelCase(bench, { namespace, names, load: 'at once', change: 'add' }),
    await podLabelCase(bench, { namespace, names, load: 'at once', change: 'remove' }),
  ];
}

/** Leaves the pods labelled, for what they cost while nothing happens. */
export async function labelledPodsCase(bench: Bench, namespace: string, count: number): Promise<Result> {
  const names = await createPods(bench, namespace, count);
  return podLabelCase(bench, { namespace, names, load: 'at once', change: 'add' });
}

/**
 * At rest, while other Pods change all the time: with short names, and with the longest that Kubernetes allows. A database
 * of Temporal's may refuse what has too long a name, and nobody else may wait for that.
 */
export async function longNamesCases(bench: Bench, prefix: string, count: number): Promise<Result[]> {
  const namespace = `${prefix}-beside`;
  const names = await createPods(bench, namespace, AT_REST);
  const short = { namespace: `${prefix}-short`, names: namesOf('pod', count) };
  const long = {
    namespace: longNamespace(prefix),
    names: short.names.map((name) => name.padEnd(LONGEST_POD, 'x')),
  };
  const beside = async (others: Pods, change: 'add' | 'remove') => {
    const endOthers = await changing(bench.target.cluster, others);
    const result = await podLabelCase(bench, { namespace, names, load: 'at rest', change, endOthers });
    const length = others.namespace.length + (others.names[0] ?? '').length;
    return { ...result, case: `${result.case}, beside ${count} with ${length} characters` };
  };
  return [await beside(short, 'add'), await beside(long, 'remove')];
}

/** As long as a namespace's name may be. */
export const longNamespace = (prefix: string) => prefix.padEnd(63, 'x');

const LONGEST_POD = 253;
const BETWEEN_CHANGES_MS = 200;

interface Pods {
  readonly namespace: string;
  readonly names: readonly string[];
}

/** @returns what ends it */
async function changing(cluster: TestCluster, { namespace, names }: Pods): Promise<() => Promise<void>> {
  await cluster.createNamespace(namespace);
  await inFlight(names, (name) => cluster.create(PODS, aPod().named(name).in(namespace).manifest));
  const over = new AbortController();
  const annotate = (value: 'true' | null) =>
    inFlight(names, (name) =>
      cluster.patch(
        { type: PODS, namespace, name },
        { metadata: { annotations: { [POD_NAME_ANNOTATION]: value } } },
      ),
    );
  const change = async () => {
    while (!over.signal.aborted) {
      await annotate('true');
      await delay(BETWEEN_CHANGES_MS);
      // What has too long a name for a label stalls until then.
      await annotate(null);
      await delay(BETWEEN_CHANGES_MS);
    }
  };
  const changed = change();
  return () => {
    over.abort();
    return changed;
  };
}

export async function namespaceCases(bench: Bench, prefix: string, count: number): Promise<Result[]> {
  return [
    await namespaceCase(bench, 'at rest', namesOf(`${prefix}-rest`, Math.min(count, AT_REST))),
    await namespaceCase(bench, 'at once', namesOf(`${prefix}-once`, count)),
  ];
}

async function createPods(bench: Bench, namespace: string, count: number): Promise<string[]> {
  const { cluster } = bench.target;
  const names = namesOf('pod', count);
  await cluster.createNamespace(namespace);
  await inFlight(names, (name) => cluster.create(PODS, aPod().named(name).in(namespace).manifest));
  await runsClosed(bench);
  return names;
}

interface PodLabelCase {
  readonly namespace: string;
  readonly names: readonly string[];
  readonly load: Load;
  readonly change: 'add' | 'remove';
  readonly endOthers?: () => Promise<void>;
}

async function podLabelCase(bench: Bench, { namespace, change, ...rest }: PodLabelCase): Promise<Result> {
  const { cluster } = bench.target;
  const arrivals = await Arrivals.open({
    client: cluster.client,
    path: resourcePath(PODS, { namespace }),
    arrivedAs: (pod) => (isAsWanted(pod, change) ? pod.metadata.name : undefined),
  });
  const annotations = { [POD_NAME_ANNOTATION]: change === 'add' ? 'true' : null };
  const write = (name: string) =>
    cluster.patch({ type: PODS, namespace, name }, { metadata: { annotations } });
  try {
    return await measure(bench, { title: `pod-label ${change}, ${rest.load}`, ...rest, write, arrivals });
  } finally {
    await arrivals.close();
  }
}

function isAsWanted({ metadata }: KubernetesObject, change: 'add' | 'remove'): boolean {
  const isAnnotated = metadata.annotations?.[POD_NAME_ANNOTATION] === 'true';
  const label = metadata.labels?.[POD_NAME_LABEL];
  return change === 'add' ? label === metadata.name : !isAnnotated && label === undefined;
}

async function namespaceCase(bench: Bench, load: Load, names: readonly string[]): Promise<Result> {
  const { cluster } = bench.target;
  const arrivals = await Arrivals.open({
    client: cluster.client,
    path: resourcePath(ROLE_BINDINGS),
    arrivedAs: ({ metadata: { name, namespace } }) =>
      name === `ad-kubernetes-${namespace ?? ''}` ? namespace : undefined,
  });
  const write = (name: string) => createNamespace(cluster, name);
  try {
    return await measure(bench, { title: `namespace-role-binding, ${load}`, load, names, write, arrivals });
  } finally {
    await arrivals.close();
  }
}

function createNamespace(cluster: TestCluster, name: string): Promise<unknown> {
  return cluster.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}
