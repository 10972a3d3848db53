import type { TlsOptions } from 'node:tls';
import { TemporalProxy } from './temporal-proxy.ts';

interface GateOptions {
  /** The server behind it, as `127.0.0.1:7233`, in the clear. */
  readonly temporalAddress: string;
  readonly tls: TlsOptions;
  /** The API key that every call must bear; none: whoever gets through TLS may call. */
  readonly apiKey?: string;
  /** Nobody may register search attributes, as in Temporal Cloud. */
  readonly deniesRegistration?: boolean;
}

/** What stands before a Temporal server that is not for everybody: TLS, and an API key as Temporal Cloud wants it. */
export interface TemporalGate {
  /** `localhost:<port>` */
  readonly address: string;
  close(): Promise<void>;
}

/** As Temporal Cloud answers. */
const UNAUTHENTICATED = { 'grpc-status': '16', 'grpc-message': 'invalid API key' };
const DENIED = { 'grpc-status': '7', 'grpc-message': 'Request unauthorized.' };

export async function startTemporalGate({
  temporalAddress,
  tls,
  apiKey,
  deniesRegistration = false,
}: GateOptions): Promise<TemporalGate> {
  const proxy = await TemporalProxy.start(temporalAddress, tls);
  proxy.judge = (_, { authorization, ':path': path = '' }) => {
    if (apiKey !== undefined && authorization !== `Bearer ${apiKey}`) return UNAUTHENTICATED;
    return deniesRegistration && path.includes('OperatorService') ? DENIED : 'pass';
  };
  return { address: proxy.address.replace('127.0.0.1', 'localhost'), close: () => proxy.stop() };
}
