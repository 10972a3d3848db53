import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { RECONCILE_REQUESTED_ANNOTATION } from '../../api/annotations.ts';
import type { Controller } from '../../engine/controller.ts';
import { millisecondsIn } from '../../api/duration.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceRef } from '../../api/resource-ref.ts';
import { RETRYING } from '../../runs/search-attributes.ts';
import { fieldsOf } from '../../api/fields.ts';
import type { Run } from '../../temporal/run-reader.ts';
import { answerWith, AskProblem, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { annotate, readObject, readTarget, type Target } from '../cluster/objects.ts';
import type { Session } from '../session.ts';
import { hasStatus } from '../controllers.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { durationText, harmless } from '../output.ts';
import { argumentsOf, commandFor, parseNamedResource, type NamedResource } from '../resource-name.ts';

interface ReconcileOptions extends SharedOptions {
  readonly wait?: boolean;
  readonly timeout: number;
}

const TIMEOUT_MS = 300_000;

export function addReconcile(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'reconcile')
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('-w, --wait', 'wait until it has ended; exit with 1 if the resource is not up to date then')
    .option('--timeout <duration>', 'how long to wait', durationIn, TIMEOUT_MS);
  answerWith(command, ask, answerReconcile);
}

export function durationIn(text: string): number {
  const ms = millisecondsIn(text) ?? 0;
  if (ms <= 0) throw new InvalidArgumentError('Write a duration such as 5m.');
  return ms;
}

async function answerReconcile(
  ask: Ask,
  { session, words, options }: Question<ReconcileOptions>,
): Promise<ExitStatus> {
  const resources = parseNamedResource(session, words);
  const [{ object }] = resources as readonly [NamedResource];
  const target = await readTarget(session.client, object);
  const { uid } = target;
  const nameOf = ({ name }: Controller) =>
    resources.length === 1 ? argumentsOf(target) : `${argumentsOf(target)} (${name})`;
  // Only waiting needs Temporal. The request stays on the resource until it is met.
  const waiting = await Promise.all(
    (options.wait === true ? resources : []).map(async ({ controller, place }) => {
      const ref = { ...place, uid };
      return {
        session,
        controller,
        target,
        ref,
        name: nameOf(controller),
        before: await latestRunOf(session, ref),
      };
    }),
  );
  const requestedAt = await requestReconcile(ask, session, target);
  ask.stdout.write(`${argumentsOf(target)} reconcile requested\n`);
  const ends = await Promise.all(
    waiting.map((each) => waitForEnd(ask, { ...each, requestedAt }, options.timeout)),
  );
  return ends.every((end) => end === 0) ? 0 : 1;
}

async function waitForEnd(ask: Ask, requested: Requested, timeoutMs: number): Promise<ExitStatus> {
  const { name } = requested;
  const advice = `ask: ${commandFor('why', requested.target)}`;
  const progress = await new Waiting(requested).end(ask, timeoutMs);
  switch (progress.is) {
    case 'up to date':
    case 'gone':
      ask.stdout.write(`${name} is ${progress.is}\n`);
      return 0;
    case 'held':
      ask.stderr.write(`${name} is not up to date: ${harmless(progress.why)}; ${advice}\n`);
      return 1;
    case 'going on':
      if (!ask.signal.aborted)
        ask.stderr.write(`${name} is not up to date after ${durationText(timeoutMs)}; ${advice}\n`);
      return 1;
  }
}

async function latestRunOf(session: Session, ref: ResourceRef): Promise<Run | undefined> {
  const { runs } = await session.temporal();
  return runs.describe(ref);
}

/** @returns the new value of the annotation @throws AskProblem if the resource is gone */
export async function requestReconcile(
  { now }: Pick<Ask, 'now'>,
  { client }: Pick<Session, 'client'>,
  target: Target,
): Promise<string> {
  const requestedAt = new Date(now()).toISOString();
  if (await annotate(client, target, { [RECONCILE_REQUESTED_ANNOTATION]: requestedAt })) return requestedAt;
  throw new AskProblem(`${argumentsOf(target)} is gone, or another one has its name; try again`);
}

interface Requested {
  readonly session: Session;
  readonly controller: Controller;
  readonly target: Target;
  /** For a line. */
  readonly name: string;
  readonly ref: ResourceRef;
  readonly requestedAt: string;
  readonly before: Run | undefined;
}

type Progress =
  { readonly is: 'going on' | 'up to date' | 'gone' } | { readonly is: 'held'; readonly why: string };

const READ_EVERY_MS = 300;
/** An open run may end just before the request reaches it. Then the next one begins within this time. */
const NEXT_RUN_WITHIN_MS = 1_500;

class Waiting {
  readonly #requested: Requested;
  #closedSinceMs: number | undefined;

  constructor(requested: Requested) {
    this.#requested = requested;
  }

  async end(ask: Ask, timeoutMs: number): Promise<Progress> {
    const untilMs = ask.now() + timeoutMs;
    while (!ask.signal.aborted && ask.now() < untilMs) {
      const progress = await this.#progress(ask.now());
      if (progress.is !== 'going on') return progress;
      await delay(READ_EVERY_MS, undefined, { signal: ask.signal }).catch(() => undefined);
    }
    return { is: 'going on' };
  }

  async #progress(nowMs: number): Promise<Progress> {
    const { session, target, ref } = this.#requested;
    const [object, run] = await Promise.all([readObject(session.client, target), latestRunOf(session, ref)]);
    const isGone = object?.metadata.uid !== ref.uid;
    if (!isGone && !this.#isHandled(object, run, nowMs)) return { is: 'going on' };
    if (run === undefined || run.status === 'COMPLETED') return { is: isGone ? 'gone' : 'up to date' };
    if (run.runState !== undefined && run.runState !== RETRYING) return { is: 'held', why: run.runState };
    return run.isOpen ? { is: 'going on' } : { is: 'held', why: `its run has ended as ${run.status}` };
  }

  /** A status says so. Without one, a later run shows it, or the end of the run that got the request. */
  #isHandled(object: KubernetesObject, run: Run | undefined, nowMs: number): boolean {
    const { requestedAt, before, controller } = this.#requested;
    if (hasStatus(controller)) return fieldsOf(object['status'])['lastHandledReconcileAt'] === requestedAt;
    if (run === undefined) return false;
    if (run.runId !== before?.runId) return true;
    if (run.isOpen) return run.historyLength > before.historyLength;
    if (!before.isOpen) return false;
    this.#closedSinceMs ??= nowMs;
    return nowMs - this.#closedSinceMs > NEXT_RUN_WITHIN_MS;
  }
}
