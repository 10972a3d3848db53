import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import type { DnsRecord } from './src/dns.ts';

/** Stands in for the DNS of a cloud: `node dns-server.ts` listens on 127.0.0.1:9053. */
export class Dns {
  readonly records = new Map<string, DnsRecord>();
  /** How long a record takes to be written. */
  writesMs = 0;
  /** In their order: `begins`, `ends`. */
  readonly writes: string[] = [];

  readonly server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const id = request.url?.split('/').at(-1) ?? '';
      if (request.method === 'PUT') {
        this.writes.push('begins');
        await pause(this.writesMs);
        this.writes.push('ends');
        this.records.set(id, JSON.parse(body) as DnsRecord);
      }
      if (request.method === 'DELETE') this.records.delete(id);
      const record = this.records.get(id);
      response.writeHead(record === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(record ?? {}));
    });
  });
}

if (import.meta.main) new Dns().server.listen(9053, '127.0.0.1');
