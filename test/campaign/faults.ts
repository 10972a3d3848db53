import { unreachable } from '../../src/contract/unreachable.ts';
import type { ApiProxy, Journalled, Verdict } from './api-proxy.ts';
import type { Fault, Meddling, Requests } from './events.ts';
import { forged } from './forged.ts';
import type { Operators } from './operators.ts';
import type { Place } from './place.ts';
import { merged, POLICIES } from './rewrites.ts';
import type { Tenant } from './tenant.ts';
import type { CallVerdict, TemporalProxy } from './temporal-proxy.ts';
import type { WatchPipe } from './watch-pipe.ts';

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
  readonly tenant: Tenant;
  /** By hand, with this schedule's runs. @returns what ends it */
  readonly meddle: (how: Meddling | 'terminate') => Promise<() => void>;
  /** Undefined: others use them, too. */
  readonly servers: Servers | undefined;
}

/** With its requests, an API server takes up to a minute; here it is enough that people work meanwhile. */
const DRAINED_AFTER_MS = 3_000;

type FaultNamed<Name extends Fault['fault']> = Fault & { readonly fault: Name };

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

  /** Resolves once it goes wrong; what is done to servers is over then. */
  async begin(fault: Fault): Promise<void> {
    switch (fault.fault) {
      case 'crash':
        this.#crash(fault);
        break;
      case 'stop':
      case 'freeze':
      case 'second leader':
      case 'clock step':
        this.#disturbProcess(fault);
        break;
      case 'lost answers':
        this.#strike(fault, () => ({ isAnswerLost: true }));
        break;
      case 'resets':
        this.#strike(fault, () => ({ instead: 'reset' }));
        break;
      case 'answers':
        this.#strike(fault, (request) => ({ instead: forged(fault, request) }));
        break;
      case 'answers for a while':
        this.#refuse(fault);
        break;
      case 'slow':
        this.#strike(fault, () => ({ delayMs: fault.byMs }));
        break;
      case 'watch lag':
      case 'silence':
      case 'duplicates':
      case 'watches expire':
      case 'watches break':
        this.#disturbWatches(fault);
        break;
      case 'api server away':
        this.#takeAway(this.#world.api, fault.lastsMs);
        break;
      case 'temporal away':
        this.#takeAway(this.#world.temporal, fault.lastsMs);
        break;
      case 'temporal loses answers':
        this.#calls.add({ ...fault, left: fault.count, verdict: 'answer is lost' });
        break;
      case 'temporal refuses':
        this.#calls.add({ ...fault, left: fault.count, verdict: 'unavailable' });
        break;
      case 'terminate runs':
        await this.#world.meddle('terminate');
        break;
      case 'meddle with runs':
        this.#endAfter(fault.lastsMs, await this.#world.meddle(fault.how));
        break;
      case 'admission':
        this.#admitOtherwise(fault);
        break;
      case 'big objects':
        await this.#world.tenant.fill(fault.kind, fault.annotation);
        this.#endAfter(fault.lastsMs, () => this.#world.tenant.empty());
        break;
      case 'temporal restarts':
      case 'temporal is wiped':
      case 'api server restarts':
      case 'etcd is saved':
      case 'etcd is restored':
        await this.#disturbServers(fault);
        break;
      default:
        unreachable(fault);
    }
  }

  #disturbProcess(fault: FaultNamed<'stop' | 'freeze' | 'second leader' | 'clock step'>): void {
    const { operators } = this.#world;
    switch (fault.fault) {
      case 'stop':
        operators.restart(fault.signal, fault.lastsMs);
        break;
      case 'freeze':
        operators.freeze();
        this.#endAfter(fault.lastsMs, () => operators.thaw());
        break;
      case 'second leader':
        operators.startSecond();
        this.#endAfter(fault.lastsMs, () => operators.endSecond());
        break;
      case 'clock step':
        operators.setClock(fault.stepMs);
        this.#endAfter(fault.lastsMs, () => operators.setClock(0));
        break;
      default:
        unreachable(fault);
    }
  }

  #disturbWatches(
    fault: FaultNamed<'watch lag' | 'silence' | 'duplicates' | 'watches expire' | 'watches break'>,
  ): void {
    switch (fault.fault) {
      case 'watch lag':
        this.#lag(fault.resource ?? 'all', fault.lastsMs, (watch) => watch.release());
        break;
      case 'silence':
        this.#lag('all', fault.lastsMs, (watch) => watch.break());
        break;
      case 'duplicates':
        this.#double(true);
        this.#endAfter(fault.lastsMs, () => this.#double(false));
        break;
      case 'watches expire':
        this.#eachWatch('all', (watch) => watch.expire());
        this.#strike({ requests: { kind: 'watch' }, count: fault.count }, (request) => ({
          instead: forged({ status: 410 }, request),
        }));
        break;
      case 'watches break':
        this.#eachWatch('all', (watch) => watch.break());
        break;
      default:
        unreachable(fault);
    }
  }

  async #disturbServers(
    fault: FaultNamed<
      'temporal restarts' | 'temporal is wiped' | 'api server restarts' | 'etcd is saved' | 'etcd is restored'
    >,
  ): Promise<void> {
    const { servers } = this.#world;
    if (servers === undefined) throw new Error(`${fault.fault}: others use the servers, too`);
    switch (fault.fault) {
      case 'temporal restarts':
        return servers.restartTemporal();
      case 'temporal is wiped':
        return servers.wipeTemporal();
      case 'api server restarts':
        return servers.restartApiServer();
      case 'etcd is saved':
        return servers.saveEtcd();
      case 'etcd is restored':
        return this.#restoreEtcd(servers, fault.isDraining === true);
      default:
        return unreachable(fault);
    }
  }

  /** The server that the watches hang on answers to the end, but has nothing new to say. */
  async #restoreEtcd(servers: Servers, isDraining: boolean): Promise<void> {
    const draining = isDraining ? [...this.#world.api.watches] : [];
    for (const watch of draining) watch.drain();
    await servers.restoreEtcd();
    this.#endAfter(DRAINED_AFTER_MS, () => {
      for (const watch of draining) watch.end();
    });
  }

  #admitOtherwise({ changes, of, lastsMs }: FaultNamed<'admission'>): void {
    const { place, tenant } = this.#world;
    const { requests, patch } = POLICIES[changes];
    const name = of === 'team' ? place.team : of;
    const end = this.#strike({ requests, count: Infinity }, ({ method, path, body }) => {
      const isAbout = path.includes(name) || JSON.stringify(body).includes(name);
      return method !== 'DELETE' && isAbout ? { rewritten: merged(body, patch) } : undefined;
    });
    this.#endAfter(lastsMs, () => {
      end();
      if (changes === 'label of Job') tenant.deleteUnlabelledJob(of);
    });
  }

  #refuse({ status, requests: about, lastsMs }: FaultNamed<'answers for a while'>): void {
    const requests = { ...about, isForAWhile: true };
    const end = this.#strike({ requests, count: Infinity }, (request) => ({
      instead: forged({ status }, request),
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
    this.#world.tenant.empty();
    await this.#world.tenant.settled();
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
    { requests, count }: { readonly requests: Active['requests']; readonly count: number },
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

  #crash({ write, when, requests }: FaultNamed<'crash'>): void {
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

function matches(
  { kind, resource, method, namespace }: Requests,
  { about, isWatch, ...request }: Journalled,
  place: Place,
): boolean {
  // What the operator records for people alone is no write to anything.
  if (about.resource === 'events') return false;
  if (kind !== 'any' && kind !== kindOf(request.method, isWatch)) return false;
  if (resource !== undefined && resource !== about.resource) return false;
  if (method !== undefined && method !== request.method) return false;
  return namespace === undefined || about.namespace === place[namespace];
}

function kindOf(method: string, isWatch: boolean): Requests['kind'] {
  if (isWatch) return 'watch';
  return method === 'GET' ? 'read' : 'write';
}
