/** The environment data of the workflow thread: shared memory with the time of its current call into a workflow. */
export const CALL_BEGAN = 'durable-operator.workflow-call-began';

/** Milliseconds of a monotonic clock that all threads share. `performance.now()` starts anew in each thread. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
