import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Respond = (response: ServerResponse, request: IncomingMessage) => unknown;

/** Serves files of loopback by their paths. */
export class FileServer {
  /** The `range` of each request, in order. */
  readonly ranges: (string | undefined)[] = [];
  readonly #files = new Map<string, Respond>();
  readonly #server: Server = createServer((request, response) => {
    this.ranges.push(request.headers.range);
    const respond = this.#files.get(request.url ?? '') ?? ((missing) => missing.writeHead(404).end());
    respond(response, request);
  });

  async start(): Promise<void> {
    this.#server.listen({ port: 0, host: '127.0.0.1' });
    await once(this.#server, 'listening');
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  on(path: string, respond: Respond): void {
    this.#files.set(path, respond);
  }

  /** As servers of releases do: whole, or from an offset. */
  serve(path: string, content: Buffer): void {
    this.on(path, (response, { headers }) => {
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
      if (from > 0 && from >= content.length) return response.writeHead(416).end();
      const rest = content.subarray(from);
      return response.writeHead(206, { 'content-length': rest.length }).end(rest);
    });
  }
}
