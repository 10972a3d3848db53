import { StepError } from 'durable-operator';

export interface Directory {
  /** Whether there is an account. */
  has(id: string, signal: AbortSignal): Promise<boolean>;
  add(id: string, signal: AbortSignal): Promise<void>;
  remove(id: string, signal: AbortSignal): Promise<void>;
}

export function directoryAt(url: string): Directory {
  const ask = async (method: 'GET' | 'PUT' | 'DELETE', id: string, signal: AbortSignal) => {
    const answer = await fetch(`${url}/${id}`, { method, signal }).catch((error: unknown) => {
      throw new StepError('unavailable', `the directory does not answer: ${String(error)}`);
    });
    if (!answer.ok && answer.status !== 404)
      throw new StepError('unavailable', `the directory answers ${answer.status}`);
    return answer.ok;
  };
  return {
    has: (id, signal) => ask('GET', id, signal),
    add: async (id, signal) => {
      await ask('PUT', id, signal);
    },
    remove: async (id, signal) => {
      await ask('DELETE', id, signal);
    },
  };
}
