export interface RequestLimit {
  readonly timeoutMs?: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Of the error when the time is over. */
  readonly late?: string;
}

/**
 * Ends the work after a time, or by the caller's signal. It does not wait for the work to notice: undici looks at the signal of a
 * request only once that has its turn on a connection, and a plugin may have left a process that holds its output open.
 */
export function withinLimit<A>(
  { timeoutMs, signal, late = `no response within ${timeoutMs ?? 0} ms` }: RequestLimit,
  work: (signal: AbortSignal) => Promise<A>,
): Promise<A> {
  if (signal?.aborted) return Promise.reject(new Error('aborted'));
  const ending = new AbortController();
  return new Promise((resolve, reject) => {
    const end = (reason: Error): void => {
      reject(reason);
      ending.abort(reason);
    };
    const onAbort = (): void => end(new Error('aborted'));
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => end(new Error(late)), timeoutMs);
    signal?.addEventListener('abort', onAbort);
    work(ending.signal)
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      });
  });
}
