import { APPROVAL_ANNOTATION, AWAITING_APPROVAL, PAUSED } from '../../src/api/annotations.ts';
import { type Condition } from '../../src/api/condition.ts';
import {
  isConverged,
  isObserve,
  isRest,
  reasonOf,
  type Held,
  type NextInHistory,
  type NextStep,
} from '../../src/runs/decision.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { Ahead } from './ahead.ts';
import { wordsOf } from './api-server.ts';
import { askedAgain } from './asked-again.ts';
import type { Broken } from './broken.ts';
import type { System, Transition } from './explorer.ts';
import { FaultSteps } from './fault-steps.ts';
import { Graph, type Edge } from './graph.ts';
import { Machine } from './machine.ts';
import { atTheEnd, countIn, movesOfPeople, PEOPLE, type PeoplesMove } from './people.ts';
import { PromptSteps } from './prompt-steps.ts';
import { checkNames, FAULTS, type Conditions, type Disturbed, type WorldScenario } from './scenario.ts';
import { SlowSteps } from './slow-steps.ts';
import { copyOf, type SimulatedRun, type WorldState } from './state.ts';
import { disturbing, fallsBehind, resumes, step, type PossibleStep } from './step.ts';
import { valueOf } from './values.ts';
import type { World } from './world.ts';

/** An operator with one controller in a small cluster: all that may happen to it. */
export function operatorIn(world: World, scenario: WorldScenario, broken?: Broken): System {
  return new OperatorModel(world, scenario, broken).disturbed(scenario);
}

/** What is found out about a state once serves whatever is explored of the same operator. */
export class OperatorModel {
  readonly #world: World;
  readonly #countsSignals: boolean;
  readonly #machine: Machine;
  readonly #ahead: Ahead;
  readonly #graph = new Graph();
  readonly #prompt: PromptSteps;
  readonly #slow: SlowSteps;
  readonly #faults: FaultSteps;
  #readsClock: boolean | undefined;
  /** What the run of a resource that is there still does in an end, or `nothing`. */
  readonly ends = new Set<string>();

  constructor(world: World, conditions: Conditions, broken: Broken = {}) {
    this.#world = world;
    this.#countsSignals = conditions.countsSignals ?? false;
    this.#machine = new Machine(world, conditions, broken);
    this.#prompt = new PromptSteps(this.#machine);
    this.#ahead = new Ahead(this.#machine);
    this.#slow = new SlowSteps(this.#machine, this.#ahead);
    this.#faults = new FaultSteps(this.#machine, this.#prompt);
  }

  /** Where so much may disturb it. */
  disturbed({ budget = {}, slowness, readsAtOnce = false }: Disturbed): System {
    checkNames(this.#world, budget);
    const names = Object.entries(budget).flatMap(([name, times]) => Array<string>(times).fill(name));
    const isOrdered = slowness !== undefined;
    return {
      start: () => Promise.resolve(placeOf(this.#start(slowness ?? 0), names)),
      next: (place) => this.#next(place, { isOrdered, readsAtOnce }),
      shortcomings: (place) => this.#shortcomings(this.#graph.stateOf(numberIn(place))),
    };
  }

  #start(slowness: number): number {
    const state: WorldState = {
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
      missed: 0,
      rested: [],
      slow: [],
      slowness,
      isUndisturbed: true,
      hasNews: this.#countsSignals ? true : null,
      isByOthers: false,
    };
    const cluster = this.#machine.clusterOf(state);
    for (const [type, object] of this.#world.objects) cluster.create(type, object);
    // Where approval is required all along, each deletion has to be one of those that were approved.
    if (isApprovalRequired(cluster.get(this.#machine.key))) state.approved = 0;
    this.#machine.watcherStarts(state);
    return this.#graph.numberOf(state);
  }

  async #next(place: string, { isOrdered, readsAtOnce }: Order): Promise<readonly Transition[]> {
    this.#noteClock();
    const [number, names] = [numberIn(place), namesIn(place)];
    const order = { isOrdered, readsAtOnce: readsAtOnce && names.length === 0 };
    const name = `${isOrdered ? 'in order' : 'in any order'}${order.readsAtOnce ? ', read at once' : ''}`;
    const goingOn = await this.#graph.edges(number, name, (state) => this.#goingOn(state, order));
    const edges = goingOn.filter(({ fault }) => fault === undefined || names.includes(fault));
    for (const each of new Set(names))
      edges.push(...(await this.#graph.edges(number, each, (state) => this.#disturbances(state, each))));
    return edges.map((edge) => transitionOf(edge, names));
  }

  /** What was found while nothing was decided from the time, may be something else since. */
  #noteClock(): void {
    const readsClock = this.#world.outside?.readsClock();
    if (readsClock !== this.#readsClock) this.#graph.forgetEdges();
    this.#readsClock = readsClock;
  }

  /** What may happen where nobody disturbs; and what disturbs by when it happens. */
  async #goingOn(state: WorldState, { isOrdered, readsAtOnce }: Order): Promise<readonly PossibleStep[]> {
    const prompt = await this.#prompt.in(state, { readsAtOnce });
    const lingering = this.#lingering(state);
    if (!isOrdered) return [...prompt, ...(await this.#later(state, prompt.length === 0)), ...lingering];
    const [next] = prompt.filter(({ of = '' }) => !state.slow.includes(of));
    const resumed = prompt.filter(({ of = '' }) => state.slow.includes(of)).map(({ of = '' }) => resumes(of));
    if (next === undefined)
      return [...(await this.#later(state, prompt.length === 0)), ...resumed, ...lingering];
    const slowed = state.slowness > 0 ? [fallsBehind(next.of ?? '')] : [];
    return [next, ...slowed, ...resumed, ...lingering];
  }

  async #later(state: WorldState, isQuiet: boolean): Promise<readonly PossibleStep[]> {
    const slow = await this.#slow.in(state, isQuiet);
    const late = isQuiet ? slow : slow.map((each) => disturbing('lag', each));
    return [...late, ...this.#happenings(state), ...this.#lastMoves(state)];
  }

  async #disturbances(state: WorldState, name: string): Promise<readonly PossibleStep[]> {
    const byOthers = this.#world.others[name];
    if (byOthers !== undefined)
      return byOthers(this.#machine.clusterOf(state)).map((move) => this.#disturbance(name, move));
    if (isOneOf(FAULTS, name)) return this.#faults.in(state, name);
    const moves = isOneOf(PEOPLE, name) ? movesOfPeople(name, this.#concerned(state)) : [];
    return moves.map((move) => this.#disturbance(name, move));
  }

  async #shortcomings(state: WorldState): Promise<readonly string[]> {
    const wrong = [...this.#world.shortcomings(this.#machine.clusterOf(state), this.#ahead.isBack(state))];
    if (this.#machine.key in state.cluster)
      this.ends.add(this.#ahead.isBack(state) ? 'nothing' : goingOnIn(state));
    const evaluation = this.#machine.watching.evaluate(state);
    const decision = evaluation?.decision;
    if (evaluation !== undefined) wrong.push(...this.#unsaid(evaluation.observation));
    for (const run of Object.values(state.runs)) {
      const held = heldIn(run);
      if (held !== undefined) wrong.push(`a run is held, and nothing releases it: ${held.message}`);
      if (!isExpected(run, decision))
        wrong.push(`a run is open, and the view calls for ${decision?.do ?? 'nothing'}`);
    }
    const isIdle = Object.keys(state.runs).length === 0;
    if (isIdle && decision !== undefined && !isConverged(decision))
      wrong.push(`no run is open, and the view calls for ${decision.do}`);
    if (isIdle && wrong.length === 0) wrong.push(...this.#begunByRestart(state));
    return [...wrong, ...(await askedAgain(this.#machine, state))];
  }

  /** A new watcher lists everything: where nothing is to be done, nothing may follow from that. */
  #begunByRestart(before: WorldState): readonly string[] {
    const state = copyOf(before);
    this.#machine.watcherStarts(state);
    const decision = this.#machine.watching.evaluate(state)?.decision;
    return decision === undefined || isConverged(decision)
      ? []
      : [`a restart of the watcher starts a run: ${reasonOf(decision)}`];
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

  /** At any time, be it before or after all that the others do. */
  #lingering({ lingering: request }: WorldState): PossibleStep[] {
    if (request === null) return [];
    return [
      step(`what lingered is made: ${wordsOf(request)}`, (state) => {
        state.lingering = null;
        this.#machine.serve(state, request, { isLate: true });
      }),
    ];
  }

  // What happens by itself, and what others do ----------------------------------------------------------

  #happenings(state: WorldState): PossibleStep[] {
    const moves = this.#world.happenings?.(this.#machine.clusterOf(state)) ?? [];
    return moves.map((move) => this.#moved(move));
  }

  /** What people do when nobody else does anything any more. */
  #lastMoves(state: WorldState): PossibleStep[] {
    return atTheEnd(this.#concerned(state)).map((move) => this.#moved(move));
  }

  #concerned(state: WorldState) {
    const [held] = Object.values(state.runs).flatMap((run) => heldIn(run) ?? []);
    return { cluster: this.#machine.clusterOf(state), key: this.#machine.key, held };
  }

  #disturbance(name: string, move: PeoplesMove): PossibleStep {
    const moved = this.#moved(move);
    const disturbed = step(moved.what, (state) => {
      // Where nobody asks, it makes no difference.
      state.isUndisturbed = this.#world.violation === undefined;
      state.rested = [];
      return moved.apply(state);
    });
    return disturbing(name, disturbed);
  }

  #moved({ what, change, approves }: PeoplesMove): PossibleStep {
    return step(what, (state) => {
      if (approves !== undefined && state.approved !== null) state.approved += countIn(approves);
      state.isByOthers = state.hasNews !== null;
      change(this.#machine.clusterOf(state));
      state.isByOthers = false;
    });
  }
}

/** In which order things go on. */
interface Order {
  /** What is prompt comes first, unless it falls behind. */
  readonly isOrdered: boolean;
  readonly readsAtOnce: boolean;
}

/** A state by its number, and what may still disturb there. */
function placeOf(number: number, names: readonly string[]): string {
  return [number, ...names].join('\n');
}

function numberIn(place: string): number {
  return parseInt(place, 10);
}

function namesIn(place: string): readonly string[] {
  return place.split('\n').slice(1);
}

function transitionOf(edge: Edge, names: readonly string[]): Transition {
  const { what, step: its, fault } = edge;
  const left = fault === undefined ? names : names.toSpliced(names.indexOf(fault), 1);
  return {
    what: fault === undefined ? what : `${what}  (${fault})`,
    disturbance: fault,
    step: its,
    apply: async () => placeOf(await edge.to(), left),
  };
}

function isOneOf<T extends string>(all: readonly T[], name: string): name is T {
  return (all as readonly string[]).includes(name);
}

function isApprovalRequired(object: KubernetesObject | undefined): boolean {
  return object?.metadata.annotations?.[APPROVAL_ANNOTATION] === 'required';
}

/** What its run tries again and again. To wait, or to stall, may be what a story is about. */
function goingOnIn({ runs }: WorldState): string {
  const attempt = Object.values(runs)[0]?.attempt ?? null;
  return attempt === null ? 'nothing' : `${attempt.step} fails, and is tried again and again`;
}

function heldIn({ next, attempt }: SimulatedRun): Held | undefined {
  const rest = valueOf<NextInHistory>(next);
  return attempt === null && isRest(rest) && rest.do === 'held' ? rest : undefined;
}

/** A run that is tried again and again, or rests where the view rests; or the view does not suffice to tell. */
function isExpected({ next, attempt }: SimulatedRun, decision: NextStep | undefined): boolean {
  // No view shows that the outside system is away.
  if (attempt !== null) return true;
  if (decision === undefined || isConverged(decision)) return false;
  return isObserve(decision) || valueOf<NextInHistory>(next).do === decision.do;
}
