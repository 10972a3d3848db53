import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import type { OpenRun, Runs, StartRequest } from '../../src/watcher/runs.ts';

/** A workflow engine of which the test can see every call, and in which runs end when the test says so. */
export class FakeRuns implements Runs {
  readonly calls: string[] = [];
  /** What the runs were started with. */
  readonly requests: StartRequest[] = [];
  readonly open = new Set<string>();
  /** Those of them that wait for a change. */
  readonly stalled = new Set<string>();
  /** Thrown by every call, while it is set. */
  failure: Error | undefined;

  start(request: StartRequest): Promise<'started' | 'already-open'> {
    return this.#called(`start ${request.ref.name}`, () => {
      const id = workflowIdFor(request.ref);
      if (this.open.has(id)) return 'already-open';
      this.open.add(id);
      this.requests.push(request);
      return 'started';
    });
  }

  signal(workflowId: string, reason: string): Promise<'signalled' | 'not-open'> {
    const name = workflowId.split('/')[2] ?? '';
    return this.#called(`signal ${name}: ${reason}`, () =>
      this.open.has(workflowId) ? 'signalled' : 'not-open',
    );
  }

  listOpen(): Promise<ReadonlyMap<string, OpenRun>> {
    return this.#called(
      'list',
      () => new Map([...this.open].map((id) => [id, { isStalled: this.stalled.has(id) }])),
    );
  }

  end(ref: ResourceRef): void {
    this.open.delete(workflowIdFor(ref));
  }

  #called<T>(call: string, answer: () => T): Promise<T> {
    this.calls.push(call);
    return this.failure ? Promise.reject(this.failure) : Promise.resolve(answer());
  }
}
