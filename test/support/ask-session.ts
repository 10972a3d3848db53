import type { Client } from '@temporalio/client';
import { answer } from '../../src/ask/command-line.ts';
import type { Session, SessionOptions, TemporalAccess } from '../../src/ask/session.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { RunReader } from '../../src/temporal/run-reader.ts';

export const NOW_MS = Date.parse('2026-01-01T12:00:00Z');

interface AskedServers extends Partial<Pick<Session, 'program' | 'temporal'>> {
  /** Is told where the words say to ask. */
  readonly onOpen?: (options: SessionOptions) => void;
  /** Is told that the session is closed. */
  readonly onClose?: () => void;
  /** Aborted by Ctrl-C. Default: nobody presses it. */
  readonly signal?: AbortSignal;
  /** Default: always NOW_MS. */
  readonly now?: () => number;
  /** What the API server answers, or an error. Default: the test asks nothing of it. */
  readonly answerTo?: (request: RequestOptions) => unknown;
}

/** What a command says in namespace `shop`, in this process, where the servers are the test's own. */
export async function asked(words: readonly string[], servers: AskedServers = {}) {
  const said = { stdout: '', stderr: '' };
  const { program = durableOperator } = servers;
  const status = await answer(words, {
    program,
    stdout: { write: (text) => (said.stdout += text) },
    stderr: { write: (text) => (said.stderr += text) },
    ...{ env: {}, isTerminal: false, now: servers.now ?? (() => NOW_MS) },
    signal: servers.signal ?? new AbortController().signal,
    open: (options) => {
      servers.onOpen?.(options);
      return Promise.resolve(sessionWith(servers));
    },
  });
  return { ...said, status };
}

const notAsked = () => Promise.reject(new Error('nothing is to be asked of it'));

/** The service of a Temporal whose workers polled so many milliseconds before NOW_MS. */
export function workersThatPolled(...agesMs: readonly number[]): TemporalAccess['call'] {
  const pollers = agesMs.map((ageMs) => ({ lastAccessTime: { seconds: (NOW_MS - ageMs) / 1_000 } }));
  const service = { workflowService: { describeTaskQueue: () => Promise.resolve({ pollers }) } };
  // Nobody calls more of the client.
  return (work) => work(service as unknown as Client);
}

/** A Temporal that knows no operator, of which only the worker that polls is asked. */
export function aTemporal(changes: Partial<TemporalAccess> = {}): TemporalAccess {
  const nobody = { settings: undefined, unreadable: undefined, otherTaskQueues: [], otherCluster: undefined };
  const runs = new RunReader({ namespace: 'default', call: notAsked });
  const where = {
    program: 'durable-operator',
    namespace: 'default',
    taskQueue: 'durable-operator',
    cluster: undefined,
  };
  return { ...where, ...nobody, call: workersThatPolled(0), runs, ...changes };
}

function sessionWith({
  program = durableOperator,
  answerTo = notAsked,
  temporal = notAsked,
  onClose = () => undefined,
}: AskedServers): Session {
  const client: KubernetesClient = {
    server: 'http://nowhere.invalid',
    fieldManager: program.name,
    // What the test answers is what the caller expects there.
    request: async <T>(request: RequestOptions) => {
      const answered = await answerTo(request);
      if (answered instanceof Error) throw answered;
      return answered as T;
    },
    watch: () => {
      throw new Error('nobody watches');
    },
    close: () => Promise.resolve(),
  };
  const linkTo = () => Promise.resolve(undefined);
  const close = () => {
    onClose();
    return Promise.resolve();
  };
  return { program, client, namespace: 'shop', temporal, linkTo, close };
}
