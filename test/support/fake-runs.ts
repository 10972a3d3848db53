import type { ChangeCertainty } from '../../src/runs/run.ts';
import { workflowIdFor, type ResourceRef } from '../../src/api/resource-ref.ts';
import type { OpenRun, Runs, SignalRequest, StartRequest } from '../../src/watcher/runs.ts';

/** A workflow engine of which the test can see every call, and in which runs end when the test says so. */
export class FakeRuns implements Runs {
  /** A start that finds an open run is none: the signal that follows it is. */
  readonly calls: string[] = [];
  /** Of each signal, whether the change was seen. */
  readonly changes: ChangeCertainty[] = [];
  /** Of each signal, the step that it calls for. */
  readonly firsts: SignalRequest['first'][] = [];
  /** What the runs were started with. */
  readonly requests: StartRequest[] = [];
  /** By workflow id. */
  readonly open = new Map<string, ResourceRef>();
  /** Those of them that wait for a change. */
  readonly stalled = new Set<string>();
  /** Thrown by every call, while it is set. */
  failure: Error | undefined;
  /** Thrown by every call about one run, by workflow id, such as its start. */
  readonly failures = new Map<string, Error>();

  start(request: StartRequest): Promise<'started' | 'already-open'> {
    const id = workflowIdFor(request.ref);
    if (this.open.has(id) && this.failure === undefined) return Promise.resolve('already-open');
    return this.#called(`start ${request.ref.name}`, () => {
      const failure = this.failures.get(id);
      if (failure !== undefined) throw failure;
      this.open.set(id, request.ref);
      this.requests.push(request);
      return 'started';
    });
  }

  signal(workflowId: string, { reason, change, first }: SignalRequest): Promise<'signalled' | 'not-open'> {
    this.changes.push(change);
    this.firsts.push(first);
    const name = workflowId.split('/')[2] ?? '';
    return this.#called(`signal ${name}: ${reason}`, () =>
      this.open.has(workflowId) ? 'signalled' : 'not-open',
    );
  }

  listOpen(): Promise<ReadonlyMap<string, OpenRun>> {
    return this.#called(
      'list',
      () => new Map([...this.open].map(([id, ref]) => [id, { ref, isStalled: this.stalled.has(id) }])),
    );
  }

  /** It was started by somebody else. */
  isOpen(ref: ResourceRef): void {
    this.open.set(workflowIdFor(ref), ref);
  }

  end(ref: ResourceRef): void {
    this.open.delete(workflowIdFor(ref));
  }

  async #called<T>(call: string, answer: () => T): Promise<T> {
    this.calls.push(call);
    await Promise.resolve();
    if (this.failure) throw this.failure;
    return answer();
  }
}
