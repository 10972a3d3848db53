import type { KubernetesObject } from '../src/api/object.ts';
import { PodSetKind } from '../src/controllers/pod-set/kind.ts';
import { POD_SET_KIND, type PodSet } from '../test/support/pod-sets.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { Arrivals } from './arrivals.ts';
import { measure, runsClosed, type Bench, type Result } from './bench.ts';
import { inFlight } from './load.ts';
import { namesOf } from './names.ts';

/** How many Pods each of many small sets has. */
const SMALL = 10;

export interface PodSetsRequest {
  readonly namespace: string;
  /** Of the one large set. */
  readonly replicas: number;
  /** How many small ones. */
  readonly sets: number;
}

/** Scales one large set up and down, then many small ones at once. Leaves all of them with no Pods. */
export async function podSetCases(bench: Bench, request: PodSetsRequest): Promise<Result[]> {
  const { namespace, replicas, sets } = request;
  await bench.target.cluster.createNamespace(namespace);
  const large = { namespace, names: ['large'] };
  const small = { namespace, names: namesOf('small', sets) };
  await createEmpty(bench, large);
  await createEmpty(bench, small);
  await runsClosed(bench);
  return [
    await scaleCase(bench, large, { from: 0, to: replicas }),
    await scaleCase(bench, large, { from: replicas, to: 0 }),
    await scaleCase(bench, small, { from: 0, to: SMALL }),
    await scaleCase(bench, small, { from: SMALL, to: 0 }),
  ];
}

interface PodSets {
  readonly namespace: string;
  readonly names: readonly string[];
}

async function createEmpty({ target: { cluster } }: Bench, { namespace, names }: PodSets): Promise<void> {
  await inFlight(names, (name) =>
    cluster.create(PodSetKind, { ...POD_SET_KIND, metadata: { name, namespace }, spec: { replicas: 0 } }),
  );
}

interface Scaling {
  readonly from: number;
  readonly to: number;
}

async function scaleCase(
  bench: Bench,
  { namespace, names }: PodSets,
  { from, to }: Scaling,
): Promise<Result> {
  const { cluster } = bench.target;
  const arrivals = await Arrivals.open({
    client: cluster.client,
    path: resourcePath(PodSetKind, { namespace }),
    read: 'all',
    arrivedAs: (object) => (hasAvailable(object, to) ? object.metadata.name : undefined),
  });
  const write = (name: string) =>
    cluster.patch({ type: PodSetKind, namespace, name }, { spec: { replicas: to } });
  const title = `pod-set, ${names.length} × ${from} → ${to} Pods`;
  try {
    return await measure(bench, { title, load: 'at once', names, write, arrivals });
  } finally {
    await arrivals.close();
  }
}

/** By its status, for the spec that it has now: so many Pods are available, and as many are named. */
export function hasAvailable(podSet: KubernetesObject & PodSet, count: number): boolean {
  const { metadata, status = {} } = podSet;
  const { readyReplicas, podNames = [], observedGeneration } = status;
  const isCurrent = observedGeneration === metadata.generation;
  return isCurrent && readyReplicas === count && podNames.length === count;
}
