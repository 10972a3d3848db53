import { mergePatch } from '../../src/ask/plan/rehearsal.ts';
import type { ApiProxy, Journalled, Verdict } from '../../testing/stack/api-proxy.ts';
import { POLICIES, type PolicyName } from './admission.ts';
import { forged, type Answered } from './forged.ts';
import type { OneOf } from './one-of.ts';
import type { Operators } from './operators.ts';
import type { Place } from './place.ts';
import { matches, type Requests } from './requests.ts';
import { UNAVAILABLE, type CallVerdict, type TemporalProxy } from '../support/temporal-proxy.ts';
import type { WatchPipe } from '../../testing/stack/watch-pipe.ts';

/** What faults of servers need. */
export interface Servers {
  restartTemporal(): Promise<void>;
  wipeTemporal(): Promise<void>;
  restartApiServer(): Promise<void>;
  saveEtcd(): Promise<void>;
  restoreEtcd(): Promise<void>;
}

export interface FaultyWorld {
  readonly api: ApiProxy;
  readonly temporal: TemporalProxy;
  readonly operators: Operators;
  readonly place: Place;
  /** By hand: what is open of the schedule's runs. */
  readonly terminateRuns: () => Promise<void>;
  /** Undefined: others use them, too. */
  readonly servers: Servers | undefined;
}

/** With its requests, an API server takes up to a minute; here it is enough that people work meanwhile. */
const DRAINED_AFTER_MS = 3_000;

type Lasting = Readonly<Record<'lastsMs', number>>;
type Counted = Readonly<Record<'count', number>>;
type SomeRequests = Counted & { readonly requests: Requests };
type Refused = Lasting & { readonly status: Answered; readonly requests: Requests };
type Admission = Lasting & { readonly changes: PolicyName; readonly of: string };
/** Of Temporal, by the name of the method. */
type Calls = Counted & Readonly<Record<'call', string>>;

interface Crash {
  readonly write: number;
  readonly when: 'before it is sent' | 'after it is committed' | 'after the answer';
  readonly requests: Requests;
}

/** What goes wrong, with its fields. */
export type Fault = OneOf<'fault', Faults['faults']>;

/** A fault of requests that is not over. */
interface Active {
  readonly requests: Requests & { readonly isForAWhile?: boolean };
  /** Undefined: the fault is over. */
  readonly strike: (request: Journalled) => Verdict | undefined;
  isOver: boolean;
}

/** Brings about what a schedule says goes wrong, and ends it. */
export class Faults {
  readonly #world: FaultyWorld;
  readonly #active = new Set<Active>();
  readonly #calls = new Set<{ readonly call: string; left: number; readonly verdict: CallVerdict }>();
  /** How each fault that lasts for a while is ended, and when. */
  readonly #lasting = new Map<NodeJS.Timeout, () => void>();
  /** A plural, or `all`. */
  #lagging: string | undefined;
  #isDoubling = false;

  constructor(world: FaultyWorld) {
    this.#world = world;
    world.api.judge = (request) => this.#judge(request);
    world.api.onWatch = (watch) => this.#admit(watch);
    world.temporal.judge = (call) => this.#judgeCall(call);
  }

  /** What can go wrong, for a number of requests or for a while. */
  readonly faults = {
    /** The operator is killed at its n-th write from now on, from 1, and started again. */
    crash: (crash: Crash) => this.#crash(crash),
    /** The operator ends, by this signal, and is away for a while. */
    stop: ({ signal, lastsMs }: Lasting & { readonly signal: 'SIGTERM' | 'SIGKILL' }) =>
      this.#world.operators.restart(signal, lastsMs),
    freeze: ({ lastsMs }: Lasting) => {
      this.#world.operators.freeze();
      this.#endAfter(lastsMs, () => this.#world.operators.thaw());
    },
    /** A second operator that leads, too. */
    'second leader': ({ lastsMs }: Lasting) => {
      this.#world.operators.startSecond();
      this.#endAfter(lastsMs, () => this.#world.operators.endSecond());
    },
    /** The operator's wall clock is set by so much, and back. */
    'clock step': ({ stepMs, lastsMs }: Lasting & { readonly stepMs: number }) => {
      this.#world.operators.setClock(stepMs);
      this.#endAfter(lastsMs, () => this.#world.operators.setClock(0));
    },
    'lost answers': (some: SomeRequests) => void this.#strike(some, () => ({ isAnswerLost: true })),
    resets: (some: SomeRequests) => void this.#strike(some, () => ({ instead: 'reset' })),
    answers: (answers: SomeRequests & { readonly status: Answered }) =>
      void this.#strike(answers, (request) => ({ instead: forged(answers.status, request) })),
    'answers for a while': (answers: Refused) => this.#refuse(answers),
    /** Admission changes what the operator sends about one object. */
    admission: (admission: Admission) => this.#admitOtherwise(admission),
    /** They arrive late, even where the operator no longer waits for the answer. */
    slow: (slow: SomeRequests & { readonly byMs: number }) =>
      void this.#strike(slow, () => ({ delayMs: slow.byMs })),
    /** Events of watches come late. */
    'watch lag': ({ resource = 'all', lastsMs }: Lasting & { readonly resource?: string }) =>
      this.#lag(resource, lastsMs, (watch) => watch.release()),
    /** Each event comes twice. */
    duplicates: ({ lastsMs }: Lasting) => {
      this.#double(true);
      this.#endAfter(lastsMs, () => this.#double(false));
    },
    /** Open watches say nothing any more, and are cut off in the end. */
    silence: ({ lastsMs }: Lasting) => this.#lag('all', lastsMs, (watch) => watch.break()),
    /** Each watch is accepted, and ends at once. */
    'watches end at once': ({ lastsMs }: Lasting) => {
      this.#eachWatch('all', (watch) => watch.end());
      const ended = () => ({ instead: { status: 200, body: '' } });
      this.#endAfter(lastsMs, this.#strike({ requests: { kind: 'watch' }, count: Infinity }, ended));
    },
    /** Open watches end by the event 410 Gone, and the next ones are answered so. */
    'watches expire': ({ count }: Counted) => {
      this.#eachWatch('all', (watch) => watch.expire());
      const gone = (request: Journalled) => ({ instead: forged(410, request) });
      this.#strike({ requests: { kind: 'watch' }, count }, gone);
    },
    'watches break': () => this.#eachWatch('all', (watch) => watch.break()),
    'api server away': ({ lastsMs }: Lasting) => this.#takeAway(this.#world.api, lastsMs),
    'temporal away': ({ lastsMs }: Lasting) => this.#takeAway(this.#world.temporal, lastsMs),
    'temporal loses answers': (calls: Calls) => this.#judgeNext(calls, 'answer is lost'),
    'temporal refuses': (calls: Calls) => this.#judgeNext(calls, UNAVAILABLE),
    'terminate runs': () => this.#world.terminateRuns(),
    // Those below are about servers, which nobody else may use.
    'temporal restarts': () => this.#servers.restartTemporal(),
    'temporal is wiped': () => this.#servers.wipeTemporal(),
    'api server restarts': () => this.#servers.restartApiServer(),
    'etcd is saved': () => this.#servers.saveEtcd(),
    /** To what was saved last; what people have done since is done again. Draining: open watches end cleanly, and only later. */
    'etcd is restored': ({ isDraining = false }: { readonly isDraining?: boolean }) =>
      this.#restoreEtcd(isDraining),
  };

  /** Resolves once it goes wrong; what is done to servers is over then. */
  async begin(fault: Fault): Promise<void> {
    // Each takes the fields of the fault that it is named after.
    const begin = this.faults[fault.fault] as (fields: Fault) => void | Promise<void>;
    await begin(fault);
  }

  get #servers(): Servers {
    const { servers } = this.#world;
    if (servers === undefined) throw new Error('others use the servers, too');
    return servers;
  }

  #judgeNext({ call, count }: Calls, verdict: CallVerdict): void {
    this.#calls.add({ call, left: count, verdict });
  }

  /** The server that the watches hang on answers to the end, but has nothing new to say. */
  async #restoreEtcd(isDraining: boolean): Promise<void> {
    const draining = isDraining ? [...this.#world.api.watches] : [];
    for (const watch of draining) watch.drain();
    await this.#servers.restoreEtcd();
    this.#endAfter(DRAINED_AFTER_MS, () => {
      for (const watch of draining) watch.end();
    });
  }

  #admitOtherwise({ changes, of, lastsMs }: Admission): void {
    const { requests, patch } = POLICIES[changes];
    const name = of === 'team' ? this.#world.place.team : of;
    const end = this.#strike({ requests, count: Infinity }, ({ method, path, body }) => {
      const isAbout = path.includes(name) || JSON.stringify(body).includes(name);
      return method !== 'DELETE' && isAbout ? { rewritten: mergePatch(body, patch) as object } : undefined;
    });
    this.#endAfter(lastsMs, end);
  }

  #refuse({ status, requests: about, lastsMs }: Refused): void {
    const requests = { ...about, isForAWhile: true };
    const end = this.#strike({ requests, count: Infinity }, (request) => ({
      instead: forged(status, request),
    }));
    // An open watch would hear nothing of it.
    this.#eachWatch(about.resource, (watch) => watch.break());
    this.#endAfter(lastsMs, end);
  }

  /** All that still goes wrong ends; resolves once an operator is there. */
  async heal(): Promise<void> {
    for (const [timer, end] of this.#lasting) {
      clearTimeout(timer);
      end();
    }
    this.#lasting.clear();
    for (const active of this.#active) active.isOver = true;
    this.#active.clear();
    this.#calls.clear();
    await this.#world.operators.settled();
  }

  /** Those that answer for a while answer no more. */
  endRefusals(): void {
    for (const active of this.#active) if (active.requests.isForAWhile === true) active.isOver = true;
  }

  #endAfter(ms: number, end: () => void): void {
    const timer = setTimeout(() => {
      this.#lasting.delete(timer);
      end();
    }, ms);
    this.#lasting.set(timer, end);
  }

  /** @returns what ends it before its time */
  #strike(
    { requests, count }: SomeRequests & Pick<Active, 'requests'>,
    verdict: (request: Journalled) => Verdict | undefined,
  ): () => void {
    let left = count;
    const active: Active = {
      requests,
      isOver: false,
      strike: (request) => {
        left -= 1;
        if (left === 0) active.isOver = true;
        return verdict(request);
      },
    };
    this.#active.add(active);
    return () => {
      active.isOver = true;
    };
  }

  #crash({ write, when, requests }: Crash): void {
    const kill = () => this.#world.operators.killNow();
    let seen = 0;
    const active: Active = {
      requests,
      isOver: false,
      strike: () => {
        seen += 1;
        if (seen < write) return undefined;
        active.isOver = true;
        if (when === 'after it is committed') return { isAnswerLost: true, afterCommit: kill };
        if (when === 'after the answer') return { afterAnswer: kill };
        kill();
        return { instead: 'no answer' };
      },
    };
    this.#active.add(active);
  }

  #judge(request: Journalled): Verdict {
    for (const active of this.#active) {
      if (active.isOver) this.#active.delete(active);
      else if (matches(active.requests, request, this.#world.place)) {
        const verdict = active.strike(request);
        if (verdict !== undefined) return verdict;
      }
    }
    return {};
  }

  #judgeCall(call: string): CallVerdict {
    for (const each of this.#calls) {
      if (each.left === 0) this.#calls.delete(each);
      else if (each.call === call) {
        each.left -= 1;
        return each.verdict;
      }
    }
    return 'pass';
  }

  #takeAway(server: ApiProxy | TemporalProxy, lastsMs: number): void {
    server.isAway = true;
    server.cutOff();
    this.#endAfter(lastsMs, () => {
      server.isAway = false;
    });
  }

  #lag(resource: string, lastsMs: number, end: (watch: WatchPipe) => void): void {
    this.#lagging = resource;
    this.#eachWatch(resource, (watch) => watch.hold());
    this.#endAfter(lastsMs, () => {
      this.#lagging = undefined;
      this.#eachWatch(resource, end);
    });
  }

  #double(isDoubled: boolean): void {
    this.#isDoubling = isDoubled;
    for (const watch of this.#world.api.watches) watch.isDoubled = isDoubled;
  }

  /** One that is opened while others lag does so, too. */
  #admit(watch: WatchPipe): void {
    watch.isDoubled = this.#isDoubling;
    if (this.#lagging === 'all' || this.#lagging === watch.resource) watch.hold();
  }

  #eachWatch(resource: string | undefined, act: (watch: WatchPipe) => void): void {
    for (const watch of [...this.#world.api.watches]) {
      if (resource === undefined || resource === 'all' || watch.resource === resource) act(watch);
    }
  }
}
