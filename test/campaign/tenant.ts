import { BUILD_KIND, BUILD_UID_LABEL, BUILDS } from '../../src/controllers/git-build/kind.ts';
import { JOBS } from '../../src/api/kinds.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { POD_SET_KIND } from '../support/pod-sets.ts';
import { PAUSED_ANNOTATION, RECONCILE_REQUESTED_ANNOTATION } from '../../src/api/annotations.ts';
import type { PathType } from '../../src/kubernetes/paths.ts';
import { PODS, type At } from '../support/cluster.ts';
import type { InsistentCluster } from './insistent-cluster.ts';
import { buildSpec, type Place } from './place.ts';

export type BigKind = 'pods' | 'podsets' | 'xxxes';

/** More than the operator's heap holds. */
const OBJECTS = 600;
const ANNOTATION_BYTES = 250_000;
/** What their annotation says. On its way to the operator it gets long: servers that others use do not have to carry it. */
export const BIG = 'the-tenant-wrote-a-long-text-here';
const AT_ONCE = 8;

/** Somebody who may write in the home namespace, and thinks of nobody else. In the end nothing of it is left. */
export class Tenant {
  readonly #cluster: InsistentCluster;
  readonly #place: Place;
  readonly #created: At[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(cluster: InsistentCluster, place: Place) {
    this.#cluster = cluster;
    this.#place = place;
  }

  /** Resolves once all are there. */
  async fill(kind: BigKind, annotation: string): Promise<void> {
    const { type, manifest } = this.#bigObject(kind);
    const { home: namespace } = this.#place;
    const annotations = { [PAUSED_ANNOTATION]: 'true', [annotation]: BIG };
    const names = Array.from({ length: OBJECTS }, (_, index) => `big-${index}`);
    await eachOf(names, async (name) => {
      this.#created.push({ type, namespace, name });
      await this.#cluster.create(type, { ...manifest, metadata: { name, namespace, annotations } });
    });
  }

  /** All that was created goes, also what an older state of the database has brought back. */
  empty(): void {
    this.#next(() => eachOf(this.#created, (at) => this.#cluster.delete(at)));
  }

  /**
   * A Job whose label admission has taken away is in the way of the next one. The operator looks at the name seldom, so
   * whoever deletes the Job asks for a reconcile.
   */
  deleteUnlabelledJob(build: string): void {
    const { home: namespace } = this.#place;
    const at = { type: JOBS, namespace, name: `${build}-job` };
    this.#next(async () => {
      const job = await this.#cluster.get(at);
      if (job === undefined || job.metadata.labels?.[BUILD_UID_LABEL] !== undefined) return;
      await this.#cluster.delete(at, 'Background');
      while ((await this.#cluster.get(at))?.metadata.uid === job.metadata.uid) await this.#cluster.pause();
      const annotations = { [RECONCILE_REQUESTED_ANNOTATION]: new Date().toISOString() };
      await this.#cluster.patch({ type: BUILDS, namespace, name: build }, { metadata: { annotations } });
    });
  }

  /** Resolves once nothing that was to go is left. */
  async settled(): Promise<void> {
    await this.#last;
  }

  #next(act: () => Promise<void>): void {
    this.#last = this.#last.then(act);
    // Whoever waits for it hears of it.
    this.#last.catch(() => undefined);
  }

  #bigObject(kind: BigKind): { readonly type: PathType; readonly manifest: object } {
    switch (kind) {
      case 'pods':
        return { type: PODS, manifest: { apiVersion: 'v1', kind: 'Pod', spec: UNSCHEDULABLE } };
      case 'podsets':
        return { type: PodSetKind, manifest: { ...POD_SET_KIND, spec: { replicas: 0 } } };
      case 'xxxes':
        return { type: BUILDS, manifest: { ...BUILD_KIND, spec: buildSpec(BUILD, this.#place) } };
    }
  }
}

/** An answer of the API server, or an event, as the operator gets it. */
export function inflated(text: string): string {
  return text.replaceAll(BIG, 'x'.repeat(ANNOTATION_BYTES));
}

async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await act(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const BUILD = { jobName: 'big', binaryName: 'big', repository: 'main', buildCommand: 'go build' };

const UNSCHEDULABLE = {
  schedulingGates: [{ name: 'example.com/never' }],
  containers: [{ name: 'busybox', image: 'busybox' }],
};
