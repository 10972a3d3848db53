import { isRest, type Held, type Next, type Wait } from '../../../src/contract/decision.ts';
import { Attempts, isWrite, receivedBy, type Attempt, type Received } from './attempt.ts';
import {
  APPROVAL_ANNOTATION,
  AWAITING_APPROVAL,
  PAUSED,
  type Condition,
} from '../../../src/contract/control.ts';
import type { KubernetesObject } from '../../../src/contract/object.ts';
import { NAMESPACES } from '../../../src/controllers/kinds.ts';
import { ApiServer, type Request } from './api-server.ts';
import { Cluster, keyOf } from './cluster.ts';
import { controlled } from '../../../src/controllers/control/controlled.ts';
import { decidingAs, reconcilingAs, type Broken } from './broken.ts';
import { Dispatching, NEWS, type RunRequest } from './dispatching.ts';
import { Violation, type System, type Transition } from './explorer.ts';
import { guarded } from './guarded.ts';
import {
  atTheEnd,
  countIn,
  isPaused,
  isStillHeld,
  movesOfPeople,
  PEOPLE,
  type PeoplesMove,
} from './people.ts';
import { Running, RUN_RULES } from './running.ts';
import { stateOf, textOf, type Component, type Entry, type Ghost, type Run, type State } from './state.ts';
import { freshUid, valueOf } from './values.ts';
import { listedInstead, Watching, type Delivery } from './watch.ts';
import type { World } from './world.ts';

/** What disturbs, besides what others do to the objects. */
export const FAULTS = [
  /** The worker is killed: between two requests, or after one was made and before it was answered. */
  'crash',
  /** The watcher is killed, and lists everything anew. */
  'restart',
  /** The next step runs in another process. */
  'forget',
  /** Temporal gives up an attempt, which goes on nevertheless. */
  'abandon',
  /** A request is answered by nobody: it was made, or it was not. */
  'error',
  /** A request is answered by nobody, and made much later: before a wait is over. */
  'linger',
  /** The time of a step is up. */
  'late',
  /** A signal comes twice, or from another watcher. */
  'duplicate',
  /** Temporal does not answer a start or a signal: it was made, or it was lost. */
  'outage',
  /** A watch breaks: what has happened meanwhile is shown at once. */
  'relist',
  /** What waits for a moment to pass comes before what usually is faster, such as the watch. */
  'lag',
  /** A wait ends because its time is over. */
  'timer',
] as const;
export type Fault = (typeof FAULTS)[number];

/** How long a run that a person holds waits before it looks by itself. */
const HELD_LOOK_MS = 30_000;
/** More than follow one after the other until a run has found out what its watcher has missed. */
const WAITS_AFTER_MISSED = 2;

/** What may happen, and how often each of it at most. */
export interface Scenario {
  /** By the names of the faults, of what people ask, and of what others do in this world. */
  readonly budget?: Readonly<Record<string, number>>;
  /** Watcher and worker are one process, as by default: the view goes over, and the end of a run comes back. */
  readonly processes?: 'one' | 'two';
  /** Each start and signal follows a change by others. Not where crashes repeat them, or watches lag behind each other. */
  readonly countsSignals?: boolean;
  /** Default: one by one. */
  readonly delivery?: Delivery;
  /**
   * How often a watch, the watcher or a run may fall behind all others, for as long as it likes. Else what is shown is shown
   * first, then the watcher does its part, then the runs, and then the cluster. Default: all goes on in any order.
   */
  readonly slowness?: number;
}

/** An operator with one controller in a small cluster: all that may happen to it. */
export function operatorIn(world: World, scenario: Scenario, broken: Broken = {}): System {
  return new Operator(world, scenario, broken);
}

class Operator implements System {
  readonly #world: World;
  readonly #scenario: Scenario;
  readonly #server: ApiServer;
  readonly #watching: Watching;
  readonly #dispatching: Dispatching;
  readonly #running: Running;
  readonly #attempts: Attempts;
  readonly #isOne: boolean;
  readonly #sent: NonNullable<Broken['request']>;
  /** Of the resource. */
  readonly #key: string;

  constructor(world: World, scenario: Scenario, broken: Broken) {
    const { news = {}, run = {}, ignoresVersions = false, request = asIs } = broken;
    checkNames(world, scenario);
    this.#world = world;
    this.#scenario = scenario;
    this.#isOne = scenario.processes !== 'two';
    this.#server = new ApiServer(world.types, { ignoresVersions });
    this.#sent = request;
    this.#key = keyOfPrimary(world);
    this.#watching = new Watching(decidingAs(broken, controlled(world.controller, {})), {
      delivery: scenario.delivery ?? 'one by one',
      namespaces: world.watchesNamespaces === true,
    });
    this.#dispatching = new Dispatching(this.#watching, { ...NEWS, ...news });
    this.#attempts = new Attempts(world.activity((its) => guarded(reconcilingAs(broken, its))));
    this.#running = new Running(
      this.#attempts,
      { ...RUN_RULES, ...run },
      {
        onConverged: (state, ref) => {
          if (this.#isOne) this.#dispatching.runEnded(state, ref);
        },
        isNamespacePaused: (state) => this.#isNamespacePaused(state),
      },
    );
  }

  readonly start = (): Promise<string> => {
    const { budget = {}, countsSignals = false } = this.#scenario;
    const state: State = {
      cluster: {},
      clockMs: 0,
      watches: {},
      order: [],
      look: { requestedAt: null, count: 0, done: 0 },
      approved: null,
      isViewNew: false,
      entries: {},
      runs: {},
      seeds: {},
      ghost: null,
      lingering: null,
      budget: { ...budget },
      missed: 0,
      slow: [],
      slowness: this.#scenario.slowness ?? 0,
      isUndisturbed: true,
      hasNews: countsSignals ? true : null,
      isByOthers: false,
    };
    const cluster = this.#clusterOf(state);
    for (const [type, object] of this.#world.objects) cluster.create(type, object);
    // Where approval is required all along, each deletion has to be one of those that were approved.
    if (isApprovalRequired(cluster.get(this.#key))) state.approved = 0;
    this.#watcherStarts(state);
    return Promise.resolve(textOf(state));
  };

  async next(text: string): Promise<readonly Transition[]> {
    const state = stateOf(text);
    const prompt = await this.#prompt(state);
    const steps = [
      ...this.#goingOn(state, prompt),
      ...this.#lingering(state),
      ...this.#others(state),
      ...(await this.#faults(state, prompt)),
    ];
    return steps
      .filter(({ fault: name }) => name === undefined || (state.budget[name] ?? 0) > 0)
      .map((each) => transitionOf(text, each));
  }

  /** What may happen where nobody disturbs. */
  #goingOn(state: State, prompt: readonly Step[]): Step[] {
    const slow = this.#slow(state);
    const isQuiet = prompt.length === 0;
    const late = isQuiet ? slow : slow.map((each) => disturbing('lag', each));
    const happenings = [...this.#happenings(state), ...this.#lastMoves(state)];
    if (this.#scenario.slowness === undefined) return [...prompt, ...late, ...happenings];
    const [next] = prompt.filter(({ of = '' }) => !state.slow.includes(of));
    const resumed = prompt.filter(({ of = '' }) => state.slow.includes(of)).map(({ of = '' }) => resumes(of));
    if (next === undefined) return [...late, ...happenings, ...resumed];
    return [next, ...(state.slowness > 0 ? [fallsBehind(next.of ?? '')] : []), ...resumed];
  }

  shortcomings(text: string): readonly string[] {
    const state = stateOf(text);
    const wrong = [...this.#world.shortcomings(this.#clusterOf(state))];
    const evaluation = this.#watching.evaluate(state);
    const decision = evaluation?.decision;
    if (evaluation !== undefined) wrong.push(...this.#unsaid(evaluation.observation));
    for (const run of Object.values(state.runs)) {
      const held = heldIn(run);
      if (held !== undefined) wrong.push(`a run is held for ever: ${held.because}`);
      if (!isExpected(run, decision?.do))
        wrong.push(`a run is open, and the view calls for ${decision?.do ?? 'nothing'}`);
    }
    const isIdle = Object.keys(state.runs).length === 0;
    if (isIdle && decision !== undefined && decision.do !== 'converged')
      wrong.push(`no run is open, and the view calls for ${decision.do}`);
    return wrong;
  }

  /** What the status has to say of what people asked, where it has room for that. */
  #unsaid(observation: unknown): string[] {
    const { requestedAt, isBeingDeleted, reported } = this.#world.controller.control?.(observation) ?? {};
    if (reported === undefined || isBeingDeleted === true) return [];
    const isHeld = ({ type, status }: Condition) =>
      [PAUSED, AWAITING_APPROVAL].includes(type) && status === 'True';
    const { conditions, lastHandledReconcileAt } = reported;
    return [
      ...conditions.filter(isHeld).map(({ type }) => `the status still says ${type}`),
      ...(requestedAt === undefined || requestedAt === lastHandledReconcileAt
        ? []
        : [`the last request is ${requestedAt}, and the status says ${lastHandledReconcileAt}`]),
    ];
  }

  #isNamespacePaused(state: State): boolean {
    if (this.#world.watchesNamespaces !== true) return false;
    // Whoever watches goes by what the watch shows; a worker alone reads it.
    if (this.#isOne) return this.#watching.isNamespacePaused(state.watches);
    return this.#clusterOf(state)
      .list(NAMESPACES)
      .some(({ object }) => isPaused(object));
  }

  // What goes on at once ---------------------------------------------------------------------------------

  /** The first is what is done first where nothing falls behind. */
  async #prompt(state: State): Promise<Step[]> {
    const steps: Step[] = [];
    for (const name of this.#watching.due(state))
      steps.push(stepOf(`watch of ${name}`, this.#delivery(state, name)));
    if (state.isViewNew)
      steps.push(
        stepOf(
          'watcher',
          step('the watcher looks at its view', (it) => this.#dispatching.evaluate(it)),
        ),
      );
    for (const { ref, queued } of Object.values(state.entries)) {
      if (queued === 'now') steps.push(stepOf('watcher', this.#dispatch(ref.uid)));
    }
    for (const run of Object.values(state.runs)) {
      for (const request of await this.#requestOf(run)) steps.push(stepOf(`run of ${run.ref.uid}`, request));
    }
    if (state.ghost !== null) {
      for (const request of await this.#ghostsRequest(state.ghost))
        steps.push(stepOf('attempt given up', request));
    }
    return steps;
  }

  async #requestOf(run: Run): Promise<Step[]> {
    const { attempt, backoff, ref } = run;
    if (attempt === null || backoff !== 'no') return [];
    const progress = await this.#running.progressOf({ ref, attempt });
    if (progress.at !== 'request') return [];
    const { request } = progress;
    return [
      step(`${attempt.step}: ${wordsOf(request)}`, async (state) => {
        this.#answer(state, ref.uid, request, {});
        await this.#running.goOn(state, ref.uid);
      }),
    ];
  }

  /** The server does as it is asked, and the run's attempt gets its answer. */
  #answer(state: State, uid: string, request: Request, how: Partial<Received>): void {
    const run = state.runs[uid];
    if (run?.attempt == null) return;
    const answer = this.#serve(state, request);
    run.attempt = { ...run.attempt, ...this.#received(state, run.attempt, { answer, ...how }) };
  }

  #received(state: State, attempt: Attempt, received: Received): Attempt {
    return receivedBy(attempt, this.#running.received(state, received));
  }

  #serve(state: State, asked: Request, { isLate = false } = {}) {
    const cluster = this.#clusterOf(state);
    const request = this.#sent(asked, cluster);
    // A create that comes late may be in vain, since it carries nothing that is outdated: it must come to a good end.
    const isJudged = isWrite(request) && !(isLate && request.method === 'POST');
    const violation = isJudged ? this.#violation(request, cluster, state.isUndisturbed) : undefined;
    const before = cluster.get(this.#server.keyOf(request));
    const isDeletion = request.method === 'DELETE' && this.#world.needsApproval?.(request, cluster) === true;
    const answer = this.#server.answer(cluster, request);
    const after = cluster.get(this.#server.keyOf(request));
    // What the server refuses does no harm: that is what writes carry versions for.
    if (violation !== undefined && 'body' in answer) throw new Violation(violation);
    if (isDeletion && before !== after) this.#countApproved(state, request);
    if (request.method === 'PATCH' && 'body' in answer && before === after && before !== undefined)
      throw new Violation(`${wordsOf(request)} changes nothing`);
    return answer;
  }

  #countApproved(state: State, request: Request): void {
    if (state.approved === null) return;
    state.approved -= 1;
    if (state.approved < 0) throw new Violation(`${wordsOf(request)}: nobody has approved that much`);
  }

  /** Writes carry what they were decided from. @returns what this world does not allow, should it be done */
  #violation(request: Request, cluster: Cluster, isUndisturbed: boolean): string | undefined {
    const { metadata, preconditions } = request.body as Body;
    const isConditional =
      request.method === 'POST' ||
      (request.method === 'DELETE' ? preconditions?.uid : metadata?.resourceVersion) !== undefined;
    if (!isConditional) throw new Violation(`${wordsOf(request)} carries nothing that it was decided from`);
    return (
      this.#writtenWhilePaused(request, cluster) ?? this.#world.violation?.(request, cluster, isUndisturbed)
    );
  }

  /** A write of the resource itself is about the version that has the annotation. */
  #writtenWhilePaused(request: Request, cluster: Cluster): string | undefined {
    const object = cluster.get(this.#key);
    if (this.#server.keyOf(request) !== this.#key || request.path.endsWith('/status')) return undefined;
    if (object === undefined || !isPaused(object) || object.metadata.deletionTimestamp !== undefined)
      return undefined;
    return `${wordsOf(request)} although it is paused`;
  }

  /** At any time, be it before or after all that the others do. */
  #lingering({ lingering: request }: State): Step[] {
    if (request === null) return [];
    return [
      step(`what lingered is made: ${wordsOf(request)}`, (state) => {
        state.lingering = null;
        this.#serve(state, request, { isLate: true });
      }),
    ];
  }

  async #ghostsRequest({ ref, attempt }: Ghost): Promise<Step[]> {
    const progress = await this.#attempts.progressOf(ref, attempt);
    if (progress.at !== 'request') return [];
    const { request } = progress;
    return [
      step(`the attempt that was given up goes on: ${attempt.step}: ${wordsOf(request)}`, async (state) => {
        if (state.ghost === null) return;
        const answer = this.#serve(state, request);
        const answered = this.#received(state, state.ghost.attempt, { answer });
        state.ghost.attempt = answered;
        const next = await this.#attempts.progressOf(ref, answered);
        if (next.at !== 'request') this.#running.ghostEnded(state, next);
      }),
    ];
  }

  #delivery({ watches }: State, name: string): Step {
    const key = watches[name]?.events[0]?.[0] ?? '';
    return step(`the watch of ${name} shows ${key}`, (state) => this.#show(state, name));
  }

  #show(state: State, name: string): void {
    const shown = this.#watching.deliver(state, name);
    if (shown.isByOthers) state.hasNews = true;
    if (shown.what === 'nothing') return;
    if (shown.what === 'the resource') {
      if (shown.gone !== undefined) this.#dispatching.gone(state, shown.gone);
      this.#dispatching.evaluate(state);
      return;
    }
    state.isViewNew = true;
    // Where all is shown at once, so is what it comes to.
    if (this.#scenario.delivery === 'at once') this.#dispatching.evaluate(state);
  }

  #dispatch(uid: string): Step {
    return step('the watcher starts or signals the run', async (state) => {
      const request = this.#dispatching.dispatch(state, uid);
      if (!this.#isOne) state.seeds = {};
      if (request === undefined) return;
      await this.#request(state, request);
      this.#dispatching.requested(state, request);
    });
  }

  async #request(state: State, { ref, first, why }: RunRequest): Promise<void> {
    countRequest(state, why);
    if (ref.uid in state.runs) {
      await this.#running.signal(state, ref.uid);
    } else if (first !== undefined) await this.#running.start(state, ref, first);
  }

  // What waits for a moment to pass ----------------------------------------------------------------------

  #slow(state: State): Step[] {
    const steps: Step[] = [];
    for (const [uid, entry] of Object.entries(state.entries)) steps.push(...this.#slowFor(uid, entry));
    for (const run of Object.values(state.runs)) steps.push(...this.#slowIn(state, run));
    if (this.#dispatching.wouldSweep(state)) {
      steps.push(step('the watcher lists the open runs', (it) => this.#dispatching.sweep(it)));
    }
    return steps.map((slow) => ({ ...slow, apply: (it) => slow.apply(settled(it)) }));
  }

  #slowFor(uid: string, { standing, queued }: Entry): Step[] {
    const steps: Step[] = [];
    if (queued === 'later') steps.push(this.#dispatch(uid));
    if (standing) {
      steps.push(
        step('the step still stands in the view', (state) => {
          const entry = state.entries[uid];
          if (entry !== undefined) this.#dispatching.standsStill(entry);
        }),
      );
    }
    return steps;
  }

  #slowIn(now: State, { ref: { uid }, next, attempt, backoff }: Run): Step[] {
    if (backoff === 'changed')
      return [step('the step is tried again', (state) => this.#tryAgain(state, uid))];
    const rest = valueOf<Next>(next);
    if (attempt !== null || !isRest(rest)) return [];
    if (rest.do === 'held') return this.#rechecks(now, uid, rest);
    if (rest.do !== 'wait') return [];
    const isAboutTime = this.#world.isAboutTime?.(rest, this.#clusterOf(now)) ?? false;
    const over = step(`the wait for ${rest.for} is over`, (state) => this.#waited(state, uid, rest));
    if (isAboutTime) return now.lingering === null ? [over] : [];
    if (now.missed === 0) return [disturbing('timer', over)];
    return [
      step(over.what, (state) => {
        state.missed -= 1;
        return over.apply(state);
      }),
    ];
  }

  /** It finds the same again and again, until it is not so any more. */
  #rechecks(now: State, uid: string, held: Held): Step[] {
    if (!this.#running.rechecksWhileHeld) return [];
    const recheck = step('the run that is held looks by itself', (state) => this.#waited(state, uid, held));
    const [cluster, isNamespacePaused] = [this.#clusterOf(now), this.#isNamespacePaused(now)];
    const isStill = isStillHeld(held, { cluster, key: this.#key, isNamespacePaused });
    return [isStill ? disturbing('timer', recheck) : recheck];
  }

  async #tryAgain(state: State, uid: string): Promise<void> {
    const run = state.runs[uid];
    if (run === undefined) return;
    run.backoff = 'no';
    await this.#running.goOn(state, uid);
  }

  async #waited(state: State, uid: string, rest: Wait | Held): Promise<void> {
    const run = state.runs[uid];
    if (run === undefined) return;
    state.clockMs += rest.do === 'held' ? HELD_LOOK_MS : rest.atMostMs;
    // No request takes so long.
    state.ghost = null;
    // That time has passed is news, too.
    if (state.hasNews !== null) state.hasNews = true;
    await this.#running.waited(state, run, rest);
  }

  // What happens by itself, what others do, and what goes wrong ------------------------------------------

  #happenings(state: State): Step[] {
    const moves = this.#world.happenings?.(this.#clusterOf(state)) ?? [];
    return moves.map((move) => this.#moved(move));
  }

  #others(state: State): Step[] {
    const cluster = this.#clusterOf(state);
    const isAllowed = (name: string) => (state.budget[name] ?? 0) > 0;
    const byOthers = Object.entries(this.#world.others).flatMap(([name, movesIn]) =>
      isAllowed(name) ? movesIn(cluster).map((move) => this.#disturbance(name, move)) : [],
    );
    const byPeople = PEOPLE.filter(isAllowed).flatMap((name) =>
      movesOfPeople(name, this.#concerned(state)).map((move) => this.#disturbance(name, move)),
    );
    return [...byOthers, ...byPeople];
  }

  /** What people do when nobody else does anything any more. */
  #lastMoves(state: State): Step[] {
    return atTheEnd(this.#concerned(state)).map((move) => this.#moved(move));
  }

  #concerned(state: State) {
    const [held] = Object.values(state.runs).flatMap((run) => heldIn(run) ?? []);
    return { cluster: this.#clusterOf(state), key: this.#key, held };
  }

  #disturbance(name: string, move: PeoplesMove): Step {
    const moved = this.#moved(move);
    const disturbed = step(moved.what, (state) => {
      state.isUndisturbed = false;
      return moved.apply(state);
    });
    return disturbing(name, disturbed);
  }

  #moved({ what, change, approves }: PeoplesMove): Step {
    return step(what, (state) => {
      if (approves !== undefined && state.approved !== null) state.approved += countIn(approves);
      state.isByOthers = state.hasNews !== null;
      change(this.#clusterOf(state));
      state.isByOthers = false;
      for (const run of Object.values(state.runs)) if (run.backoff === 'same') run.backoff = 'changed';
    });
  }

  async #faults(state: State, prompt: readonly Step[]): Promise<Step[]> {
    const { budget } = state;
    const isAllowed = (fault: Fault) => (budget[fault] ?? 0) > 0;
    const steps: Step[] = [];
    if (isAllowed('restart'))
      steps.push(fault('restart', 'the watcher is killed', (it) => this.#watcherStarts(it)));
    if (isAllowed('relist')) {
      for (const [name, { events }] of Object.entries(state.watches)) {
        if (events.length > 1) steps.push(this.#relist(name));
      }
    }
    if (isAllowed('outage')) {
      for (const [uid, { queued }] of Object.entries(state.entries)) {
        if (queued === 'now' || (queued === 'later' && prompt.length === 0))
          steps.push(...this.#outages(uid));
      }
    }
    for (const run of Object.values(state.runs)) steps.push(...(await this.#faultsOf(run, isAllowed)));
    return steps;
  }

  #outages(uid: string): Step[] {
    const unanswered = async (state: State, isMade: boolean) => {
      const before = structuredClone(state.entries[uid]);
      const request = this.#dispatching.dispatch(state, uid);
      if (before === undefined || request === undefined) return;
      this.#dispatching.failed(state, before);
      if (isMade) await this.#request(state, request);
    };
    return [
      fault('outage', 'the watcher starts or signals the run: it is lost', (it) => unanswered(it, false)),
      fault('outage', 'the watcher starts or signals the run: its answer is lost', (it) =>
        unanswered(it, true),
      ),
    ];
  }

  #relist(name: string): Step {
    return fault('relist', `the watch of ${name} breaks, and lists again`, (state) => {
      const watch = state.watches[name];
      if (watch === undefined) return;
      state.missed = WAITS_AFTER_MISSED;
      watch.events = listedInstead(watch);
      while (watch.events.length > 0) this.#show(state, name);
    });
  }

  async #faultsOf(run: Run, isAllowed: (fault: Fault) => boolean): Promise<Step[]> {
    const { uid } = run.ref;
    const steps: Step[] = [];
    if (isAllowed('duplicate'))
      steps.push(fault('duplicate', 'a signal comes twice', (it) => this.#running.signal(it, uid)));
    const { attempt } = run;
    if (attempt === null || run.backoff !== 'no') return steps;
    const progress = await this.#running.progressOf({ ref: run.ref, attempt });
    if (progress.at !== 'request') return steps;
    return [
      ...steps,
      ...this.#faultsAt(progress.request, run, attempt).filter((each) => isAllowed(each.fault as Fault)),
    ];
  }

  #faultsAt(request: Request, { ref: { uid } }: Run, { step: name, known, answers }: Attempt): Step[] {
    const words = `${name}: ${wordsOf(request)}`;
    const running = this.#running;
    const lose = (state: State, isMade: boolean) => {
      const run = state.runs[uid];
      if (run?.attempt == null) return undefined;
      if (isMade) this.#serve(state, request);
      run.attempt = { ...run.attempt, ...this.#received(state, run.attempt, { answer: 'lost' }) };
      return running.goOn(state, uid);
    };
    return [
      fault('crash', `the worker is killed at ${words}`, (state) => running.crash(state)),
      fault('error', `${words} fails before it is made`, (state) => lose(state, false)),
      fault('abandon', `${words} hangs: the attempt is given up`, (state) => this.#giveUp(state, uid)),
      ...(isWrite(request)
        ? [
            fault('crash', `${words} is made, and the worker is killed`, (state) => {
              this.#serve(state, request);
              return running.crash(state);
            }),
            fault('error', `${words} is made, and its answer is lost`, (state) => lose(state, true)),
            fault('linger', `${words} lingers, and nobody waits for its answer`, (state) => {
              state.lingering = request;
              return lose(state, false);
            }),
            fault('late', `${words} is answered late`, (state) => {
              this.#answer(state, uid, request, { isLate: true });
              return running.goOn(state, uid);
            }),
          ]
        : []),
      ...(known !== null && answers.length === 0
        ? [fault('forget', `${name} runs in another process`, (state) => running.forget(state, uid))]
        : []),
    ];
  }

  async #giveUp(state: State, uid: string): Promise<void> {
    const run = state.runs[uid];
    if (run?.attempt == null || state.ghost !== null) return;
    // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
    const { isDurable: _, isCurrent, ...attempt } = run.attempt;
    state.ghost = { ref: run.ref, attempt, isCurrent };
    this.#running.failed(state, run);
    await this.#running.goOn(state, uid);
  }

  /** It knows of no run, lists everything, and then lists the open runs. */
  #watcherStarts(state: State): void {
    state.watches = this.#watching.listed(state.cluster);
    state.look = this.#watching.lookAfterList(state.watches);
    state.order = [];
    state.entries = {};
    if (this.#isOne) state.seeds = {};
    this.#dispatching.evaluate(state);
  }

  #clusterOf(state: State): Cluster {
    return new Cluster(state.cluster, {
      clockMs: state.clockMs,
      freshUid: () => freshUid(JSON.stringify(state)),
      onChange: (key, object) =>
        this.#watching.note(state, state.isByOthers ? [key, object ?? null, true] : [key, object ?? null]),
    });
  }
}

function keyOfPrimary({ controller: { primary }, objects }: World): string {
  const [, object] = objects.find(([{ plural }]) => plural === primary.type.plural) ?? [];
  return keyOf(primary.type, object?.metadata.name ?? '');
}

function isApprovalRequired(object: KubernetesObject | undefined): boolean {
  return object?.metadata.annotations?.[APPROVAL_ANNOTATION] === 'required';
}

function heldIn({ next, attempt }: Run): Held | undefined {
  const rest = valueOf<Next>(next);
  return attempt === null && isRest(rest) && rest.do === 'held' ? rest : undefined;
}

function asIs(request: Request): Request {
  return request;
}

/** A budget for something that there is not would explore nothing, and say that all is well. */
function checkNames({ others }: World, { budget = {} }: Scenario): void {
  const names: readonly string[] = [...FAULTS, ...PEOPLE, ...Object.keys(others)];
  const unknown = Object.keys(budget).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`nothing here is called ${unknown.join(', ')}`);
}

/** A transition before it is known what state it is made in. */
interface Step {
  readonly what: string;
  /** Whose it is, where it is prompt. */
  readonly of?: Component;
  /** What it takes from the budget; undefined: it is calm. */
  readonly fault?: string;
  readonly apply: (state: State) => unknown;
}

interface Body {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly preconditions?: { readonly uid?: string };
}

function step(what: string, apply: Step['apply']): Step {
  return { what, apply };
}

/** The same for whatever is prompt, unless it is slow. */
function stepOf(of: Component, { what, apply }: Step): Step {
  return { what, apply, of };
}

function fallsBehind(of: Component): Step {
  return step(`the ${of} falls behind`, (state) => {
    state.slowness -= 1;
    state.slow = [...state.slow, of].sort();
  });
}

function resumes(of: Component): Step {
  return step(`the ${of} goes on`, (state) => {
    state.slow = state.slow.filter((each) => each !== of);
  });
}

function fault(name: Fault, what: string, apply: Step['apply']): Step {
  return { what, fault: name, apply };
}

function disturbing(name: string, calm: Step): Step {
  return { ...calm, fault: calm.fault ?? name };
}

function transitionOf(text: string, { what, fault: name, apply }: Step): Transition {
  return {
    what: name === undefined ? what : `${what}  (${name})`,
    disturbance: name,
    apply: async () => {
      const state = stateOf(text);
      if (name !== undefined) state.budget[name] = (state.budget[name] ?? 0) - 1;
      await apply(state);
      state.isUndisturbed ||= isQuiet(state);
      return textOf(state);
    },
  };
}

/** A run that is tried again and again, or rests where the view rests; or the view does not suffice to tell. */
function isExpected({ next, attempt }: Run, decision: string | undefined): boolean {
  if (decision === undefined || decision === 'converged') return false;
  return attempt !== null || decision === 'observe' || valueOf<Next>(next).do === decision;
}

/** All is known, and nobody is at work. */
function isQuiet({ runs, ghost, lingering, watches, isViewNew }: State): boolean {
  if (Object.keys(runs).length > 0 || ghost !== null || lingering !== null || isViewNew) return false;
  return Object.values(watches).every(({ events }) => events.length === 0);
}

/** A moment has passed: what a run wrote before is shown by now. */
function settled(state: State): State {
  for (const entry of Object.values(state.entries)) entry.settling = false;
  return state;
}

function countRequest(state: State, why: string): void {
  if (state.hasNews === false)
    throw new Violation(`a start or signal that no change by others has called for: ${why}`);
  if (state.hasNews !== null) state.hasNews = false;
}

function wordsOf({ method, path }: Request): string {
  return `${method} ${path.split('/').slice(-2).join('/')}`;
}
