import type { Manifest } from './cluster.ts';
import { POD_NAME_ANNOTATION } from '../../src/controllers/pod-label/controller.ts';

/** A Pod that nobody but the test writes: the scheduler leaves it alone. */
export function aPod(): PodBuilder {
  return new PodBuilder({ name: 'web', namespace: 'default' });
}

interface PodMeta {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

export class PodBuilder {
  readonly #metadata: PodMeta;

  constructor(metadata: PodMeta) {
    this.#metadata = metadata;
  }

  named(name: string): PodBuilder {
    return this.#with({ name });
  }

  in(namespace: string): PodBuilder {
    return this.#with({ namespace });
  }

  /** Asks for the label. */
  annotated(value = 'true'): PodBuilder {
    return this.#with({ annotations: { [POD_NAME_ANNOTATION]: value } });
  }

  labelled(labels: Readonly<Record<string, string>>): PodBuilder {
    return this.#with({ labels });
  }

  heldBy(finalizer: string): PodBuilder {
    return this.#with({ finalizers: [finalizer] });
  }

  get manifest(): Manifest {
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...this.#metadata },
      spec: {
        schedulingGates: [{ name: 'test.durable-operator.dev/nobody-else-writes-it' }],
        containers: [{ name: 'web', image: 'nginx' }],
      },
    };
  }

  #with(fields: Partial<PodMeta>): PodBuilder {
    return new PodBuilder({ ...this.#metadata, ...fields });
  }
}
