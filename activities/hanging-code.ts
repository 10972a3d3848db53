import { hostname } from 'node:os';
import type { Logger } from '../src/api/logger.ts';
import { ControllerError } from '../src/engine/failing.ts';

/*
 * Code of an author that goes on although its time is over: nothing can end it but the end of the process. Its attempt is given up, so that
 * its slot is free, and until it ends, no more code is called for the same resource: else each attempt would leave another such call.
 */

/** How long code may take to end once its signal is aborted. */
const GRACE_MS = 1_000;

/** Of a controller, with the uid of a resource: how many calls go on. Whoever calls the code in this process, the worker or a poll, has to know. */
const hanging = new Map<string, number>();

/** A call of an author's function. */
export interface Call {
  /** The resource, and the name of the controller. */
  readonly of: { readonly controller: string; readonly uid: string };
  /** `observe`, or `run of step provision`. */
  readonly what: string;
  /** Its time, in milliseconds. Then its signal is aborted. Infinity: it is never given up. */
  readonly maxMs: number;
  readonly log: Logger;
}

/** Gives up on a call shortly after its time. @throws ControllerError: it hangs; or whatever it throws */
export async function untilGivenUp<T>(call: Call, work: () => Promise<T>): Promise<T> {
  if (call.maxMs === Infinity) return work();
  const working = work();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), call.maxMs + GRACE_MS);
  });
  try {
    const first = await Promise.race([working, late]);
    if (first !== LATE) return first;
  } finally {
    clearTimeout(timer);
  }
  follow(call, working);
  throw hangs(call);
}

const LATE = Symbol('late');

/** @throws ControllerError where an earlier call for the resource still goes on */
export function refuseBesideHanging(call: Pick<Call, 'of' | 'what'>): void {
  if (hanging.has(keyOf(call))) throw hangs(call);
}

function follow({ of, what, log }: Call, working: Promise<unknown>): void {
  const key = keyOf({ of });
  const count = (change: 1 | -1) => {
    const now = (hanging.get(key) ?? 0) + change;
    if (now === 0) hanging.delete(key);
    else hanging.set(key, now);
  };
  count(1);
  log.error({ what }, `${what} ignores its signal and goes on; only a restart of this process ends it`);
  const ended = () => {
    count(-1);
    log.warn({ what }, `${what} has ended, long after its signal was aborted`);
  };
  working.then(ended, ended);
}

function keyOf({ of: { controller, uid } }: Pick<Call, 'of'>): string {
  return `${controller}/${uid}`;
}

function hangs({ of: { controller }, what }: Pick<Call, 'of' | 'what'>): ControllerError {
  const pod = hostname();
  return new ControllerError(
    controller,
    {
      ...{ reason: CODE_HANGS, what },
      advice: [
        `restart ${pod}, the Pod in which it goes on: nothing else ends it`,
        `correct the controller ${controller}: hand signal to whatever it calls`,
      ],
    },
    new Error('its time is over, its signal is aborted, and it goes on'),
  );
}

/** Of the condition, the Event and the failure. */
const CODE_HANGS = 'CodeHangs';

export function isHanging(error: unknown): error is ControllerError {
  return error instanceof ControllerError && error.asCause.reason === CODE_HANGS;
}
