import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import type { Lease, LeaseRequest, LeaseSpec, LeaseStore } from '../../src/kubernetes/lease.ts';

export type LeaseCall = 'read' | 'create' | 'replace';

/** What becomes of a call: it fails, it is done but heard of 2 s later or never, or it is never answered. */
export type LeaseFault = ApiErrorClass | 'answer is late' | 'answer is lost' | 'no answer';

/** A Lease that several candidates share, without a server. */
export class FakeLease implements LeaseStore {
  readonly name = 'system/operator';
  readonly calls: LeaseCall[] = [];
  /** Asked for every call. */
  fault: (call: LeaseCall) => LeaseFault | undefined = () => undefined;
  #lease: Lease | undefined;
  #version = 0;

  get spec(): LeaseSpec | undefined {
    return this.#lease?.spec;
  }

  get holder(): string | undefined {
    return this.spec?.holderIdentity;
  }

  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** Somebody writes it, as with kubectl; undefined: deletes it. */
  set(spec: LeaseSpec | undefined, labels: Readonly<Record<string, string>> = {}): void {
    this.#version += 1;
    const metadata = { name: 'operator', uid: 'uid', resourceVersion: String(this.#version), labels };
    this.#lease = spec && { metadata, spec };
  }

  read(request: LeaseRequest): Promise<Lease | undefined> {
    return this.#called('read', request, () => this.#lease);
  }

  create(spec: LeaseSpec, request: LeaseRequest): Promise<Lease> {
    return this.#called('create', request, () => {
      if (this.#lease !== undefined) throw failure('already-exists');
      return this.#write(spec);
    });
  }

  replace({ metadata }: Lease, spec: LeaseSpec, request: LeaseRequest): Promise<Lease> {
    return this.#called('replace', request, () => {
      if (this.#lease === undefined) throw failure('not-found');
      if (this.#lease.metadata.resourceVersion !== metadata.resourceVersion) throw failure('conflict');
      return this.#write(spec, metadata.labels);
    });
  }

  #write(spec: LeaseSpec, labels: Readonly<Record<string, string>> = {}): Lease {
    this.set(spec, labels);
    if (this.#lease === undefined) throw new Error('it was just written');
    return this.#lease;
  }

  async #called<T>(call: LeaseCall, request: LeaseRequest, done: () => T): Promise<T> {
    this.calls.push(call);
    const fault = this.fault(call);
    await Promise.resolve();
    if (fault === 'no answer') return unanswered(request);
    if (fault !== undefined && fault !== 'answer is late' && fault !== 'answer is lost') throw failure(fault);
    const answer = done();
    if (fault === 'answer is lost') return unanswered(request);
    return fault === 'answer is late' ? late(answer) : answer;
  }
}

function failure(classification: ApiErrorClass): ApiError {
  return new ApiError(`the Lease: ${classification}`, { classification });
}

function late<T>(answer: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(answer), 2_000));
}

function unanswered({ timeoutMs, signal }: LeaseRequest): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(failure('unavailable')), timeoutMs);
    signal?.addEventListener('abort', () => reject(failure('unavailable')));
  });
}
