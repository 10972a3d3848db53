import { wordsOf, type Request } from './api-server.ts';
import type { Attempt } from './attempt.ts';
import type { Machine } from './machine.ts';
import type { PromptSteps } from './prompt-steps.ts';
import type { Fault } from './scenario.ts';
import type { SimulatedRun, WorldState } from './state.ts';
import { fault, type PossibleStep } from './step.ts';
import { listedInstead } from './watch.ts';

/** More than follow one after the other until a run has found out what its watcher has missed. */
const WAITS_AFTER_MISSED = 2;

/** An attempt whose next request is a write, or is none. */
type Asking = Attempt & { readonly isWrite: boolean };

/** What goes wrong. */
export class FaultSteps {
  readonly #machine: Machine;
  readonly #prompt: PromptSteps;

  constructor(machine: Machine, prompt: PromptSteps) {
    this.#machine = machine;
    this.#prompt = prompt;
  }

  async in(state: WorldState, name: Fault): Promise<readonly PossibleStep[]> {
    switch (name) {
      case 'restart':
        return [fault('restart', 'the watcher is killed', (it) => this.#machine.watcherStarts(it))];
      case 'relist':
        return Object.entries(state.watches).flatMap(([watch, { events }]) =>
          events.length > 1 ? [this.#relist(watch)] : [],
        );
      case 'outage':
        return this.#outagesIn(state);
      case 'duplicate':
        return Object.keys(state.runs).map((uid) =>
          fault('duplicate', 'a signal comes twice', (it) => this.#machine.running.signal(it, uid)),
        );
      case 'lag':
      case 'timer':
        // They are found with what waits for a moment to pass.
        return [];
      case 'crash':
      case 'error':
      case 'linger':
      case 'late':
      case 'abandon':
      case 'forget':
        return (await this.#atRequests(state)).filter((each) => each.fault === name);
    }
  }

  async #outagesIn(state: WorldState): Promise<readonly PossibleStep[]> {
    const isAnythingPrompt = (await this.#prompt.in(state)).length > 0;
    return Object.entries(state.entries).flatMap(([uid, { queued }]) =>
      queued === 'now' || (queued === 'later' && !isAnythingPrompt) ? this.#outages(uid) : [],
    );
  }

  #outages(uid: string): PossibleStep[] {
    const unanswered = async (state: WorldState, isMade: boolean) => {
      const before = structuredClone(state.entries[uid]);
      const request = this.#machine.dispatching.dispatch(state, uid);
      if (before === undefined || request === undefined) return;
      this.#machine.dispatching.failed(state, before);
      if (isMade) await this.#machine.request(state, request);
    };
    return [
      fault('outage', 'the watcher starts or signals the run: it is lost', (it) => unanswered(it, false)),
      fault('outage', 'the watcher starts or signals the run: its answer is lost', (it) =>
        unanswered(it, true),
      ),
    ];
  }

  #relist(name: string): PossibleStep {
    return fault('relist', `the watch of ${name} breaks, and lists again`, (state) => {
      const watch = state.watches[name];
      if (watch === undefined) return;
      if (this.#machine.world.outside === undefined) state.missed = WAITS_AFTER_MISSED;
      watch.events = listedInstead(watch);
      while (watch.events.length > 0) this.#machine.show(state, name);
    });
  }

  async #atRequests(state: WorldState): Promise<readonly PossibleStep[]> {
    const steps: PossibleStep[] = [];
    for (const run of Object.values(state.runs)) {
      const { attempt, ref } = run;
      if (attempt === null || run.backoff !== 'no') continue;
      const progress = await this.#machine.attempts.progressOf(ref, attempt);
      if (progress.at !== 'request') continue;
      const { request } = progress;
      steps.push(
        ...this.#faultsAt(request, run, { ...attempt, isWrite: this.#machine.isWrite(state, request) }),
      );
    }
    return steps;
  }

  #faultsAt(
    request: Request,
    { ref: { uid } }: SimulatedRun,
    { step: name, known, answers, isWrite }: Asking,
  ): PossibleStep[] {
    const words = `${name}: ${wordsOf(request)}`;
    const running = this.#machine.running;
    const lose = (state: WorldState, isMade: boolean) => {
      const run = state.runs[uid];
      if (run?.attempt == null) return undefined;
      if (isMade) this.#machine.serve(state, request);
      run.attempt = { ...run.attempt, ...this.#machine.received(state, run.attempt, { answer: 'lost' }) };
      return running.goOn(state, uid);
    };
    return [
      fault('crash', `the worker is killed at ${words}`, (state) => running.crash(state)),
      fault('error', `${words} fails before it is made`, (state) => lose(state, false)),
      fault('abandon', `${words} hangs: the attempt is given up`, (state) =>
        this.#machine.giveUp(state, uid),
      ),
      ...(isWrite
        ? [
            fault('crash', `${words} is made, and the worker is killed`, (state) => {
              this.#machine.serve(state, request);
              return running.crash(state);
            }),
            fault('error', `${words} is made, and its answer is lost`, (state) => lose(state, true)),
            fault('linger', `${words} lingers, and nobody waits for its answer`, (state) => {
              state.lingering = request;
              return lose(state, false);
            }),
            fault('late', `${words} is answered late`, (state) => {
              this.#machine.answer(state, uid, request, { isLate: true });
              return running.goOn(state, uid);
            }),
          ]
        : []),
      ...(known !== null && answers.length === 0
        ? [fault('forget', `${name} runs in another process`, (state) => running.forget(state, uid))]
        : []),
    ];
  }
}
