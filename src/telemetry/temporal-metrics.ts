import { createServer, type AddressInfo } from 'node:net';

const LOOPBACK = '127.0.0.1';
const PATIENCE_MS = 2_000;

/**
 * An address of loopback for the metrics that Temporal's SDK serves by itself, which can be told no other way
 * than where to listen; nobody but this process is to ask there.
 */
export async function addressForTemporalMetrics(): Promise<string> {
  const server = createServer();
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: LOOPBACK, port: 0 }, () => resolve(portOf(server.address())));
  });
  await new Promise((resolve) => server.close(resolve));
  return `${LOOPBACK}:${port}`;
}

/** In Prometheus' text format; empty where they cannot be had: the others are worth having without them. */
export async function temporalMetrics(address: string): Promise<string> {
  try {
    const answer = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    return answer.ok ? await answer.text() : '';
  } catch {
    return '';
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address === 'object' && address !== null) return address.port;
  throw new Error('a server that listens on a port has none');
}
