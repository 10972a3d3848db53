import { BUILD_KIND, BUILD_UID_LABEL, BUILDS } from '../../src/controllers/git-build/resource.ts';
import { JOBS } from '../../src/controllers/kinds.ts';
import { POD_SET_KIND, POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { PAUSED_ANNOTATION } from '../../src/contract/control.ts';
import type { ResourceType } from '../../src/kubernetes/paths.ts';
import { PODS, type At, type Manifest, type TestCluster } from '../support/cluster.ts';
import type { BigKind } from './events.ts';
import { buildSpec, TENANT_LABEL, type Place } from './place.ts';

/** More than the operator's heap holds, where it keeps their annotations; and etcd and the API server have room for them. */
const OBJECTS = 600;
const ANNOTATION_BYTES = 250_000;
const AT_ONCE = 8;

/** Somebody who may write in the home namespace, and thinks of nobody else. In the end nothing of it is left. */
export class Tenant {
  readonly #cluster: TestCluster;
  readonly #place: Place;
  #created: At[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(cluster: TestCluster, place: Place) {
    this.#cluster = cluster;
    this.#place = place;
  }

  /** Resolves once all are there. */
  async fill(kind: BigKind, annotation: string): Promise<void> {
    const { type, manifest } = this.#bigObject(kind);
    const { home: namespace, secret } = this.#place;
    await this.#eachOf(OBJECTS, async (index) => {
      const name = `big-${index}`;
      const annotations = { [PAUSED_ANNOTATION]: 'true', [annotation]: 'x'.repeat(ANNOTATION_BYTES) };
      const metadata = { name, namespace, labels: { [TENANT_LABEL]: 'true' }, annotations };
      await this.#cluster.create(type, { ...manifest(secret), metadata });
      this.#created.push({ type, namespace, name });
    });
  }

  /** All that was created goes. */
  empty(): void {
    const created = this.#created;
    this.#created = [];
    this.#last = this.#last.then(() =>
      this.#eachOf(created.length, async (index) => {
        const at = created[index];
        if (at !== undefined) await this.#cluster.delete(at);
      }),
    );
    // Whoever waits for it hears of it.
    this.#last.catch(() => undefined);
  }

  /** A Job that lacks the label of its build, since admission has taken it away, is in the way of the next one. */
  deleteUnlabelledJob(name: string): void {
    const at = { type: JOBS, namespace: this.#place.home, name };
    this.#last = this.#last.then(async () => {
      const job = await this.#cluster.get(at);
      if (job !== undefined && job.metadata.labels?.[BUILD_UID_LABEL] === undefined)
        await this.#cluster.delete(at);
    });
    this.#last.catch(() => undefined);
  }

  /** Resolves once nothing that was to go is left. */
  async settled(): Promise<void> {
    await this.#last;
  }

  #bigObject(kind: BigKind): {
    type: ResourceType;
    manifest: (secret: string) => Omit<Manifest, 'metadata'>;
  } {
    switch (kind) {
      case 'pods':
        return { type: PODS, manifest: () => ({ apiVersion: 'v1', kind: 'Pod', spec: UNSCHEDULABLE }) };
      case 'podsets':
        return { type: POD_SETS, manifest: () => ({ ...POD_SET_KIND, spec: { replicas: 0 } }) };
      case 'xxxes':
        return {
          type: BUILDS,
          manifest: (secret) => ({ ...BUILD_KIND, spec: buildSpec(BUILD, { secret }) }),
        };
    }
  }

  async #eachOf(count: number, act: (index: number) => Promise<void>): Promise<void> {
    let next = 0;
    const worker = async () => {
      while (next < count) await act(next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
}

const BUILD = { jobName: 'big', binaryName: 'big', repository: 'main', buildCommand: 'go build' };

const UNSCHEDULABLE = {
  schedulingGates: [{ name: 'example.com/never' }],
  containers: [{ name: 'busybox', image: 'busybox' }],
};
