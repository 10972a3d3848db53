/** The key under which the workflow thread is given the memory that says since when it is in a workflow. */
export const CALL_BEGAN = 'durable-operator.workflow-call-began';

/** Of a clock that all threads share and nobody sets, in milliseconds; that of `performance.now()` begins anew in each thread. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
