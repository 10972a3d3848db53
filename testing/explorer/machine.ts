import type { Held, Stalled, Wait } from '../../src/runs/decision.ts';
import { NAMESPACES } from '../../src/api/kinds.ts';
import type { ServerAnswer, Request } from './api-server.ts';
import { ExploredAttempts, isWrite, LATE_MS, receivedBy, type Attempt, type Received } from './attempt.ts';
import { decidingAs, reconcilingAs, type Broken } from './broken.ts';
import { SimulatedCluster, START_MS, objectKey } from './cluster.ts';
import { Dispatching, NEWS, type WorkflowRequest } from './dispatching.ts';
import { Violation } from './explorer.ts';
import { guarded } from './guarded.ts';
import { JudgedServer } from './judged-server.ts';
import { isPaused } from '../../src/api/annotations.ts';
import { noteChange, RunsModel, RUN_RULES } from './running.ts';
import type { Conditions } from './scenario.ts';
import type { SimulatedRun, WorldState } from './state.ts';
import { freshUid } from './values.ts';
import { WatcherModel } from './watch.ts';
import type { World } from './world.ts';

/** How long a run that a person holds waits before it looks by itself. */
const HELD_LOOK_MS = 30_000;

/** The watcher, the runs and the API server together: what each step of an exploration changes in a state. */
export class Machine {
  readonly world: World;
  readonly watching: WatcherModel;
  readonly dispatching: Dispatching;
  readonly running: RunsModel;
  readonly attempts: ExploredAttempts;
  /** Of the resource. */
  readonly key: string;
  readonly #server: JudgedServer;
  readonly #isOne: boolean;
  readonly #showsAtOnce: boolean;

  constructor(world: World, { processes, delivery = 'one by one' }: Conditions, broken: Broken) {
    this.world = world;
    this.key = keyOfPrimary(world);
    this.#isOne = processes !== 'two';
    this.#showsAtOnce = delivery === 'at once';
    this.#server = new JudgedServer(world, this.key, broken);
    this.watching = new WatcherModel(decidingAs(broken, world.controller), {
      delivery,
      namespaces: world.watchesNamespaces === true,
    });
    this.dispatching = new Dispatching(this.watching, { ...NEWS, ...broken.news });
    this.attempts = new ExploredAttempts(world.activity((its) => guarded(reconcilingAs(broken, its))));
    this.running = new RunsModel(
      this.attempts,
      { ...RUN_RULES, ...broken.run },
      {
        onConverged: (state, ref) => {
          if (this.#isOne) this.dispatching.runEnded(state, ref);
        },
        asksWhatArrives: world.controller.mayStillArrive !== undefined,
        isNamespacePaused: (state) => this.isNamespacePaused(state),
        watched: (state) =>
          world.readsView === true ? this.watching.evaluate(state)?.observation : undefined,
        freshKey: (state) => (world.outside === undefined ? undefined : freshUid(JSON.stringify(state))),
      },
    );
  }

  /** The watcher starts: it knows of no run, lists everything, and then lists the open runs. */
  watcherStarts(state: WorldState): void {
    state.watches = this.watching.listed(state.cluster);
    state.look = this.watching.lookAfterList(state.watches);
    state.order = [];
    state.entries = {};
    if (this.#isOne) state.seeds = {};
    this.dispatching.evaluate(state);
  }

  /** The watch of this type shows what it has to show next. */
  show(state: WorldState, name: string): void {
    const shown = this.watching.deliver(state, name);
    if (shown.isByOthers) state.hasNews = true;
    if (shown.what === 'nothing') return;
    if (shown.what === 'the resource') {
      if (shown.gone !== undefined) this.dispatching.gone(state, shown.gone);
      this.dispatching.evaluate(state);
      return;
    }
    state.isViewNew = true;
    // Where all is shown at once, so is what it comes to.
    if (this.#showsAtOnce) this.dispatching.evaluate(state);
  }

  /** The watcher starts or signals the run whose turn it is. */
  async dispatch(state: WorldState, uid: string): Promise<void> {
    const request = this.dispatching.dispatch(state, uid);
    if (!this.#isOne) state.seeds = {};
    if (request === undefined) return;
    await this.request(state, request);
    this.dispatching.requested(state, request);
  }

  /** A start or a signal reaches Temporal. */
  async request(state: WorldState, { ref, first, why }: WorkflowRequest): Promise<void> {
    countRequest(state, why);
    if (ref.uid in state.runs) {
      await this.running.signal(state, ref.uid);
    } else if (first !== undefined) await this.running.start(state, ref, first);
  }

  /** The server does as it is asked, and the run's attempt gets its answer. */
  answer(state: WorldState, uid: string, request: Request, how: Partial<Received>): void {
    const run = state.runs[uid];
    if (run?.attempt == null) return;
    const answer = this.serve(state, request);
    run.attempt = { ...run.attempt, ...this.received(state, run.attempt, { answer, ...how }) };
    // A wait that is asked for afterwards begins then.
    if (how.isLate && this.world.outside !== undefined) state.clockMs += LATE_MS;
  }

  /** The attempt, once it has received this. */
  received(state: WorldState, attempt: Attempt, received: Received): Attempt {
    return receivedBy(attempt, this.running.received(state, received));
  }

  /** What the server answers. @throws Violation */
  serve(state: WorldState, request: Request, how?: { readonly isLate: boolean }): ServerAnswer {
    return this.#server.serve(state, this.clusterOf(state), request, how);
  }

  /** Whether the request would change something in this state. */
  isWrite(state: WorldState, request: Request): boolean {
    if (request.method !== 'CALL')
      return isWrite(request) && !this.#server.isHeldBack(this.clusterOf(state), request);
    return this.world.outside?.isWrite(request, this.clusterOf(state)) ?? false;
  }

  /** A backoff is over. */
  async tryAgain(state: WorldState, uid: string): Promise<void> {
    const run = state.runs[uid];
    if (run === undefined) return;
    run.backoff = 'no';
    await this.running.goOn(state, uid);
  }

  /** A wait is over without a signal. */
  async waited(
    state: WorldState,
    uid: string,
    rest: Wait | Held | Stalled,
    passedMs = this.#waitOf(rest),
  ): Promise<void> {
    const run = state.runs[uid];
    if (run === undefined) return;
    state.clockMs += passedMs;
    // No request takes so long.
    state.ghost = null;
    // That time has passed is news, too.
    if (state.hasNews !== null) state.hasNews = true;
    await this.running.waited(state, run, rest);
  }

  #waitOf(rest: Wait | Held | Stalled): number {
    if (this.world.outside?.readsClock() === false) return 0;
    return rest.do === 'held' ? HELD_LOOK_MS : (rest.recheckMs ?? 0);
  }

  /** Whether the wait ends because its time is over, and not because something changes. */
  isAboutTime(state: WorldState, { unknown }: SimulatedRun, rest: Wait | Held | Stalled): boolean {
    if (rest.do === 'held') return false;
    // The library's own wait, until no attempt may take effect any more.
    const nowMs = START_MS + state.clockMs;
    if (this.world.outside !== undefined)
      return unknown.some(({ untilMs }) => untilMs - nowMs === rest.recheckMs);
    return this.world.isAboutTime?.(rest, this.clusterOf(state)) ?? false;
  }

  /** Temporal gives up an attempt, which goes on nevertheless. */
  async giveUp(state: WorldState, uid: string): Promise<void> {
    const run = state.runs[uid];
    if (run?.attempt == null || state.ghost !== null) return;
    // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
    const { isDurable: _, asksToBe: __, digest: ___, isCurrent, ...attempt } = run.attempt;
    state.ghost = { ref: run.ref, attempt, isCurrent };
    this.running.failed(state, run);
    await this.running.goOn(state, uid);
  }

  /** As far as the process of the worker knows. */
  isNamespacePaused(state: WorldState): boolean {
    if (this.world.watchesNamespaces !== true) return false;
    // A process that watches decides from what the watch shows; one that only works reads it.
    if (this.#isOne) return this.watching.isNamespacePaused(state.watches);
    return this.clusterOf(state)
      .list(NAMESPACES)
      .some(({ object }) => isPaused(object));
  }

  /** The objects of this state: what changes them is noted for the watches. */
  clusterOf(state: WorldState): SimulatedCluster {
    return new SimulatedCluster(state.cluster, {
      clockMs: state.clockMs,
      home: this.world.home,
      isReferred: (key) => this.watching.isReferred(key),
      freshUid: () => freshUid(JSON.stringify(state)),
      onChange: (key, object) => {
        for (const run of Object.values(state.runs)) noteChange(run);
        this.watching.note(state, state.isByOthers ? [key, object ?? null, true] : [key, object ?? null]);
      },
    });
  }
}

function keyOfPrimary({ controller: { primary }, objects }: World): string {
  const [, object] = objects.find(([{ plural }]) => plural === primary.type.plural) ?? [];
  return objectKey(primary.type, object?.metadata.name ?? '');
}

function countRequest(state: WorldState, why: string): void {
  if (state.hasNews === false)
    throw new Violation(`a start or signal that no change by others has called for: ${why}`);
  if (state.hasNews !== null) state.hasNews = false;
}
