import { BUILD_KIND, BUILDS, type StoredBuild } from '../src/controllers/git-build/kind.ts';
import { JOBS } from '../src/api/kinds.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import { Arrivals, type ArrivalsRequest } from './arrivals.ts';
import { measure, runsClosed, type Bench, type Result } from './bench.ts';
import { namesOf } from './names.ts';

export interface BuildsRequest {
  readonly namespace: string;
  readonly count: number;
}

/** Creates many at once and, when all are built, deletes them at once. Leaves none. */
export async function buildCases(bench: Bench, { namespace, count }: BuildsRequest): Promise<Result[]> {
  const { cluster } = bench.target;
  await cluster.createNamespace(namespace);
  await runsClosed(bench);
  const names = namesOf('build', count);
  const builds = { client: cluster.client, path: resourcePath(BUILDS, { namespace }), read: 'all' } as const;
  const created = await buildCase(bench, {
    title: 'git-build, created',
    names,
    write: (name) => cluster.create(BUILDS, aBuild(namespace, name)),
    arrivals: {
      ...builds,
      arrivedAs: (build) => (isBuilt(build) ? build.metadata.name : undefined),
    },
  });
  await requireSucceededJobs(bench, { namespace, count });
  const deleted = await buildCase(bench, {
    title: 'git-build, deleted',
    names,
    write: (name) => cluster.delete({ type: BUILDS, namespace, name }),
    arrivals: { ...builds, awaited: 'gone', arrivedAs: ({ metadata }) => metadata.name },
  });
  return [created, deleted];
}

interface BuildCase {
  readonly title: string;
  readonly names: readonly string[];
  readonly write: (name: string) => Promise<unknown>;
  readonly arrivals: ArrivalsRequest;
}

async function buildCase(
  bench: Bench,
  { title, names, write, arrivals: request }: BuildCase,
): Promise<Result> {
  const arrivals = await Arrivals.open(request);
  try {
    return await measure(bench, { title, load: 'at once', names, write, arrivals });
  } finally {
    await arrivals.close();
  }
}

function aBuild(namespace: string, name: string) {
  return {
    ...BUILD_KIND,
    metadata: { name, namespace },
    spec: {
      gitUrl: 'https://github.com/kelseyhightower/helloworld.git',
      clonePath: '/root/go/src/helloworld',
      buildCommand: 'go build',
      binaryName: name,
      jobName: `job-of-${name}`,
    },
  };
}

export function isBuilt({ metadata, status }: StoredBuild): boolean {
  return status?.phase === 'Succeeded' && status.observedGeneration === metadata.generation;
}

interface Job extends KubernetesObject {
  readonly status?: { readonly succeeded?: number };
}

/** The operator's word is not taken for it. @throws Error where a Job is missing, or has not succeeded */
async function requireSucceededJobs(bench: Bench, { namespace, count }: BuildsRequest): Promise<void> {
  const path = resourcePath(JOBS, { namespace });
  const { items } = await bench.target.cluster.client.request<{ items: Job[] }>({ method: 'GET', path });
  const succeeded = items.filter(({ status }) => status?.succeeded === 1).length;
  if (succeeded === count) return;
  throw new Error(
    `${namespace}: all ${count} Xxx are Succeeded, but of their Jobs ${succeeded} have succeeded`,
  );
}
