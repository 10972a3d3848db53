import { isNeeded, type Evaluation } from '../../../src/watcher/evaluation.ts';
import type { StartAnswer, RequestEvent } from '../../../src/watcher/request-state.ts';
import { next } from '../../../src/watcher/request-machine.ts';
import { isCalling, wakeAtMs, type RequestState } from '../../../src/watcher/request-state.ts';
import { Violation, type System, type Transition } from '../../../testing/explorer/explorer.ts';
import { disturbs, move, transitionOf, type Move } from './requests-move.ts';
import { RequestedRun } from './requests-run.ts';
import {
  at,
  caughtUp,
  changed,
  opennessChanged,
  signals,
  watcherOf,
  type Call,
  type Live,
  type Scenario,
  type State,
} from './requests-state.ts';
import { LONGEST_MS, nextMs, passed, revived, textOf } from './requests-time.ts';

const REF = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-1' } as const;
/** As in src/watcher/watcher.ts. */
const SWEEP_FIRST_MS = 3_000;
const LAST_LIST_MS = 30_000;

/** The dispatchers of one or two watchers, one resource, its watch, and Temporal's side. Now is always zero. */
export function requestsIn(scenario: Scenario): System {
  return new Requests(scenario);
}

class Requests implements System {
  readonly #scenario: Scenario;
  readonly #decide: typeof next;
  readonly #run: RequestedRun;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#decide = scenario.decide ?? next;
    this.#run = new RequestedRun(scenario);
  }

  readonly start = (): Promise<string> => {
    const live: Live = { version: 1, generation: 1, done: 0, job: [0, false] };
    const state: State = {
      live,
      watchers: [watcherOf(live, true)],
      run: null,
      visible: false,
      visibleUntilMs: null,
      budget: { ...this.#scenario.budget },
      inVain: this.#scenario.inVain ?? 0,
      lastStart: null,
    };
    if ((this.#scenario.budget.failovers ?? 0) > 0) state.watchers.push(watcherOf(live, false));
    this.#rechecks(state, 0);
    return Promise.resolve(textOf(state));
  };

  next(text: string): Promise<readonly Transition[]> {
    const state = JSON.parse(text) as State;
    const prompt = this.#prompt(state);
    const moves = [
      ...prompt,
      ...this.#timePasses(state, prompt.length > 0),
      ...(state.visibleUntilMs === null ? [] : [move('visibility catches up', caughtUp)]),
      ...this.#disturbances(state),
    ];
    return Promise.resolve(
      moves
        .filter(({ costs }) => costs === undefined || (state.budget[costs] ?? 0) > 0)
        .map((move) => transitionOf(text, move)),
    );
  }

  shortcomings(text: string): readonly string[] {
    const { live, run, watchers } = JSON.parse(text) as State;
    const wrong: string[] = [];
    const decision = live === null ? undefined : this.#run.decision(live);
    const isAtRest = live === null || decision?.do === 'converged';
    if (!isAtRest && decision?.do !== 'stalled') wrong.push(`the resource is at ${decision?.do ?? ''}`);
    if (isAtRest && run !== null) wrong.push('a run is open that nobody needs');
    if (decision?.do === 'stalled' && run?.seen !== live?.generation)
      wrong.push('the resource is stalled, and no run knows its generation');
    for (const { leads, state } of watchers) {
      const isRemembered = leads && isAtRest && state !== null;
      if (isRemembered && this.#scenario.neverLists !== true)
        wrong.push('the watcher still remembers the resource');
    }
    return wrong;
  }

  // What goes on by itself -------------------------------------------------------------------------------

  #prompt(state: State): Move[] {
    return [...state.watchers.flatMap((_, who) => this.#watcherMoves(state, who)), ...this.#run.moves(state)];
  }

  #watcherMoves({ watchers }: State, who: number): Move[] {
    const watcher = watchers[who];
    if (watcher === undefined) return [];
    const { toShow, call, list, endsToSee } = watcher;
    const moves: Move[] = [];
    if (toShow.length > 0) moves.push(move(`watcher ${who} sees a change`, (it) => this.#shows(it, who)));
    if (call?.answer === null) moves.push(...this.#arrivals(who));
    else if (call !== null) moves.push(...this.#answers(who));
    if (list !== null) moves.push(move(`watcher ${who} gets the list`, (it) => this.#listed(it, who)));
    if (endsToSee > 0)
      moves.push(
        move(`watcher ${who} hears that a run ended`, (it) => {
          at(it, who).endsToSee -= 1;
          this.#happened(it, who, { type: 'ended', view: this.#viewOf(it, who) });
        }),
      );
    return moves;
  }

  #shows(state: State, who: number): void {
    const watcher = at(state, who);
    watcher.view = watcher.toShow.shift() ?? null;
    if (watcher.leads) this.#happened(state, who, { type: 'changed', view: this.#viewOf(state, who) });
  }

  #arrivals(who: number): Move[] {
    return [
      move(`the call of watcher ${who} arrives`, (it) => this.#arrives(it, who)),
      disturbs('refusals', `the call of watcher ${who} is refused`, (it) => this.#fails(it, who, 'refused')),
      disturbs('refusals', `Temporal is away when watcher ${who} calls`, (it) =>
        this.#fails(it, who, 'unavailable'),
      ),
      disturbs('doubts', `watcher ${who} does not lead for a moment`, (it) =>
        this.#fails(it, who, 'not leading'),
      ),
    ];
  }

  #arrives(state: State, who: number): void {
    const watcher = at(state, who);
    const { call } = watcher;
    if (call === null) return;
    watcher.call = {
      ...call,
      answer: call.effect.do === 'start' ? this.#starts(state, call) : signals(state),
    };
  }

  #starts(state: State, { effect }: Call): StartAnswer {
    if (state.run !== null) return 'already-open';
    if (effect.do === 'start') this.#checkBackoff(state, effect.view);
    state.run = { hasSignal: false, doing: 'look', seen: 0 };
    opennessChanged(state);
    return 'started';
  }

  /** No run is started twice in vain without backoff: the second of the same in half a second, and then ever later. */
  #checkBackoff(state: State, view: Evaluation): void {
    const of = `${view.inputs}, ${view.resourceVersion}`;
    const [atMs, before, inVain] = state.lastStart ?? [0, '', 0];
    const isSame = before === of;
    if (isSame && inVain > 0 && -atMs < 500 * 2 ** (inVain - 1))
      throw new Violation(
        `a run is started ${-atMs} ms after one that was in vain, the ${inVain}th in a row`,
      );
    state.lastStart = [0, of, isSame ? inVain : 0];
  }

  #answers(who: number): Move[] {
    return [
      move(`watcher ${who} gets the answer`, (it) => {
        const watcher = at(it, who);
        const answer = watcher.call?.answer;
        watcher.call = null;
        if (answer != null) this.#happened(it, who, { type: 'answered', answer });
      }),
      disturbs('lost answers', `the answer for watcher ${who} is lost`, (it) =>
        this.#fails(it, who, 'unavailable'),
      ),
    ];
  }

  #fails(state: State, who: number, because: 'unavailable' | 'refused' | 'not leading'): void {
    at(state, who).call = null;
    this.#happened(state, who, { type: 'failed', because });
  }

  #listed(state: State, who: number): void {
    const watcher = at(state, who);
    const [isOpen, askedAtMs] = watcher.list ?? [false, 0];
    watcher.list = null;
    if (watcher.listAtMs !== null) watcher.listAtMs = watcher.isFirstList ? LAST_LIST_MS : null;
    watcher.isFirstList = false;
    const view = this.#viewOf(state, who);
    if (!isOpen && watcher.state === null) return;
    this.#happened(state, who, { type: 'listed', isOpen, isStalled: false, askedAtMs, view });
  }

  // Time ------------------------------------------------------------------------------------------------

  #timePasses(state: State, isSomethingDue: boolean): Move[] {
    const due = state.watchers.flatMap((_, who) => this.#dueMoves(state, who));
    const costs = isSomethingDue ? 'slowness' : undefined;
    const moves = due.map((each) => (costs === undefined ? each : { ...each, costs }));
    const ms = nextMs(state);
    if (ms === undefined || due.length > 0) return moves;
    const passes = move(`${ms} ms pass`, (it) => passed(it, ms));
    return [...moves, costs === undefined ? passes : { ...passes, costs }];
  }

  /** What does not take any time, and comes after what is prompt. */
  #dueMoves(state: State, who: number): Move[] {
    const watcher = state.watchers[who];
    if (watcher === undefined) return [];
    const { state: known, leads, ends } = watcher;
    const moves: Move[] = [];
    if (known?.phase.at === 'queued' && known.phase.dueMs <= 0)
      moves.push(
        move(`it is the turn of the resource at watcher ${who}`, (it) =>
          this.#happened(it, who, { type: 'turn', view: this.#viewOf(it, who) }),
        ),
      );
    if ((wakeAtMs(known ?? undefined) ?? 1) <= 0)
      moves.push(move(`watcher ${who} wakes`, (it) => this.#happened(it, who, { type: 'time' })));
    if (leads && this.#wouldList(state, who))
      moves.push(
        move(`watcher ${who} lists the open runs`, (it) => {
          at(it, who).list = [it.visible, 0];
        }),
      );
    if (ends && !isCalling(known ?? undefined))
      moves.push(
        move(`the term of watcher ${who} ends`, (it) => (it.watchers[who] = watcherOf(it.live, false))),
      );
    if (state.live !== null && state.live.job[0] === state.live.generation && !state.live.job[1] && who === 0)
      moves.push(move('the Job ends', (it) => changed(it, { job: [it.live?.job[0] ?? 0, true] })));
    return moves;
  }

  /** It lists again and again; here, where that would tell it something. */
  #wouldList(state: State, who: number): boolean {
    const { list, listAtMs, isFirstList, state: known } = at(state, who);
    if (list !== null || this.#scenario.neverLists === true) return false;
    if (listAtMs !== null && (isFirstList || listAtMs <= 0)) return listAtMs <= 0;
    if (known === null) return false;
    const copy = structuredClone(state);
    at(copy, who).list = [copy.visible, 0];
    this.#listed(copy, who);
    return textOf(copy) !== textOf(state);
  }

  // What disturbs ---------------------------------------------------------------------------------------

  #disturbances(state: State): Move[] {
    const moves: Move[] = [];
    if (state.live !== null) {
      moves.push(
        disturbs('edits', 'somebody edits the resource', (it) =>
          changed(it, { generation: (it.live?.generation ?? 0) + 1 }),
        ),
        disturbs('deletes', 'somebody deletes the resource', (it) => changed(it, null)),
      );
    }
    if (state.run !== null) {
      moves.push(
        disturbs('terminations', 'somebody terminates the run', (it) => {
          it.run = null;
          opennessChanged(it);
        }),
        disturbs('wipes', 'Temporal forgets everything', (it) => {
          it.run = null;
          it.visible = false;
          it.visibleUntilMs = null;
        }),
      );
    }
    if (at(state, 0).toShow.length > 1)
      moves.push(
        disturbs('relists', 'the watch breaks, and shows what there is by now', (it) => {
          at(it, 0).toShow = at(it, 0).toShow.slice(-1);
          this.#shows(it, 0);
        }),
      );
    moves.push(
      disturbs('restarts', 'the watcher starts anew', (it) => {
        it.watchers[0] = watcherOf(it.live, at(it, 0).leads);
        if (at(it, 0).leads) this.#rechecks(it, 0);
      }),
    );
    if (state.watchers.length > 1)
      moves.push(disturbs('failovers', 'another watcher takes over', (it) => this.#failsOver(it)));
    return moves;
  }

  #failsOver(state: State): void {
    const from = state.watchers.findIndex(({ leads, ends }) => leads && !ends);
    const to = state.watchers.findIndex(({ leads }) => !leads);
    if (from < 0 || to < 0) return;
    at(state, from).ends = true;
    at(state, to).leads = true;
    this.#rechecks(state, to);
  }

  #rechecks(state: State, who: number): void {
    at(state, who).listAtMs = SWEEP_FIRST_MS;
    at(state, who).isFirstList = true;
    const view = this.#viewOf(state, who);
    if (view !== undefined) this.#happened(state, who, { type: 'first seen', view });
  }

  #viewOf(state: State, who: number): Evaluation | undefined {
    const { view } = at(state, who);
    if (view === null) return undefined;
    const { generation, version, job } = view;
    const decision = this.#run.decision(view);
    const inputs = `generation ${generation}`;
    return {
      ref: REF,
      decision,
      inputs,
      resourceVersion: `${version} ${job.join()}`,
      observation: undefined,
    };
  }

  #happened(state: State, who: number, event: RequestEvent): void {
    const watcher = at(state, who);
    const before = revived(watcher.state);
    const outcome = this.#decide(before, REF, event, { nowMs: 0, longestMs: LONGEST_MS });
    if (before !== undefined && isLost(before, event, outcome.state, this.#viewOf(state, who)))
      throw new Violation('what the resource needs is forgotten');
    watcher.state = outcome.state ?? null;
    for (const effect of outcome.effects) {
      if (effect.do === 'report') continue;
      if (watcher.call !== null) throw new Violation('two calls of one resource at a time');
      watcher.call = { effect, answer: null };
    }
  }
}

/** A resource that needs a run is remembered, whatever happens. */
function isLost(
  before: RequestState,
  { type }: RequestEvent,
  after: RequestState | undefined,
  view: Evaluation | undefined,
): boolean {
  const wasNeeded = before.neededSinceMs !== undefined && type !== 'changed';
  return wasNeeded && isNeeded(view) && after === undefined;
}
