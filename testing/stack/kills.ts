import type { TestOperator } from './test-stack.ts';
import type { ApiProxy, Journalled } from './api-proxy.ts';

/** So many writes nobody makes for one story: the controller goes on writing. */
const WRITES_MAX = 100;

interface Round {
  readonly operator: TestOperator;
  /** Between the operator and the API server. */
  readonly proxy: ApiProxy;
  /** Which write is the operator's last. */
  readonly nth: number;
  readonly story: () => Promise<void>;
}

/**
 * Kills the operator once the server has made its n-th write, before it knows, and starts it again.
 *
 * @returns the write; undefined: there was no n-th
 * @throws Error of the story, with the write
 */
export async function killedAfterWrite({ operator, proxy, nth, story }: Round): Promise<string | undefined> {
  let writes = 0;
  let write: string | undefined;
  let restarted: Promise<void> | undefined;
  proxy.judge = (request) => {
    if (!isWrite(request)) return {};
    writes += 1;
    if (writes !== nth) return {};
    write = inWords(request);
    const restart = () => {
      restarted = operator.kill().then(() => operator.start());
    };
    return { isAnswerLost: true, afterCommit: restart };
  };
  try {
    if (nth > WRITES_MAX) throw new Error(`the operator makes more than ${WRITES_MAX} writes`);
    await story();
  } catch (error) {
    const because = error instanceof Error ? error.message : String(error);
    const when = write === undefined ? 'without a kill' : `killed after write ${nth}, ${write}`;
    throw new Error(`${when}: ${because}`, { cause: error });
  } finally {
    // A write that comes after the story would start an operator that nobody stops.
    proxy.judge = () => ({});
    await restarted;
  }
  return write;
}

function isWrite({ method, about: { resource } }: Journalled): boolean {
  return method !== 'GET' && resource !== 'events' && resource !== 'leases';
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PATCH: 'patch',
  PUT: 'update',
  DELETE: 'delete',
};

function inWords({ method, about: { resource, name, subresource }, body }: Journalled): string {
  const created = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name;
  const what = [resource, name || created, subresource].filter(Boolean).join('/');
  return `${VERBS[method] ?? method} ${what}`;
}
