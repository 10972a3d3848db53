import { RandomIdGenerator, type IdGenerator } from '@opentelemetry/sdk-trace';

/** A run id is a UUID and a trace id has 16 bytes: they are the same, but for the dashes. */
export function traceIdOf(runId: string): string {
  return runId.replaceAll('-', '').toLowerCase();
}

/** Of the root of the run's trace, so that whoever adds to the trace knows what to hang it on. */
export function spanIdOf(runId: string): string {
  return traceIdOf(runId).slice(16);
}

/** Ids of spans by chance, but for the roots of the traces of runs. */
export class RunIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #runId: string | undefined;

  /** What `start` starts, at once and without a parent, is the root of that run's trace. */
  asRootOf<T>(runId: string, start: () => T): T {
    this.#runId = runId;
    try {
      return start();
    } finally {
      this.#runId = undefined;
    }
  }

  generateTraceId(): string {
    return this.#runId === undefined ? this.#random.generateTraceId() : traceIdOf(this.#runId);
  }

  generateSpanId(): string {
    return this.#runId === undefined ? this.#random.generateSpanId() : spanIdOf(this.#runId);
  }
}
