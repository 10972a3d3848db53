import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { fieldsOf } from '../src/api/fields.ts';

/** A write was about to be sent that the API server would carry out. It is a bug, and nothing was sent. */
export class WouldWrite extends Error {
  override readonly name = 'WouldWrite';
}

/**
 * A client that cannot write: whatever is not a read has to be a dry run, or it is not sent.
 *
 * Of a DELETE with a body the API server reads no query, so its body has to say it.
 * Source: apiserver, endpoints/handlers/delete.go, `DeleteResource`.
 */
export function dryRunOnly(client: KubernetesClient): KubernetesClient {
  return {
    server: client.server,
    fieldManager: client.fieldManager,
    watch: (options) => client.watch(options),
    close: (graceMs) => client.close(graceMs),
    async request<T>(options: RequestOptions): Promise<T> {
      if (options.method !== 'GET' && !isDryRun(options)) {
        throw new WouldWrite(`${options.method} ${options.path} is not a dry run: not sent; this is a bug`);
      }
      return client.request<T>(options);
    },
  };
}

/** Whether the API server changes nothing. */
export function isDryRun({ method, query, body }: RequestOptions): boolean {
  if (query?.['dryRun'] !== 'All') return false;
  return method !== 'DELETE' || body === undefined || isAll(fieldsOf(body)['dryRun']);
}

function isAll(value: unknown): boolean {
  return Array.isArray(value) && value.length === 1 && value[0] === 'All';
}

/** The same request as a dry run. */
export function asDryRun(options: RequestOptions): RequestOptions {
  const query = { ...options.query, dryRun: 'All' };
  if (options.method !== 'DELETE' || options.body === undefined) return { ...options, query };
  return { ...options, query, body: { ...fieldsOf(options.body), dryRun: ['All'] } };
}

/** The same client, whose writes the API server only tries. */
export function dryRunning(client: KubernetesClient): KubernetesClient {
  return {
    server: client.server,
    fieldManager: client.fieldManager,
    watch: (options) => client.watch(options),
    close: (graceMs) => client.close(graceMs),
    request: (options) => client.request(options.method === 'GET' ? options : asDryRun(options)),
  };
}
