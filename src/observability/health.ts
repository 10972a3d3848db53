import { createServer, type IncomingMessage } from 'node:http';
import type { Logger } from '../api/logger.ts';
import {
  listen,
  requestPath,
  rejectionOf,
  sendText,
  type ListenAddress,
  type ListeningServer,
  type TextResponse,
} from './http-server.ts';

/** A sentence for people: `watch of pods: no event for 95 s`. */
export type Problem = string;

export interface Health {
  /** Why the process has to be restarted; empty if it does not. */
  readonly live: readonly Problem[];
  /** Why the process cannot do its work at the moment; empty if it can. */
  readonly ready: readonly Problem[];
}

export interface HealthServerOptions {
  readonly address: ListenAddress;
  /** Called on every request, so it must be quick. */
  readonly health: () => Health;
  readonly log: Logger;
}

/**
 * Serves `/healthz` and `/readyz`: 200 `ok`, or 503 with one line per problem.
 *
 * @throws ConfigurationError if it cannot listen on the address
 */
export async function startHealthServer(options: HealthServerOptions): Promise<ListeningServer> {
  const { address, log } = options;
  const server = createServer((request, response) =>
    sendText(request, response, responseTo(request, options)),
  );
  return listen(server, { address, serves: 'health', flag: '--health-addr', log });
}

function responseTo(request: IncomingMessage, options: HealthServerOptions): TextResponse {
  const rejection = rejectionOf(request, ['/healthz', '/readyz']);
  if (rejection !== undefined) return rejection;
  const problems = problemsOf(requestPath(request) === '/readyz' ? 'ready' : 'live', options);
  if (problems.length === 0) return { status: 200, body: 'ok\n' };
  return { status: 503, body: problems.map((problem) => `${oneLine(problem)}\n`).join('') };
}

/** A check that throws is a problem too: the kubelet gets a response. */
function problemsOf(probe: keyof Health, { health, log }: HealthServerOptions): readonly Problem[] {
  try {
    return health()[probe];
  } catch (err) {
    log.error({ err }, 'a health check failed');
    return [`a health check failed: ${err instanceof Error ? err.message : String(err)}`];
  }
}

function oneLine(problem: Problem): string {
  return problem.replaceAll(/\s*[\r\n]+\s*/g, ' ');
}
