import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

/*
 * Stands in for a store in the cloud: `node store.ts`. It can be told to misbehave:
 *
 *     curl -X PUT 127.0.0.1:9000/-/mode/down     # down, slow, limits, refuses or ok
 *     curl 127.0.0.1:9000/-/buckets
 */

export type Mode = 'ok' | 'down' | 'slow' | 'limits' | 'refuses';

const SLOW_MS = 3_000;

export class Store {
  readonly buckets = new Map<string, object>();
  /** The idempotency keys of what was created. */
  readonly keys: string[] = [];
  mode: Mode = 'ok';

  readonly server = createServer((request, response) => void this.#serve(request, response));

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, id = '', what, mode] = request.url?.split('/') ?? [];
    const body = JSON.parse((await text(request)) || '{}') as { idempotencyKey?: string };
    if (id === '-') {
      if (what === 'mode') this.mode = mode as Mode;
      answer(response, 200, what === 'mode' ? { mode } : Object.fromEntries(this.buckets));
      return;
    }
    if (this.mode === 'slow') await setTimeout(SLOW_MS);
    if (this.mode === 'limits') answer(response, 429, {});
    else if (this.mode === 'refuses') answer(response, 403, {});
    else this.#change(id, request.method, body);
    if (this.mode === 'down') response.destroy();
    else if (!response.writableEnded) {
      const bucket = this.buckets.get(id);
      answer(response, bucket === undefined ? 404 : 200, bucket ?? {});
    }
  }

  #change(
    id: string,
    method: string | undefined,
    { idempotencyKey, ...bucket }: { idempotencyKey?: string },
  ): void {
    if (method === 'DELETE') this.buckets.delete(id);
    if (method !== 'PUT') return;
    if (idempotencyKey !== undefined) this.keys.push(idempotencyKey);
    this.buckets.set(id, { ...this.buckets.get(id), ...bucket, url: `store://${id}` });
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status).end(JSON.stringify(body));
}

if (import.meta.main) {
  new Store().server.listen(9000, '127.0.0.1', () => console.log('the store listens on 127.0.0.1:9000'));
}
