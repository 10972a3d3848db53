import { stepsOf, type AnyDefinition } from '../src/engine/definition.ts';
import { saying } from '../src/engine/failing.ts';
import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { Observing } from './observing.ts';

/** A definition, with the clients and readers that serve it. */
export interface Served {
  readonly definition: AnyDefinition;
  readonly client: KubernetesClient;
  readonly kube: ReturnType<typeof kubeOf>;
  readonly observing: Observing;
  /** Some of its steps read less than everything. */
  readonly isReadLess: boolean;
}

export function served(its: AnyDefinition, server: KubernetesClient): Served {
  const definition = saying(its);
  const client = inWordsOf(definition, server);
  return {
    ...{ definition, client, kube: kubeOf(client), observing: new Observing(definition, client) },
    isReadLess: Object.values(stepsOf(definition)).some(({ reads = 'all' }) => reads !== 'all'),
  };
}

/** The same client, whose writes fail in the words of the controller where it has some. */
function inWordsOf(definition: AnyDefinition, client: KubernetesClient): KubernetesClient {
  if (definition.refusal === undefined) return client;
  return {
    server: client.server,
    fieldManager: client.fieldManager,
    watch: (options) => client.watch(options),
    close: (graceMs) => client.close(graceMs),
    request: <T>(options: RequestOptions) =>
      client.request<T>(options).catch((error: unknown) => {
        if (!(error instanceof ApiError) || options.method === 'GET') throw error;
        const said = definition.refusal?.(error);
        throw said === undefined ? error : error.as(said);
      }),
  };
}
