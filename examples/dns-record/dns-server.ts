import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { StoredRecord } from './src/dns.ts';

/** What it shows is so old. */
const LAG_MS = 2_000;
const REQUESTS_PER_SECOND = 40;

interface Shown {
  readonly record: StoredRecord | undefined;
  readonly atMs: number;
}

/**
 * Stands in for the DNS of a cloud on a bad day: `node dns-server.ts` listens on 127.0.0.1:9054. It assigns IDs, lags, fails one time in
 * five, loses one answer in ten, and limits its requests. The same key gets the same record.
 */
export class Dns {
  readonly records = new Map<string, StoredRecord>();
  /** How many were made of each hostname. */
  readonly made = new Map<string, number>();
  isBad = true;
  readonly #byKey = new Map<string, string>();
  readonly #shown = new Map<string, readonly Shown[]>();
  #requests = 0;
  #second = 0;
  #inSecond = 0;

  readonly server = createServer((request, response) => {
    void text(request).then((body) => {
      this.#requests += 1;
      if (this.#isTooMuch()) {
        answer(response, 429, {}, { 'retry-after': '1' });
        return;
      }
      if (this.isBad && this.#requests % 5 === 0) {
        answer(response, 500, {});
        return;
      }
      const [status, said] = this.#done(request, body);
      if (this.isBad && this.#requests % 10 === 3) return request.socket.destroy();
      answer(response, status, said);
    });
  });

  #isTooMuch(): boolean {
    const second = Math.floor(Date.now() / 1_000);
    this.#inSecond = second === this.#second ? this.#inSecond + 1 : 1;
    this.#second = second;
    return this.#inSecond > REQUESTS_PER_SECOND;
  }

  #done({ method, url = '' }: IncomingMessage, body: string): readonly [number, object] {
    if (method === 'POST') return [201, { id: this.#create(JSON.parse(body) as Asked) }];
    const id = url.slice(url.lastIndexOf('/') + 1);
    if (method === 'GET') return this.#show(id);
    if (method === 'DELETE') this.#keep(id, undefined);
    if (method === 'PUT' && this.records.has(id)) this.#keep(id, { ...(JSON.parse(body) as Asked), id });
    return [200, { id }];
  }

  #create({ hostname, address, idempotencyKey }: Asked): string {
    const known = this.#byKey.get(idempotencyKey);
    if (known !== undefined) return known;
    const id = `record-${this.#byKey.size + 1}`;
    this.#byKey.set(idempotencyKey, id);
    this.made.set(hostname, (this.made.get(hostname) ?? 0) + 1);
    this.#keep(id, { id, hostname, address });
    return id;
  }

  #keep(id: string, record: StoredRecord | undefined): void {
    if (record === undefined) this.records.delete(id);
    else this.records.set(id, record);
    this.#shown.set(id, [...(this.#shown.get(id) ?? []), { record, atMs: Date.now() + LAG_MS }]);
  }

  #show(id: string): readonly [number, object] {
    const { record } = this.#shown.get(id)?.findLast(({ atMs }) => atMs <= Date.now()) ?? {};
    return record === undefined ? [404, {}] : [200, record];
  }
}

interface Asked {
  readonly hostname: string;
  readonly address: string;
  readonly idempotencyKey: string;
}

function answer(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

if (import.meta.main) new Dns().server.listen(9054, '127.0.0.1');
