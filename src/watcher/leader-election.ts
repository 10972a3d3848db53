import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Logger } from '../api/logger.ts';
import { isOf } from '../kubernetes/errors.ts';
import type { Lease, LeaseSpec, LeaseStore } from '../kubernetes/lease.ts';
import { microTime } from '../kubernetes/micro-time.ts';

/** Who is to lead, one at a time. */
export interface Candidate {
  /**
   * @param isLeading to be asked before each act: a process that was stopped for a while may be late
   * @param ledUntilMs another led until then or later, on the clock of `now`; -Infinity: none was seen to since this process did
   */
  lead(isLeading: () => boolean, ledUntilMs: number): void;
  /** Called at once when it leads no more. Resolves when nothing that it did as leader is in progress. */
  standBy(): Promise<void>;
}

export interface LeaderElectionOptions {
  readonly lease: LeaseStore;
  readonly candidate: Candidate;
  /** How long others wait after the leader was last heard of. */
  readonly leaseDurationMs: number;
  /** How long a leader goes on without having renewed the Lease; shorter, so that nobody leads before it has stopped. */
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly log: Logger;
  /** A clock in milliseconds that nobody sets. Default: `performance.now`. */
  readonly now?: () => number;
  /** From 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Candidates that started together do not keep asking together. */
const JITTER = 0.2;
const RELEASE_TIMEOUT_MS = 1_000;

/**
 * Takes the Lease, renews it and gives it back, as client-go's `leaderelection` does, so that both can share one.
 * A Lease is renewed as long as the candidates see it change, by their own clocks: another's is never trusted.
 */
export class LeaderElection {
  readonly identity = `${hostname()}_${randomUUID()}`;
  readonly #options: LeaderElectionOptions;
  readonly #lease: LeaseStore;
  readonly #now: () => number;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  /** While it leads: until when, unless the Lease is renewed, and what ends it then. */
  #term: { readonly untilMs: number; readonly end: NodeJS.Timeout } | undefined;
  /** Resolves when what was in progress in the last term is not any more. */
  #stoodBy: Promise<void> = Promise.resolve();
  /** The Lease as this process wrote it last. */
  #written: Lease | undefined;
  /**
   * What the Lease was last seen to say, when it was last read before it said so, and when another may take it if it goes on
   * saying so.
   */
  #observed:
    { readonly spec: string; readonly readBeforeMs: number; readonly runsOutAtMs: number } | undefined;
  #lastReadMs = -Infinity;
  #holder: string | undefined;
  #problem: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#lease = options.lease;
    this.#now = options.now ?? (() => performance.now());
    this.#log = options.log.child({ lease: options.lease.name, identity: this.identity });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Has the candidate stand by, then gives the Lease back, so that another need not wait. Safe to repeat. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return this.#running;
    this.#stopping.abort();
    this.#wake?.();
    this.#running = this.#end(this.#running);
    await this.#running;
  }

  /** By the clock: false as soon as the renewal is late, even before anything has noticed. */
  get isLeading(): boolean {
    return this.#term !== undefined && this.#now() < this.#term.untilMs;
  }

  /** What keeps it from taking part, in a sentence. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#try();
      await this.#pause(this.#waitMs());
    }
  }

  async #end(running: Promise<void> | undefined): Promise<void> {
    await running;
    this.#endTerm('stopping');
    await this.#stoodBy;
    await this.#release();
  }

  async #try(): Promise<void> {
    const askedAtMs = this.#now();
    try {
      const holder = await this.#renewOrAcquire();
      this.#worked();
      if (holder === this.identity) this.#isHeld(askedAtMs);
      else this.#isHeldBy(holder);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#failed(error);
    }
  }

  /** @returns who holds the Lease now */
  async #renewOrAcquire(): Promise<string> {
    if (this.isLeading && this.#written !== undefined && (await this.#renew(this.#written))) {
      return this.identity;
    }
    const lease = await this.#lease.read(this.#request());
    if (lease === undefined) {
      this.#written = await this.#lease.create(this.#specAfter(undefined), this.#request());
      return this.identity;
    }
    const { holderIdentity: holder = '' } = lease.spec ?? {};
    if (holder !== this.identity && !this.#hasRunOut(lease) && holder !== '') return holder;
    await this.#write(lease);
    return this.identity;
  }

  /** Without reading first. @returns false where somebody has changed or deleted it meanwhile */
  async #renew(written: Lease): Promise<boolean> {
    try {
      await this.#write(written);
      return true;
    } catch (error) {
      if (isOf(error, 'conflict', 'not-found')) return false;
      throw error;
    }
  }

  async #write(before: Lease): Promise<void> {
    this.#written = await this.#lease.replace(before, this.#specAfter(before.spec), this.#request());
  }

  #specAfter(before: LeaseSpec | undefined): LeaseSpec {
    const now = microTime(Date.now());
    const { holderIdentity, acquireTime = now, leaseTransitions = 0 } = before ?? {};
    const isOurs = holderIdentity === this.identity || before === undefined;
    return {
      ...before,
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.ceil(this.#options.leaseDurationMs / 1000),
      acquireTime: isOurs ? acquireTime : now,
      renewTime: now,
      leaseTransitions: isOurs ? leaseTransitions : leaseTransitions + 1,
    };
  }

  /** It runs out when it has been seen to say the same for as long as its holder was given. */
  #hasRunOut(lease: Lease): boolean {
    const spec = JSON.stringify(lease.spec);
    if (this.#observed?.spec !== spec) {
      const { leaseDurationSeconds } = lease.spec ?? {};
      const durationMs =
        leaseDurationSeconds === undefined ? this.#options.leaseDurationMs : leaseDurationSeconds * 1000;
      this.#observed = { spec, readBeforeMs: this.#lastReadMs, runsOutAtMs: this.#now() + durationMs };
    }
    this.#lastReadMs = this.#now();
    return this.#lastReadMs >= this.#observed.runsOutAtMs;
  }

  /** Others see the renewal after it was asked for, and so wait for longer than this term lasts. */
  #isHeld(askedAtMs: number): void {
    const { renewDeadlineMs, candidate } = this.#options;
    if (!this.isLeading) this.#endTerm(this.#late);
    const untilMs = askedAtMs + renewDeadlineMs;
    const leftMs = untilMs - this.#now();
    if (leftMs <= 0) return;
    const isRenewal = this.#term !== undefined;
    clearTimeout(this.#term?.end);
    this.#term = { untilMs, end: setTimeout(() => this.#endTerm(this.#late), leftMs) };
    const { readBeforeMs: ledUntilMs = -Infinity } = this.#observed ?? {};
    this.#observed = undefined;
    if (isRenewal) return;
    this.#holder = this.identity;
    this.#log.info({}, 'became leader: this process starts and signals runs');
    candidate.lead(() => this.isLeading, ledUntilMs);
  }

  #isHeldBy(holder: string): void {
    this.#endTerm(`${holder} has taken the Lease`);
    if (this.#holder === holder) return;
    this.#holder = holder;
    this.#log.info({ holder }, 'standing by: another process is the leader');
  }

  get #late(): string {
    return `cannot renew the Lease within ${this.#options.renewDeadlineMs / 1000} s`;
  }

  #endTerm(why: string): void {
    if (this.#term === undefined) return;
    clearTimeout(this.#term.end);
    this.#term = undefined;
    const level = this.#stopping.signal.aborted ? 'info' : 'warn';
    this.#log[level]({}, `no longer leading: ${why}`);
    this.#stoodBy = this.#options.candidate.standBy();
  }

  #worked(): void {
    if (this.#problem !== undefined) this.#log.info({}, 'the Lease can be read and written again');
    this.#problem = undefined;
  }

  #failed(error: unknown): void {
    if (isOf(error, 'conflict', 'already-exists')) {
      this.#log.debug({ err: error }, 'another process wrote the Lease in the meantime');
      return;
    }
    const level = this.#problem === undefined ? 'warn' : 'debug';
    this.#log[level]({ err: error }, 'cannot read or write the Lease; retrying');
    this.#problem = `leader election: ${error instanceof Error ? error.message : String(error)}`;
  }

  async #release(): Promise<void> {
    try {
      await this.#giveBack().catch((error: unknown) => {
        // A renewal that was dropped on its way has arrived after all.
        if (isOf(error, 'conflict')) return this.#giveBack();
        throw error;
      });
    } catch (error) {
      const consequence = 'the next leader has to wait until it expires';
      this.#log.warn({ err: error }, `cannot release the Lease: ${consequence}`);
    }
  }

  async #giveBack(): Promise<void> {
    const request = { timeoutMs: RELEASE_TIMEOUT_MS };
    const lease = await this.#lease.read(request);
    if (lease?.spec?.holderIdentity !== this.identity) return;
    await this.#lease.replace(lease, released(lease.spec), request);
    this.#log.info({}, 'released the Lease');
  }

  /** A second try fits into the time that a leader has. */
  #request() {
    return { timeoutMs: this.#options.renewDeadlineMs / 2, signal: this.#stopping.signal };
  }

  /** Who stands by looks at the very moment when the Lease runs out, too. */
  #waitMs(): number {
    const { retryPeriodMs, random = Math.random } = this.#options;
    if (this.isLeading) return retryPeriodMs;
    const waitMs = retryPeriodMs * (1 + JITTER * random());
    const leftMs = (this.#observed?.runsOutAtMs ?? 0) - this.#now();
    return leftMs > 0 ? Math.min(waitMs, leftMs) : waitMs;
  }

  #pause(ms: number): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** As client-go releases: nobody holds it, and who sees it so takes it at once. */
function released({ leaseTransitions = 0 }: LeaseSpec): LeaseSpec {
  const now = microTime(Date.now());
  return { leaseDurationSeconds: 1, leaseTransitions, acquireTime: now, renewTime: now };
}

const POD_NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/**
 * Where the Lease is: in the namespace that was named, else in the Pod's own.
 *
 * @param file where a Pod finds the name of its namespace
 * @throws ConfigurationError
 */
export function leaseNamespace(named: string | undefined, file = POD_NAMESPACE_FILE): string {
  if (named !== undefined) return named;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ConfigurationError(
      'leader election: the namespace of the Lease is unknown outside a Pod; set --leader-election-namespace NAME',
      { cause },
    );
  }
}
