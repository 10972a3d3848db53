import { wordsOf } from './api-server.ts';
import type { Machine } from './machine.ts';
import type { Ghost, SimulatedRun, WorldState } from './state.ts';
import { dispatch, step, stepOf, type PossibleStep } from './step.ts';

/** They change only what people read. */
const TELLING = ['observe', 'updateStatus'];

/** What goes on at once, where nothing falls behind. */
export class PromptSteps {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /**
   * The first is what is done first where nothing falls behind.
   *
   * @param options `readsAtOnce`: what an attempt reads one after the other is read at one moment
   */
  async in(state: WorldState, { readsAtOnce = false } = {}): Promise<PossibleStep[]> {
    const steps: PossibleStep[] = [];
    for (const name of this.#machine.watching.due(state))
      steps.push(stepOf(`watch of ${name}`, this.#delivery(state, name)));
    if (state.isViewNew)
      steps.push(
        stepOf(
          'watcher',
          step('the watcher looks at its view', (it) => this.#machine.dispatching.evaluate(it)),
        ),
      );
    for (const { ref, queued } of Object.values(state.entries)) {
      if (queued === 'now') steps.push(stepOf('watcher', dispatch(this.#machine, ref.uid)));
    }
    for (const run of Object.values(state.runs)) {
      for (const request of await this.#requestOf(state, run, readsAtOnce))
        steps.push(stepOf(`run of ${run.ref.uid}`, request));
    }
    if (state.ghost !== null) {
      for (const request of await this.#requestOfGhost(state.ghost))
        steps.push(stepOf('attempt given up', request));
    }
    return steps;
  }

  async #requestOf(now: WorldState, run: SimulatedRun, readsAtOnce: boolean): Promise<PossibleStep[]> {
    const { attempt, backoff, ref } = run;
    if (attempt === null || backoff !== 'no') return [];
    const progress = await this.#machine.attempts.progressOf(ref, attempt);
    if (progress.at !== 'request') return [];
    const { request } = progress;
    const isWrite = this.#machine.isWrite(now, request);
    const made = step(`${attempt.step}: ${wordsOf(request)}`, async (state) => {
      this.#machine.answer(state, ref.uid, request, {});
      await this.#machine.running.goOn(state, ref.uid);
      if (readsAtOnce && !isWrite) await this.#readOn(state, ref.uid);
    });
    return [TELLING.includes(attempt.step) ? made : { ...made, step: attempt.step }];
  }

  /** Up to the next write of the same attempt. */
  async #readOn(state: WorldState, uid: string): Promise<void> {
    for (let run = state.runs[uid]; run?.attempt != null && run.backoff === 'no'; run = state.runs[uid]) {
      const progress = await this.#machine.attempts.progressOf(run.ref, run.attempt);
      if (run.attempt.answers.length === 0 || progress.at !== 'request') return;
      if (this.#machine.isWrite(state, progress.request)) return;
      this.#machine.answer(state, uid, progress.request, {});
      await this.#machine.running.goOn(state, uid);
    }
  }

  async #requestOfGhost({ ref, attempt }: Ghost): Promise<PossibleStep[]> {
    const progress = await this.#machine.attempts.progressOf(ref, attempt);
    if (progress.at !== 'request') return [];
    const { request } = progress;
    return [
      step(`the attempt that was given up goes on: ${attempt.step}: ${wordsOf(request)}`, async (state) => {
        if (state.ghost === null) return;
        const answer = this.#machine.serve(state, request);
        const answered = this.#machine.received(state, state.ghost.attempt, { answer });
        state.ghost.attempt = answered;
        const next = await this.#machine.attempts.progressOf(ref, answered);
        if (next.at !== 'request') this.#machine.running.ghostEnded(state, next);
      }),
    ];
  }

  #delivery({ watches }: WorldState, name: string): PossibleStep {
    const key = watches[name]?.events[0]?.[0] ?? '';
    return step(`the watch of ${name} shows ${key}`, (state) => this.#machine.show(state, name));
  }
}
