import { wordsOf, type Request } from './api-server.ts';
import type { Attempt } from './attempt.ts';
import type { Machine } from './machine.ts';
import type { Fault } from './scenario.ts';
import type { Run, State } from './state.ts';
import { fault, type Step } from './step.ts';
import { listedInstead } from './watch.ts';

/** More than follow one after the other until a run has found out what its watcher has missed. */
const WAITS_AFTER_MISSED = 2;

/** An attempt whose next request is a write, or is none. */
type Asking = Attempt & { readonly isWrite: boolean };

/** What goes wrong, as far as there is budget for it. */
export class FaultSteps {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  async in(state: State, isAnythingPrompt: boolean): Promise<Step[]> {
    const { budget } = state;
    const isAllowed = (fault: Fault) => (budget[fault] ?? 0) > 0;
    const steps: Step[] = [];
    if (isAllowed('restart'))
      steps.push(fault('restart', 'the watcher is killed', (it) => this.#machine.watcherStarts(it)));
    if (isAllowed('relist')) {
      for (const [name, { events }] of Object.entries(state.watches)) {
        if (events.length > 1) steps.push(this.#relist(name));
      }
    }
    if (isAllowed('outage')) {
      for (const [uid, { queued }] of Object.entries(state.entries)) {
        if (queued === 'now' || (queued === 'later' && !isAnythingPrompt)) steps.push(...this.#outages(uid));
      }
    }
    for (const run of Object.values(state.runs)) steps.push(...(await this.#faultsOf(state, run, isAllowed)));
    return steps;
  }

  #outages(uid: string): Step[] {
    const unanswered = async (state: State, isMade: boolean) => {
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

  #relist(name: string): Step {
    return fault('relist', `the watch of ${name} breaks, and lists again`, (state) => {
      const watch = state.watches[name];
      if (watch === undefined) return;
      state.missed = WAITS_AFTER_MISSED;
      watch.events = listedInstead(watch);
      while (watch.events.length > 0) this.#machine.show(state, name);
    });
  }

  async #faultsOf(state: State, run: Run, isAllowed: (fault: Fault) => boolean): Promise<Step[]> {
    const { uid } = run.ref;
    const steps: Step[] = [];
    if (isAllowed('duplicate'))
      steps.push(fault('duplicate', 'a signal comes twice', (it) => this.#machine.running.signal(it, uid)));
    const { attempt } = run;
    if (attempt === null || run.backoff !== 'no') return steps;
    const progress = await this.#machine.running.progressOf({ ref: run.ref, attempt });
    if (progress.at !== 'request') return steps;
    return [
      ...steps,
      ...this.#faultsAt(progress.request, run, {
        ...attempt,
        isWrite: this.#machine.isWrite(state, progress.request),
      }).filter((each) => isAllowed(each.fault as Fault)),
    ];
  }

  #faultsAt(
    request: Request,
    { ref: { uid } }: Run,
    { step: name, known, answers, isWrite }: Asking,
  ): Step[] {
    const words = `${name}: ${wordsOf(request)}`;
    const running = this.#machine.running;
    const lose = (state: State, isMade: boolean) => {
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
