import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ListenAddress } from '../config.ts';
import type { Logger } from '../contract/logger.ts';
import { sendText } from './http-answer.ts';
import { listen, type Listening } from './listening.ts';

/** What is wrong, as one sentence for people: `watch of pods: no event for 95 s`. */
export type Problem = string;

export interface Health {
  /** Why the process should be restarted; empty while it is fine. */
  readonly live: readonly Problem[];
  /** Why the process does not do its work at the moment; empty while it does. */
  readonly ready: readonly Problem[];
}

export interface HealthServerOptions {
  readonly address: ListenAddress;
  /** Asked at every request, so it must be quick and must not wait. */
  readonly checks: () => Health;
  readonly log: Logger;
}

/**
 * Answers GET and HEAD of `/healthz` and `/readyz`: 200 `ok`, or 503 with a line for every problem.
 *
 * @throws ConfigurationError where the address cannot be listened on
 */
export async function startHealthServer(options: HealthServerOptions): Promise<Listening> {
  const { address, log } = options;
  const server = createServer((request, response) => answer(request, response, options));
  return listen(server, { address, serves: 'health', flag: '--health-addr', log });
}

type Probe = keyof Health;

const PROBE_AT: ReadonlyMap<string, Probe> = new Map([
  ['/healthz', 'live'],
  ['/readyz', 'ready'],
]);

function answer(request: IncomingMessage, response: ServerResponse, options: HealthServerOptions): void {
  const [path = ''] = (request.url ?? '').split('?');
  const probe = PROBE_AT.get(path);
  if (probe === undefined) {
    send(request, response, { status: 404, lines: ['not found; there are /healthz and /readyz'] });
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    send(request, response, { status: 405, lines: ['method not allowed; use GET or HEAD'] });
  } else {
    const problems = problemsOf(probe, options);
    send(
      request,
      response,
      problems.length === 0 ? { status: 200, lines: ['ok'] } : { status: 503, lines: problems },
    );
  }
}

/** A check that throws is a problem by itself, not a reason to hang up on the kubelet. */
function problemsOf(probe: Probe, { checks, log }: HealthServerOptions): readonly Problem[] {
  try {
    return checks()[probe];
  } catch (err) {
    log.error({ err }, 'a health check threw');
    return [`a health check threw: ${messageOf(err)}`];
  }
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, lines }: { readonly status: number; readonly lines: readonly string[] },
): void {
  const body = lines.map((line) => `${line.replaceAll(/\s*[\r\n]+\s*/g, ' ')}\n`).join('');
  sendText(request, response, { status, body });
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
