import { StepError } from 'durable-operator';

export interface Stored {
  readonly versioned: boolean;
  readonly url: string;
}

const STORE = process.env['STORE_URL'] ?? 'http://127.0.0.1:9000';

/** Undefined: there is no such bucket. */
export async function askStore(
  method: 'GET' | 'PUT' | 'DELETE',
  id: string,
  signal: AbortSignal,
  body?: object,
): Promise<Stored | undefined> {
  const asked = { method, signal, ...(body && { body: JSON.stringify(body) }) };
  const answer = await fetch(`${STORE}/${id}`, asked).catch((error: unknown) => {
    throw new StepError('unavailable', `the store does not answer: ${String(error)}`);
  });
  if (answer.status === 404) return undefined;
  if (answer.status === 429)
    throw new StepError('retry-after', 'the store limits requests', { retryAfterMs: 5_000 });
  if (answer.status === 403)
    throw new StepError('refused', 'the store refuses it', {
      advice: ['ask the owner of the store for more'],
    });
  if (!answer.ok) throw new StepError('unavailable', `the store answers ${answer.status}`);
  return (await answer.json()) as Stored;
}
