import type { Refusal } from '../../src/runs/decision.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { ATTEMPT_MAX_MS, type KeyedAttempt } from '../../src/runs/run.ts';
import { unknownSince, type UnknownAttempt } from '../../src/api/unknown-attempt.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { errorFromAnswer, errorFromFailure } from '../../src/kubernetes/errors.ts';
import type { KnownObservation } from '../../activities/run-memory.ts';
import { StepRun, type StepEnd } from '../../activities/step-run.ts';
import { type Reconciler, type AttemptContext } from '../../activities/reconciler.ts';
import type { ServerAnswer, Request } from './api-server.ts';
import { START_MS } from './cluster.ts';
import { Violation } from './explorer.ts';
import { datumOf, valueOf, type Datum } from './values.ts';

/*
 * One attempt of a step activity. A promise that waits can be neither copied nor compared. So an attempt is what it
 * began with and the answers that it got; to go on, the activity's own code runs from the beginning, is given those
 * answers again, and stops at the first request that is not answered yet. The same leads to the same, so each is run
 * once.
 */
export interface Attempt {
  /** The name of the step, or `observe`. */
  readonly step: string;
  /** What it began with, if anything: a `Known`. */
  readonly known: Datum | null;
  /** What its process watched as it began. Only where a world says that it is read. */
  readonly watched?: Datum;
  readonly answers: readonly Datum[];
  /** Of the execution of the step: the same for all its attempts. Only where a world has an outside. */
  readonly key?: string;
  /** As it began. */
  readonly clockMs: number;
  /** Of the step that was refused last. */
  readonly refusal: Refusal | null;
  /** As far as its process knew when it began. */
  readonly isNamespacePaused?: true;
  /** No step of its run has ended yet. */
  readonly isFirst?: true;
  /** Attempts whose outcome is not known: as its run has them, and those of which that does not know. */
  readonly unknown?: readonly UnknownAttempt[];
  readonly unknownHere?: readonly UnknownAttempt[];
  /** Only of a step whose data has a digest. */
  readonly keyed?: KeyedAttempt;
}

/** What the server said, or that nobody knows. */
export interface Received {
  readonly answer: ServerAnswer | 'lost';
  /** After it, the time of the step is up. */
  readonly isLate?: true;
  /** As far as its process knows by then. */
  readonly isNamespacePaused?: true;
}

/** Where an attempt is. */
export type AttemptProgress =
  | { readonly at: 'request'; readonly request: Request }
  | { readonly at: 'end'; readonly end: StepEnd<unknown>; readonly writes: number }
  | { readonly at: 'failure'; readonly error: unknown; readonly writes: number; readonly hasBegun: boolean };

/** A controller's own code, whatever its types. */
export type AnyReconciler = Reconciler;

/** What an activity reaches: the API server, and outside systems by the names of their calls. */
export interface ExploringClient extends KubernetesClient {
  call(name: string, args: readonly unknown[]): Promise<unknown>;
}

export type SimulatedActivity = (
  client: ExploringClient,
  context: Omit<AttemptContext, 'superseded'>,
  attempt: { readonly step: string; readonly known: unknown },
) => Promise<StepEnd<unknown>>;

/** Later than any step may go on. */
export const LATE_MS = 60_000;

/** The steps of a controller, under the annotations that all have in common: as they are, or with what is broken on purpose. */
export type StepActivityWith = (broken: (its: AnyReconciler) => AnyReconciler) => SimulatedActivity;

export function activityOf<O>(reconcilerFor: (client: ExploringClient) => Reconciler<O>): StepActivityWith {
  return (broken) =>
    (client, context, { step, known }) => {
      const superseded = new AbortController().signal;
      // It is given nothing but what it has made itself.
      const reconciler = broken(reconcilerFor(client));
      // It is what a step of the same controller has left.
      return new StepRun(reconciler, { ...context, superseded }).perform(
        step,
        known as KnownObservation | undefined,
      );
    };
}

export class ExploredAttempts {
  readonly #activity: SimulatedActivity;
  readonly #progress = new Map<string, AttemptProgress>();
  /** The same, of attempts that were asked about before. */
  readonly #known = new WeakMap<Attempt, AttemptProgress>();

  constructor(activity: SimulatedActivity) {
    this.#activity = activity;
  }

  /** @param attempt is not changed any more */
  async progressOf(ref: ResourceRef, attempt: Attempt): Promise<AttemptProgress> {
    const known = this.#known.get(attempt);
    if (known !== undefined) return known;
    const key = keyOf(ref, attempt);
    const progress = this.#progress.get(key) ?? (await this.#replay(ref, attempt));
    this.#progress.set(key, progress);
    this.#known.set(attempt, progress);
    return progress;
  }

  /** Whether it asked for something else when it came so far before. */
  #isUnlike(ref: ResourceRef, before: Attempt, sent: Request): boolean {
    const known = this.#progress.get(keyOf(ref, before));
    return known?.at === 'request' && JSON.stringify(known.request) !== JSON.stringify(sent);
  }

  #replay(ref: ResourceRef, attempt: Attempt): Promise<AttemptProgress> {
    const { step, known, watched, answers, clockMs, refusal, isFirst, keyed, key, ...began } = attempt;
    const { unknown, unknownHere } = began;
    const begunMs = START_MS + clockMs;
    let hasBegun = false;
    return new Promise((resolve, reject) => {
      let isNamespacePaused = began.isNamespacePaused ?? false;
      let nowMs = begunMs;
      let asked = 0;
      let writes = 0;
      const request = <T>(options: Sent): Promise<T> => {
        const datum = answers[asked];
        const sent = asSent(options);
        if (datum === undefined) {
          resolve({ at: 'request', request: sent });
          return new Promise(() => undefined);
        }
        const differs = this.#isUnlike(ref, { ...attempt, answers: answers.slice(0, asked) }, sent);
        asked += 1;
        if (differs) {
          reject(new Violation(`${step} ${UNREPEATABLE}`));
          return new Promise(() => undefined);
        }
        const received = valueOf<Received>(datum);
        if (received.isLate) nowMs += LATE_MS;
        isNamespacePaused = received.isNamespacePaused ?? false;
        if (isWrite(sent) && hasSucceeded(received)) writes += 1;
        return answered<T>(options, received);
      };
      const context = {
        ...{ ref, now: () => nowMs, refusal: refusal ?? undefined, isFirst: () => isFirst === true },
        ...(key !== undefined && { idempotencyKey: () => key }),
        ...(keyed && {
          idempotencyKey: () => keyed.idempotencyKey,
          asking: { ...keyed, otherData: 0 },
          unknownNow: () => (hasBegun ? unknownSince(keyed, begunMs, ATTEMPT_MAX_MS) : undefined),
        }),
        begins: () => {
          hasBegun = true;
        },
        ...(watched !== undefined && { watched: () => valueOf(watched) }),
        ...(unknown && { unknown }),
        ...(unknownHere && { unknownHere }),
        isNamespacePaused: () => Promise.resolve(isNamespacePaused),
      };
      const given = { step, known: known === null ? undefined : valueOf(known) };
      this.#activity(clientOf(request), context, given).then(
        (end) => {
          if (asked < answers.length) reject(new Violation(`${step} ${UNREPEATABLE}`));
          else resolve({ at: 'end', end, writes });
        },
        (error: unknown) => {
          if (error instanceof Violation) reject(error);
          else resolve({ at: 'failure', error, writes, hasBegun });
        },
      );
    });
  }
}

/** All that it depends on. */
function keyOf({ uid }: ResourceRef, attempt: Attempt): string {
  const { step, known, watched, answers, key, keyed, clockMs, refusal } = attempt;
  const { isNamespacePaused, isFirst, unknown, unknownHere } = attempt;
  const its = [key, keyed, isFirst, unknown, unknownHere];
  const began = [known, watched, clockMs, refusal, isNamespacePaused, ...its];
  return JSON.stringify([uid, step, began, answers]);
}

/** What an activity sends: to the API server, or to an outside system. */
type Sent = Pick<RequestOptions, Exclude<keyof Request, 'method'>> & Pick<Request, 'method'>;

const UNREPEATABLE =
  'asks for something else where it runs again with the same answers: it keeps something in a variable, or its requests depend on the clock or on chance';

/** As the server gets it. */
function asSent({ method, path, query, body, metadataOnly }: Sent): Request {
  return JSON.parse(JSON.stringify({ method, path, query, body, metadataOnly })) as Request;
}

/** To the API server. */
export function isWrite({ method, query }: Pick<Request, 'method' | 'query'>): boolean {
  return method !== 'GET' && method !== 'CALL' && query?.['dryRun'] === undefined;
}

function hasSucceeded({ answer }: Received): boolean {
  return answer !== 'lost' && 'body' in answer;
}

/** What the client resolves with is what its caller expects of this path. */
function answered<T>({ method, path }: Sent, { answer }: Received): Promise<T> {
  if (answer === 'lost') return Promise.reject(errorFromFailure(`${method} ${path}`, 'connection reset'));
  if ('body' in answer) return Promise.resolve(answer.body as T);
  return Promise.reject(errorFromAnswer(`${method} ${path}`, answer.failed));
}

function clientOf(request: <T>(sent: Sent) => Promise<T>): ExploringClient {
  return {
    call: (name, body) => request({ method: 'CALL', path: name, body }),
    server: 'the explorer',
    fieldManager: 'durable-operator',
    request,
    watch: () => {
      throw new Error('steps do not watch');
    },
    close: () => Promise.resolve(),
  };
}

export function receivedBy(attempt: Attempt, received: Received): Attempt {
  return { ...attempt, answers: [...attempt.answers, datumOf(received)] };
}
