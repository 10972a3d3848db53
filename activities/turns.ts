import { controllerOfWorkflow } from '../src/api/resource-ref.ts';

/*
 * Whose attempts get the activity slots of this process, where more are wanted than there are. Who gets none ends at once and comes
 * again: a process sees who else waits only while it has a slot free, so some slots are kept for those who have had few.
 */

/** Between two tries for a turn. */
const AGAIN_FIRST_MS = 500;
const AGAIN_MOST_MS = 60_000;
/** Somebody who has not come again by then has got a turn elsewhere. */
const FORGOTTEN_MS = 60_000;

/** The share of the slots that one namespace has, and one controller of several. */
const NAMESPACE_SHARE = 1 / 4;
const CONTROLLER_SHARE = 1 / 2;
/** Nobody beyond their share gets one of those. */
const KEPT_SHARE = 1 / 4;
const KEPT_LEAST = 2;

export interface TurnsOptions {
  /** The most activities that the process has in progress. */
  readonly slots: number;
  /** How many controllers share them. */
  readonly controllers: number;
  /** Called with how long somebody has waited, in milliseconds, once they get a turn. */
  readonly onWaited?: (controller: string, ms: number) => void;
  /** Called each time somebody gets none. */
  readonly onDenied?: (controller: string) => void;
  /** In milliseconds, from whenever. Default: that of the process. */
  readonly clock?: { readonly now: () => number };
}

/** One attempt. */
export interface TurnRequest {
  readonly controller: string;
  /** Undefined: of a cluster-scoped resource. */
  readonly namespace: string | undefined;
  /** Of the run. */
  readonly workflowId: string;
  /** Of its controller, in this process. Default: as many as there are slots. */
  readonly concurrency: number | undefined;
  /** It is tried within a workflow task, and takes no activity slot. */
  readonly isLocal: boolean;
}

export interface Turn {
  /** To be called at the end of the attempt. */
  readonly end: () => void;
}

/** There is no turn for it now. */
export interface NoTurn {
  /** `namespace shop has its share of the activity slots` */
  readonly because: string;
  /** When to try again, in milliseconds. */
  readonly againMs: number;
}

type Taken = TurnRequest & { readonly sinceMs: number };

/** Since when somebody waits, and when they come again. */
interface Waiting {
  readonly sinceMs: number;
  readonly dueMs: number;
}

export class Turns {
  readonly #options: TurnsOptions;
  readonly #taken = new Set<Taken>();
  /** By workflow id. */
  readonly #waiting = new Map<string, Waiting>();
  /** How long a turn takes, as the last ones did. */
  #typicalMs = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  take(request: TurnRequest): Turn | NoTurn {
    const { controller, workflowId } = request;
    const nowMs = this.#nowMs();
    const full = this.#fullFor(request);
    if (full !== undefined) return this.#deny(request, full);
    const waited = this.#waiting.get(workflowId);
    if (waited !== undefined) this.#options.onWaited?.(controller, nowMs - waited.sinceMs);
    this.#waiting.delete(workflowId);
    return this.#begin(request);
  }

  /** For what has time: it comes after all that waits for a turn of its controller. Undefined: there is none for it now. */
  takeIfNobodyWaits(request: TurnRequest): Turn | undefined {
    const since = this.#nowMs() - FORGOTTEN_MS;
    const isWaiting = [...this.#waiting].some(
      ([id, { dueMs }]) => dueMs >= since && controllerOfWorkflow(id) === request.controller,
    );
    return isWaiting || this.#fullFor(request) !== undefined ? undefined : this.#begin(request);
  }

  #begin(request: TurnRequest): Turn {
    const turn = { ...request, sinceMs: this.#nowMs() };
    this.#taken.add(turn);
    return { end: () => this.#end(turn) };
  }

  /** Undefined: it gets a turn. */
  #fullFor({ controller, namespace, concurrency, isLocal }: TurnRequest) {
    const { slots, controllers } = this.#options;
    const ofController = this.#count((each) => each.controller === controller);
    if (concurrency !== undefined && ofController >= concurrency)
      return {
        most: concurrency,
        because: `controller ${controller} has as many in progress as its limits say`,
      };
    if (isLocal) return undefined;
    const taken = this.#count(({ isLocal }) => !isLocal);
    const kept = Math.min(Math.max(Math.ceil(slots * KEPT_SHARE), KEPT_LEAST), slots - 1);
    const ofNamespace = this.#count((each) => !each.isLocal && each.namespace === namespace);
    if (namespace !== undefined && ofNamespace >= Math.ceil(slots * NAMESPACE_SHARE)) {
      // Half of what is kept from a namespace is kept for other controllers, too: none of the two can take all.
      const most = slots - kept;
      return taken < most ? undefined : { most, because: `namespace ${namespace} ${HAS_ITS_SHARE}` };
    }
    if (controllers > 1 && ofController >= Math.ceil(slots * CONTROLLER_SHARE)) {
      const most = slots - Math.floor(kept / 2);
      return taken < most ? undefined : { most, because: `controller ${controller} ${HAS_ITS_SHARE}` };
    }
    return undefined;
  }

  /** Whoever comes later waits longer, about as long as those before take. */
  #deny(
    { controller, workflowId }: TurnRequest,
    { most, because }: { most: number; because: string },
  ): NoTurn {
    const nowMs = this.#nowMs();
    for (const [id, { dueMs }] of this.#waiting) if (dueMs + FORGOTTEN_MS < nowMs) this.#waiting.delete(id);
    const { sinceMs = nowMs } = this.#waiting.get(workflowId) ?? {};
    const ahead = this.#waiting.size + (this.#waiting.has(workflowId) ? 0 : 1);
    const againMs = Math.min(
      Math.max((ahead * this.#expectedMs(nowMs)) / most, AGAIN_FIRST_MS),
      AGAIN_MOST_MS,
    );
    this.#waiting.set(workflowId, { sinceMs, dueMs: nowMs + againMs });
    this.#options.onDenied?.(controller);
    return { because, againMs: Math.round(againMs) };
  }

  /** Those in progress may take longer than those that have ended. */
  #expectedMs(nowMs: number): number {
    const ages = [...this.#taken].map(({ sinceMs }) => nowMs - sinceMs);
    const mean = ages.reduce((sum, age) => sum + age, 0) / Math.max(ages.length, 1);
    return Math.max(this.#typicalMs, mean);
  }

  #end(turn: Taken): void {
    this.#taken.delete(turn);
    const tookMs = this.#nowMs() - turn.sinceMs;
    this.#typicalMs += (tookMs - this.#typicalMs) / 10;
  }

  #count(counts: (turn: Taken) => boolean): number {
    let count = 0;
    for (const each of this.#taken) if (counts(each)) count += 1;
    return count;
  }

  #nowMs(): number {
    return (this.#options.clock ?? performance).now();
  }
}

const HAS_ITS_SHARE = 'has its share of the activity slots';
