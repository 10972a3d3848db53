import { createServer } from 'node:http';

/*
 * Stands in for the directory of a company: `node directory.ts`.
 */

export class Directory {
  readonly accounts = new Set<string>();

  readonly server = createServer(({ method, url = '' }, response) => {
    const id = url.slice(1);
    if (method === 'PUT') this.accounts.add(id);
    if (method === 'DELETE') this.accounts.delete(id);
    response.writeHead(this.accounts.has(id) ? 200 : 404).end();
  });
}

if (import.meta.main)
  new Directory().server.listen(9000, '127.0.0.1', () =>
    console.log('the directory listens on 127.0.0.1:9000'),
  );
