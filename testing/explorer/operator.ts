import {
  APPROVAL_ANNOTATION,
  AWAITING_APPROVAL,
  PAUSED,
  type Condition,
} from '../../src/contract/control.ts';
import { isRest, type Held, type Next } from '../../src/contract/decision.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { wordsOf } from './api-server.ts';
import type { Broken } from './broken.ts';
import type { System, Transition } from './explorer.ts';
import { FaultSteps } from './fault-steps.ts';
import { Machine } from './machine.ts';
import { atTheEnd, countIn, movesOfPeople, PEOPLE, type PeoplesMove } from './people.ts';
import { PromptSteps } from './prompt-steps.ts';
import { checkNames, type Scenario } from './scenario.ts';
import { SlowSteps } from './slow-steps.ts';
import { askedAgain } from './asked-again.ts';
import { stateOf, textOf, type Run, type State } from './state.ts';
import { disturbing, fallsBehind, resumes, step, transitionOf, type Step } from './step.ts';
import { valueOf } from './values.ts';
import type { World } from './world.ts';

/** An operator with one controller in a small cluster: all that may happen to it. */
export function operatorIn(world: World, scenario: Scenario, broken: Broken = {}): System {
  return new Operator(world, scenario, broken);
}

class Operator implements System {
  readonly #scenario: Scenario;
  readonly #machine: Machine;
  readonly #prompt: PromptSteps;
  readonly #slow: SlowSteps;
  readonly #faults: FaultSteps;

  constructor(world: World, scenario: Scenario, broken: Broken) {
    checkNames(world, scenario);
    this.#scenario = scenario;
    this.#machine = new Machine(world, scenario, broken);
    this.#prompt = new PromptSteps(this.#machine);
    this.#slow = new SlowSteps(this.#machine);
    this.#faults = new FaultSteps(this.#machine);
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
      pollDue: false,
      slow: [],
      slowness: this.#scenario.slowness ?? 0,
      isUndisturbed: true,
      hasNews: countsSignals ? true : null,
      isByOthers: false,
    };
    const cluster = this.#machine.clusterOf(state);
    for (const [type, object] of this.#machine.world.objects) cluster.create(type, object);
    // Where approval is required all along, each deletion has to be one of those that were approved.
    if (isApprovalRequired(cluster.get(this.#machine.key))) state.approved = 0;
    this.#machine.watcherStarts(state);
    return Promise.resolve(textOf(state));
  };

  async next(text: string): Promise<readonly Transition[]> {
    const state = stateOf(text);
    const prompt = await this.#prompt.in(state);
    const steps = [
      ...this.#goingOn(state, prompt),
      ...this.#lingering(state),
      ...this.#others(state),
      ...(await this.#faults.in(state, prompt.length > 0)),
    ];
    return steps
      .filter(({ fault: name }) => name === undefined || (state.budget[name] ?? 0) > 0)
      .map((each) => transitionOf(text, each));
  }

  /** What may happen where nobody disturbs. */
  #goingOn(state: State, prompt: readonly Step[]): Step[] {
    const slow = this.#slow.in(state);
    const isQuiet = prompt.length === 0;
    const late = isQuiet ? slow : slow.map((each) => disturbing('lag', each));
    const happenings = [...this.#happenings(state), ...this.#lastMoves(state)];
    if (this.#scenario.slowness === undefined) return [...prompt, ...late, ...happenings];
    const [next] = prompt.filter(({ of = '' }) => !state.slow.includes(of));
    const resumed = prompt.filter(({ of = '' }) => state.slow.includes(of)).map(({ of = '' }) => resumes(of));
    if (next === undefined) return [...late, ...happenings, ...resumed];
    return [next, ...(state.slowness > 0 ? [fallsBehind(next.of ?? '')] : []), ...resumed];
  }

  async shortcomings(text: string): Promise<readonly string[]> {
    const state = stateOf(text);
    const wrong = [...this.#machine.world.shortcomings(this.#machine.clusterOf(state))];
    const evaluation = this.#machine.watching.evaluate(state);
    const decision = evaluation?.decision;
    if (evaluation !== undefined) wrong.push(...this.#unsaid(evaluation.observation));
    for (const run of Object.values(state.runs)) {
      const held = heldIn(run);
      if (held !== undefined) wrong.push(`a run is held, and nothing releases it: ${held.because}`);
      if (!isExpected(run, decision?.do))
        wrong.push(`a run is open, and the view calls for ${decision?.do ?? 'nothing'}`);
    }
    const isIdle = Object.keys(state.runs).length === 0;
    if (isIdle && decision !== undefined && decision.do !== 'converged')
      wrong.push(`no run is open, and the view calls for ${decision.do}`);
    return [...wrong, ...(await askedAgain(this.#machine, text))];
  }

  /** What the status has to say of what people asked, where it has room for that. */
  #unsaid(observation: unknown): string[] {
    const { requestedAt, isBeingDeleted, reported } =
      this.#machine.world.controller.control?.(observation) ?? {};
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

  /** At any time, be it before or after all that the others do. */
  #lingering({ lingering: request }: State): Step[] {
    if (request === null) return [];
    return [
      step(`what lingered is made: ${wordsOf(request)}`, (state) => {
        state.lingering = null;
        this.#machine.serve(state, request, { isLate: true });
      }),
    ];
  }

  // What happens by itself, and what others do ----------------------------------------------------------

  #happenings(state: State): Step[] {
    const moves = this.#machine.world.happenings?.(this.#machine.clusterOf(state)) ?? [];
    return moves.map((move) => this.#moved(move));
  }

  #others(state: State): Step[] {
    const cluster = this.#machine.clusterOf(state);
    const isAllowed = (name: string) => (state.budget[name] ?? 0) > 0;
    const byOthers = Object.entries(this.#machine.world.others).flatMap(([name, movesIn]) =>
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
    return { cluster: this.#machine.clusterOf(state), key: this.#machine.key, held };
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
      const { missed } = state;
      state.missed = 0;
      change(this.#machine.clusterOf(state));
      state.pollDue ||= state.missed > 0 && this.#machine.world.outside?.polls === true;
      state.missed = Math.max(state.missed, missed);
      state.isByOthers = false;
    });
  }
}

function isApprovalRequired(object: KubernetesObject | undefined): boolean {
  return object?.metadata.annotations?.[APPROVAL_ANNOTATION] === 'required';
}

function heldIn({ next, attempt }: Run): Held | undefined {
  const rest = valueOf<Next>(next);
  return attempt === null && isRest(rest) && rest.do === 'held' ? rest : undefined;
}

/** A run that is tried again and again, or rests where the view rests; or the view does not suffice to tell. */
function isExpected({ next, attempt }: Run, decision: string | undefined): boolean {
  // No view shows that the outside system is away.
  if (attempt !== null) return true;
  if (decision === undefined || decision === 'converged') return false;
  return decision === 'observe' || valueOf<Next>(next).do === decision;
}
