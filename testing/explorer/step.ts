import type { Machine } from './machine.ts';
import type { Fault } from './scenario.ts';
import type { Component, WorldState } from './state.ts';

/** A transition before it is known what state it is made in. */
export interface PossibleStep {
  readonly what: string;
  /** Whose it is, where it is prompt. */
  readonly of?: Component;
  /** The step of the controller that it belongs to, unless it only reads or tells. */
  readonly step?: string;
  /** What it takes from the budget; undefined: it is calm. */
  readonly fault?: string;
  readonly apply: (state: WorldState) => unknown;
}

export function step(what: string, apply: PossibleStep['apply']): PossibleStep {
  return { what, apply };
}

/** The same for whatever is prompt, unless it is slow. */
export function stepOf(of: Component, its: PossibleStep): PossibleStep {
  return { ...its, of };
}

export function fallsBehind(of: Component): PossibleStep {
  return step(`the ${of} falls behind`, (state) => {
    state.slowness -= 1;
    state.slow = [...state.slow, of].sort();
  });
}

export function resumes(of: Component): PossibleStep {
  return step(`the ${of} goes on`, (state) => {
    state.slow = state.slow.filter((each) => each !== of);
  });
}

export function dispatch(machine: Machine, uid: string): PossibleStep {
  return step('the watcher starts or signals the run', (state) => machine.dispatch(state, uid));
}

export function fault(name: Fault, what: string, apply: PossibleStep['apply']): PossibleStep {
  return { what, fault: name, apply };
}

export function disturbing(name: string, calm: PossibleStep): PossibleStep {
  return { ...calm, fault: calm.fault ?? name };
}

/** All is known, and nobody is at work. */
export function isQuiet({ runs, ghost, lingering, watches, isViewNew }: WorldState): boolean {
  if (Object.keys(runs).length > 0 || ghost !== null || lingering !== null || isViewNew) return false;
  return Object.values(watches).every(({ events }) => events.length === 0);
}
