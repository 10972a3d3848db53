import { isRest, isStep, reasonOf, type NextInHistory } from '../../src/runs/decision.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { receivedBy, type Attempt, type AttemptProgress } from './attempt.ts';
import type { Machine } from './machine.ts';
import { copyOf, type WorldState } from './state.ts';
import { valueOf } from './values.ts';

/** After how long without a change it is asked again. */
const LATER = { 'a minute': 60_000, 'an hour': 3_600_000, 'a day': 86_400_000, 'a month': 2_592_000_000 };

/** What an author's controller would still do in the end, if somebody asked it. Nobody will. */
export async function askedAgain(machine: Machine, state: WorldState): Promise<readonly string[]> {
  const ref = machine.watching.evaluate(state)?.ref;
  if (machine.world.outside === undefined || ref === undefined) return [];
  const [run] = Object.values(state.runs);
  // It is being tried again, with backoff.
  if (run !== undefined && run.attempt !== null) return [];
  const rest = run && valueOf<NextInHistory>(run.next);
  // It looks by itself.
  if (rest !== undefined && 'recheckMs' in rest) return [];
  const now = await observedLater(machine, state, { ref, afterMs: 0 });
  if (isMoreToDo(now, rest))
    return [`asked again, the controller answers ${answerOf(now)}; nobody asks it again${how(machine)}`];
  if (run !== undefined || machine.world.outside.polls) return [];
  for (const [when, afterMs] of Object.entries(LATER)) {
    const later = await observedLater(machine, state, { ref, afterMs });
    if (isMoreToDo(later, undefined))
      return [
        `it decides by time alone: after ${when} it answers ${answerOf(later)}, and nobody asks it then; use next.wait(…, { recheckAfter }), or pollInterval`,
      ];
  }
  return [];
}

function how({ world }: Machine): string {
  if (world.outside?.polls === true) return '';
  return ", since no watch shows changes outside: give it a pollInterval, such as '10m'";
}

export function isMoreToDo(progress: AttemptProgress, rest: NextInHistory | undefined): boolean {
  if (progress.at !== 'end') return false;
  const { next } = progress.end;
  return isStep(next) || next.do !== (rest?.do ?? 'converged');
}

function answerOf(progress: AttemptProgress): string {
  if (progress.at !== 'end') return 'nothing';
  const { next } = progress.end;
  return isStep(next) || isRest(next) ? `${next.do}: ${reasonOf(next)}` : next.do;
}

/** One step that only observes, in a copy of the state. */
export async function observedLater(
  machine: Machine,
  from: WorldState,
  { ref, afterMs }: { readonly ref: ResourceRef; readonly afterMs: number },
): Promise<AttemptProgress> {
  const state = copyOf(from);
  let attempt: Attempt = {
    ...{ step: 'observe', known: null, answers: [], refusal: null },
    clockMs: state.clockMs + afterMs,
  };
  for (;;) {
    const progress = await machine.attempts.progressOf(ref, attempt);
    if (progress.at !== 'request') return progress;
    attempt = receivedBy(attempt, { answer: machine.serve(state, progress.request) });
  }
}
