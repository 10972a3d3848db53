import { AsyncLocalStorage } from 'node:async_hooks';
import { StepError, type StepErrorClass } from '../src/api/step-error.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { wordsOf, type ServerAnswer, type Request } from './explorer/api-server.ts';
import type { ExploringClient } from './explorer/attempt.ts';
import type { SimulatedCluster } from './explorer/cluster.ts';
import { Violation } from './explorer/explorer.ts';

type Call = (...args: never[]) => unknown;

/**
 * The functions of a fake, as a client has them: each answers with a promise. `this` and the state behind them are the kit's own
 * copies.
 */
export type CallsOf<Outside extends object> = {
  readonly [Name in keyof Outside as Outside[Name] extends Call ? Name : never]: Outside[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** The state of a fake: what is no function. */
export type StateOf<Outside extends object> = {
  -readonly [Name in keyof Outside as Outside[Name] extends Call ? never : Name]: Outside[Name];
};

/** The fake's state is kept like an object of the cluster. */
export const OUTSIDE = 'outside/state';
export const OUTSIDE_TYPE = {
  ...{ group: 'outside', version: 'v1', plural: 'outside', kind: 'Outside' },
  namespaced: false,
} as const;

/** What an exploration keeps of a fake. */
export interface Kept {
  readonly state: Readonly<Record<string, unknown>>;
  /** The call that changed it last, and how often in a row. */
  readonly last: readonly [call: string, times: number] | null;
}

interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly classification?: StepErrorClass;
  readonly retryAfterMs?: number;
}

type CallAnswer = { readonly value?: unknown } | { readonly thrown: Thrown };

interface Answered {
  readonly answer: CallAnswer;
  readonly after: Kept['state'];
  readonly isChange: boolean;
}

/** An outside system that is plain state with functions on it. */
export class Fake {
  readonly #fake: object;
  readonly #client = new AsyncLocalStorage<ExploringClient>();
  /** How often each call changes something in a row where nothing fails. */
  readonly #timesInARow = new Map<string, number>();
  /** What comes of each request in a state. */
  readonly #answers = new WeakMap<Kept['state'], Map<string, Answered>>();
  /** Nothing fails now. */
  isLearning = true;

  constructor(fake: object) {
    this.#fake = fake;
  }

  /** Its functions, for the controller: they go through the exploration, which may lose, repeat and delay them. */
  calls(): object {
    const calls = namesOf(this.#fake).map((name) => {
      const call = (...args: readonly unknown[]) => this.#call(name, plain(args));
      return [name, call] as const;
    });
    return Object.fromEntries(calls);
  }

  /** The same work, whose calls go through this client. */
  through<T>(client: ExploringClient, work: () => Promise<T>): Promise<T> {
    return this.#client.run(client, work);
  }

  /** Whether the controller is at work here. */
  get isInUse(): boolean {
    return this.#client.getStore() !== undefined;
  }

  async #call(name: string, args: readonly unknown[]): Promise<unknown> {
    const client = this.#client.getStore();
    if (client === undefined) throw new Error(`${name} is called outside of observe and run`);
    const answer = (await client
      .call(name, args)
      .catch((error: unknown) => asLost(name, error))) as CallAnswer;
    if ('thrown' in answer) throw errorOf(answer.thrown);
    return answer.value;
  }

  initial(): Kept {
    return { state: this.stateIn(this.#fake), last: null };
  }

  /** The fake with a state of its own, which may be changed. */
  withState(state: Readonly<Record<string, unknown>>): object {
    const copy = Object.create(Object.getPrototypeOf(this.#fake) as object) as Record<string, unknown>;
    for (const [name, value] of Object.entries(this.#fake))
      if (typeof value === 'function') copy[name] = value;
    return Object.assign(copy, structuredClone(state));
  }

  stateIn(fake: object): Kept['state'] {
    return plain(Object.fromEntries(Object.entries(fake).filter(([, value]) => typeof value !== 'function')));
  }

  changes(request: Request, cluster: SimulatedCluster): boolean {
    const { state } = keptIn(cluster);
    return this.#answer(request, state).isChange;
  }

  /** @throws Violation */
  serve(request: Request, cluster: SimulatedCluster): ServerAnswer {
    const kept = keptIn(cluster);
    const { answer, after, isChange } = this.#answer(request, kept.state);
    if (isChange) keep(cluster, { state: after, last: this.#countInARow(request, kept) });
    return { body: answer };
  }

  /** What would be an idempotent call changes nothing when it comes again. */
  #countInARow(request: Request, { last }: Kept): Kept['last'] {
    const call = wordsOf(request);
    const times = last?.[0] === call ? last[1] + 1 : 1;
    const most = this.#timesInARow.get(call) ?? 1;
    if (this.isLearning) this.#timesInARow.set(call, Math.max(most, times));
    else if (times > most)
      throw new Violation(
        `${call} takes effect ${times === 2 ? 'twice' : `${times} times`} in a row: ${TWICE}`,
      );
    return [call, times];
  }

  #answer(request: Request, state: Kept['state']): Answered {
    const answers = this.#answers.get(state) ?? new Map<string, Answered>();
    this.#answers.set(state, answers);
    const key = JSON.stringify([request.path, request.body]);
    const answered = answers.get(key) ?? this.#asked(request, state);
    answers.set(key, answered);
    return answered;
  }

  #asked({ path, body }: Request, state: Kept['state']): Answered {
    const fake = this.withState(state);
    try {
      const call = (fake as Record<string, (...args: readonly unknown[]) => unknown>)[path];
      const value = call?.apply(fake, structuredClone(body) as unknown[]);
      if (value instanceof Promise)
        throw new Violation(`the fake's ${path} must answer at once, without a promise`);
      const after = this.stateIn(fake);
      return { answer: plain({ value }), after, isChange: JSON.stringify(after) !== JSON.stringify(state) };
    } catch (error) {
      if (error instanceof Violation) throw error;
      return { answer: { thrown: plain(thrownOf(error)) }, after: state, isChange: false };
    }
  }
}

const TWICE =
  'an attempt may be repeated, and may take effect late; hand over the idempotencyKey, or use a name that a second attempt chooses again';

export function keptIn(cluster: SimulatedCluster): Kept {
  const kept = cluster.get(OUTSIDE);
  if (kept === undefined) throw new Error('there is no outside system; this is a bug');
  return kept as unknown as Kept;
}

export function keep(cluster: SimulatedCluster, kept: Kept): void {
  cluster.change(OUTSIDE, ({ metadata }) => ({ metadata, ...kept }));
}

function namesOf(fake: object): readonly string[] {
  const names = new Set<string>();
  for (let each = fake; each !== Object.prototype; each = Object.getPrototypeOf(each) as object)
    for (const name of Object.getOwnPropertyNames(each)) names.add(name);
  names.delete('constructor');
  return [...names].filter((name) => typeof (fake as Record<string, unknown>)[name] === 'function');
}

/** As it would be after a way over the network. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function asLost(name: string, error: unknown): never {
  // As Node has it.
  if (error instanceof ApiError && name === 'fetch') throw new TypeError('fetch failed');
  if (error instanceof ApiError) throw new StepError('unavailable', 'the outside system does not answer');
  throw error;
}

function thrownOf(error: unknown): Thrown {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message } = error;
  return { ...Object.fromEntries(Object.entries(error)), name, message };
}

/** The exploration itself decides when a system is away: what a fake throws is so until something changes. */
function errorOf({ name, message, classification, ...more }: Thrown): Error {
  if (classification === undefined) return Object.assign(new Error(message), more, { name });
  const isKept = classification === 'access-denied' || classification === 'never';
  return new StepError(isKept ? classification : 'refused', message);
}
