import { fieldsOf } from '../api/fields.ts';
import type { KubernetesClient, RequestOptions } from '../kubernetes/client.ts';
import { isOf } from '../kubernetes/errors.ts';
import type { Watches } from './watches.ts';

/** The same client. What it reads of single objects is compared with what the watches had shown before. */
export function comparing(client: KubernetesClient, watches: Pick<Watches, 'shownAt'>): KubernetesClient {
  return {
    server: client.server,
    fieldManager: client.fieldManager,
    watch: (options) => client.watch(options),
    close: (graceMs) => client.close(graceMs),
    reconnect: () => client.reconnect?.(),
    async request<T>(options: RequestOptions): Promise<T> {
      const shown = options.method === 'GET' ? watches.shownAt(options.path) : [];
      try {
        const answer = await client.request<T>(options);
        const { resourceVersion: version } = fieldsOf(fieldsOf(answer)['metadata']);
        if (typeof version === 'string') for (const { watch, object } of shown) watch.isRead(version, object);
        return answer;
      } catch (error) {
        if (isOf(error, 'not-found')) for (const { watch, object } of shown) watch.isGone(object);
        throw error;
      }
    },
  };
}
