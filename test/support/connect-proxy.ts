import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';

/** A proxy on loopback. Whatever host is asked for, its tunnels end at one server. */
export interface ConnectProxy {
  readonly url: string;
  /** `HOST:PORT` as asked for, with what authorized it. */
  readonly tunnels: { readonly to: string | undefined; readonly authorization: string | undefined }[];
  close(): Promise<void>;
}

/** @param port of the server on loopback */
export async function aConnectProxy(port: number): Promise<ConnectProxy> {
  const tunnels: ConnectProxy['tunnels'] = [];
  const sockets = new Set<Socket>();
  const server = createServer().on('connection', (socket) => sockets.add(socket));
  server.on('connect', (request, socket, head) => {
    tunnels.push({ to: request.url, authorization: request.headers['proxy-authorization'] });
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    tunnels,
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
}
