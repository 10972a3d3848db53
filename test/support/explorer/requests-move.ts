import type { Transition } from '../../../testing/explorer/explorer.ts';
import type { Budget, State } from './requests-state.ts';
import { textOf } from './requests-time.ts';

export interface Move {
  readonly what: string;
  readonly costs?: string;
  readonly apply: (state: State) => unknown;
}

export function move(what: string, apply: Move['apply']): Move {
  return { what, apply };
}

export function disturbs(costs: keyof Budget, what: string, apply: Move['apply']): Move {
  return { what, costs, apply };
}

export function transitionOf(text: string, { what, costs, apply }: Move): Transition {
  return {
    what: costs === undefined ? what : `${what}  (${costs})`,
    disturbance: costs,
    apply: () => {
      const state = JSON.parse(text) as State;
      if (costs !== undefined) state.budget[costs] = (state.budget[costs] ?? 0) - 1;
      apply(state);
      return Promise.resolve(textOf(state));
    },
  };
}
