import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface FarTemporal {
  readonly address: string;
  /** Of each byte, each way. */
  delayMs: number;
  close(): Promise<void>;
}

/** The Temporal server of this address, at the end of a long line. */
export async function aFarTemporal(temporalAddress: string): Promise<FarTemporal> {
  const [host = '', port = ''] = temporalAddress.split(':');
  const sockets = new Set<Socket>();
  const line = { delayMs: 0 };
  const pipe = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (data) => setTimeout(() => to.writable && to.write(data), line.delayMs));
    from.on('error', () => undefined);
    from.on('close', () => to.destroy());
  };
  const server = createServer((near) => {
    const temporal = connect({ host, port: Number(port) });
    pipe(near, temporal);
    pipe(temporal, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port: listening } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return Object.assign(line, { address: `127.0.0.1:${listening}`, close });
}
