import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import parseDuration from 'parse-duration';
import { RECONCILE_REQUESTED_ANNOTATION } from '../contract/control.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { ResourceRef } from '../contract/resource.ts';
import { fieldsOf } from '../controllers/fields.ts';
import { found } from '../kubernetes/found.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import { AskProblem, inSession, type Ask, type ExitStatus } from './ask.ts';
import { ASK_COMMANDS } from './commands.ts';
import { withConnectionOptions, type ConnectionOptions } from './connection-options.ts';
import { durationText, harmless } from './output.ts';
import { commandFor, parseNamedResource, placeOf, type NamedResource } from './resource-name.ts';
import { describeRun, type Run } from './runs.ts';
import { controllersOf, type Session } from './session.ts';
import { annotate, fullName, readTarget, type Target } from './targets.ts';

interface ReconcileOptions extends ConnectionOptions {
  readonly wait?: boolean;
  /** In milliseconds. */
  readonly timeout: number;
}

const TIMEOUT_MS = 300_000;

export function addReconcile(program: Command, ask: Ask): void {
  const command = program
    .command('reconcile')
    .description(ASK_COMMANDS.reconcile)
    .argument('<resource...>', 'KIND/NAME or KIND NAME')
    .option('-w, --wait', 'wait until it has ended; the exit status is 1 where it is then not up to date')
    .option('--timeout <duration>', 'how long to wait', durationIn, TIMEOUT_MS);
  withConnectionOptions(command).action((words: string[], options: ReconcileOptions) =>
    inSession(ask, options, (session) => answerReconcile(ask, { session, words, options })),
  );
}

function durationIn(text: string): number {
  const ms = parseDuration(text);
  if (ms === null || ms <= 0) throw new InvalidArgumentError('write a duration such as 5m');
  return ms;
}

interface Question {
  readonly session: Session;
  readonly words: readonly string[];
  readonly options: ReconcileOptions;
}

async function answerReconcile(ask: Ask, { session, words, options }: Question): Promise<ExitStatus> {
  // Only to wait takes Temporal: else the request stays on the resource until it is met.
  const settings = await session.settings().catch((error: unknown) => {
    if (options.wait === true) throw error;
    return undefined;
  });
  const resource = parseNamedResource(words, controllersOf(settings));
  const { type } = resource.controller.primary;
  const { namespace, client } = session;
  const target = await readTarget(client, { type, namespace, name: resource.name });
  const ref = { ...placeOf(resource, namespace), uid: target.uid };
  const before = options.wait === true ? await describeRun(await session.temporal(), ref) : undefined;
  const requestedAt = await requestReconcile(ask, session, target);
  ask.stdout.write(`${fullName(target)} reconcile requested\n`);
  if (options.wait !== true) return 0;
  const waiting = new Waiting({ session, resource, target, ref, requestedAt, before });
  return waiting.end(ask, options.timeout);
}

/** @returns what the annotation says now @throws AskProblem where the resource is gone */
export async function requestReconcile(
  { now }: Pick<Ask, 'now'>,
  { client }: Pick<Session, 'client'>,
  target: Target,
): Promise<string> {
  const requestedAt = new Date(now()).toISOString();
  if (await annotate(client, target, { [RECONCILE_REQUESTED_ANNOTATION]: requestedAt })) return requestedAt;
  throw new AskProblem(`${fullName(target)} is gone, or another one has its name; try again`);
}

interface Requested {
  readonly session: Session;
  readonly resource: NamedResource;
  readonly target: Target;
  readonly ref: ResourceRef;
  readonly requestedAt: string;
  /** The latest run before the request. */
  readonly before: Run | undefined;
}

const LOOK_EVERY_MS = 300;
/** An open run may end just before the request reaches it; then the next one begins within this time. */
const NEXT_RUN_WITHIN_MS = 1_500;

type Stand =
  { readonly is: 'going on' | 'up to date' | 'gone' } | { readonly is: 'held'; readonly mark: string };

/** Waits for the end of the reconcile that was requested. */
class Waiting {
  readonly #requested: Requested;
  #closedSinceMs: number | undefined;

  constructor(requested: Requested) {
    this.#requested = requested;
  }

  async end(ask: Ask, timeoutMs: number): Promise<ExitStatus> {
    const untilMs = ask.now() + timeoutMs;
    while (!ask.signal.aborted && ask.now() < untilMs) {
      const stand = await this.#stand(ask.now());
      if (stand.is !== 'going on') return this.#say(ask, stand);
      await delay(LOOK_EVERY_MS, undefined, { signal: ask.signal }).catch(() => undefined);
    }
    if (ask.signal.aborted) return 1;
    ask.stderr.write(`${this.#name} is not up to date after ${durationText(timeoutMs)}; ${this.#advice}\n`);
    return 1;
  }

  #say(ask: Ask, stand: Stand): ExitStatus {
    switch (stand.is) {
      case 'up to date':
        ask.stdout.write(`${this.#name} is up to date\n`);
        return 0;
      case 'gone':
        ask.stdout.write(`${this.#name} is gone\n`);
        return 0;
      case 'held':
        ask.stderr.write(`${this.#name} is not up to date: ${harmless(stand.mark)}; ${this.#advice}\n`);
        return 1;
      case 'going on':
        return 1;
    }
  }

  get #name(): string {
    return fullName(this.#requested.target);
  }

  get #advice(): string {
    const { ref, resource } = this.#requested;
    return `ask: ${commandFor('why', ref, resource.controller)}`;
  }

  async #stand(nowMs: number): Promise<Stand> {
    const { session, ref } = this.#requested;
    const [object, run] = await Promise.all([
      this.#read(),
      session.temporal().then((access) => describeRun(access, ref)),
    ]);
    const isGone = object?.metadata.uid !== ref.uid;
    if (!isGone && !this.#isHandled(object, run, nowMs)) return { is: 'going on' };
    if (run === undefined || run.status === 'COMPLETED') return { is: isGone ? 'gone' : 'up to date' };
    if (run.mark !== undefined) return { is: 'held', mark: run.mark };
    return run.isOpen ? { is: 'going on' } : { is: 'held', mark: `its run has ended as ${run.status}` };
  }

  #read(): Promise<KubernetesObject | undefined> {
    const { session, target } = this.#requested;
    const path = resourcePath(target.type, target);
    return found(session.client.request<KubernetesObject>({ method: 'GET', path }));
  }

  /** Where there is a status, it says so; else a later run does, or the end of the one that the request was for. */
  #isHandled(object: KubernetesObject, run: Run | undefined, nowMs: number): boolean {
    const { requestedAt, before, resource } = this.#requested;
    if (HAS_STATUS.has(resource.controller.name)) {
      return fieldsOf(object['status'])['lastHandledReconcileAt'] === requestedAt;
    }
    if (run === undefined) return false;
    if (run.runId !== before?.runId) return true;
    if (run.isOpen) return run.historyLength > before.historyLength;
    if (!before.isOpen) return false;
    this.#closedSinceMs ??= nowMs;
    return nowMs - this.#closedSinceMs > NEXT_RUN_WITHIN_MS;
  }
}

/** Whose status repeats the request. */
const HAS_STATUS: ReadonlySet<string> = new Set(['pod-set', 'git-build']);
