import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { converged, waitFor } from '../../src/runs/decision.ts';
import { workflowIdFor, type ResourceRef } from '../../src/api/resource-ref.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import { podLabel } from '../../src/controllers/pod-label/controller.ts';
import { Dispatcher } from '../../src/watcher/dispatcher.ts';
import type { Evaluation } from '../../src/watcher/evaluation.ts';
import { RunsUnavailable } from '../../src/watcher/runs.ts';
import { FakeRuns } from '../support/fake-runs.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { aRecordingTelemetry } from '../support/recording-telemetry.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const refTo = (name: string): ResourceRef => ({
  controller: 'pod-label',
  namespace: 'shop',
  name,
  uid: `uid-of-${name}`,
});
const web = refTo('web');
const other = refTo('other');

/** What the watcher sees of a resource; where nothing else is said, a Pod whose label is missing. */
const viewOf = (ref: ResourceRef, view: Partial<Evaluation> = {}): Evaluation => ({
  ref,
  decision: { do: 'addLabel', because: 'no label' },
  inputs: 'generation 1',
  resourceVersion: '1',
  observation: {},
  ...view,
});
const step = (because: string): Partial<Evaluation> => ({ decision: { do: 'addLabel', because } });
const edited = (inputs: string): Partial<Evaluation> => ({ inputs, resourceVersion: inputs });
const WAITING: Partial<Evaluation> = { decision: waitFor('Job build-web to end', 60_000) };
const CONVERGED: Partial<Evaluation> = { decision: converged('no update required') };

/** A watcher whose projections are what the test says. */
function aWatcher({ concurrency = 10 } = {}) {
  const runs = new FakeRuns();
  const log = aRecordingLogger();
  const telemetry = aRecordingTelemetry();
  const views = new Map<string, Evaluation>();
  const requested: [workflowId: string, observation: unknown][] = [];
  const taken: Evaluation[] = [];
  const term = { isLeading: true };
  const dispatcher = new Dispatcher({
    runs,
    isLeading: () => term.isLeading,
    log,
    telemetry,
    concurrency,
    resyncMs: 180_000,
    onRequest: (workflowId, observation) => requested.push([workflowId, observation]),
    onRequested: (view) => taken.push(view),
    known: {
      controller: (name) => (name === 'pod-label' ? definedController(podLabel) : undefined),
      find: (ref) => views.get(workflowIdFor(ref)),
      covers: ({ namespace }) => namespace === 'shop',
    },
  });
  /** As far as the projections go, without a word to the dispatcher: so it is after a restart. */
  const knows = (ref: ResourceRef, view: Partial<Evaluation> = {}) => {
    const evaluation = viewOf(ref, view);
    views.set(workflowIdFor(ref), evaluation);
    return evaluation;
  };
  return {
    runs,
    log,
    telemetry,
    dispatcher,
    term,
    requested,
    taken,
    knows,
    firstSees: (ref: ResourceRef, view: Partial<Evaluation> = {}) => dispatcher.firstSeen(knows(ref, view)),
    sees: (ref: ResourceRef, view: Partial<Evaluation> = {}) => dispatcher.changed(knows(ref, view)),
    resyncs: (ref: ResourceRef, view: Partial<Evaluation> = {}) => dispatcher.resynced(knows(ref, view)),
    isGone: (ref: ResourceRef) => {
      views.delete(workflowIdFor(ref));
      dispatcher.gone(ref);
    },
  };
}

/** Its next start takes its place until the answer. */
function holdsStartsOf(ref: ResourceRef, runs: FakeRuns): () => void {
  const start = runs.start.bind(runs);
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  runs.start = async (request) => {
    if (request.ref === ref) await answered;
    return start(request);
  };
  return answer;
}

const callsOf = ({ name }: ResourceRef, { calls }: FakeRuns) =>
  calls.filter((call) => call.split(/[ :]/).includes(name));

const after = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const AT_ONCE = 0;

/** A watcher that started a run of `web` a second ago. */
async function anOpenRun() {
  const watcher = aWatcher();
  watcher.sees(web);
  await after(1_000);
  return watcher;
}

describe('a resource that is not in its desired state', () => {
  it('gets a run at once, which begins with the step that the view calls for', async () => {
    const { runs, sees } = aWatcher();
    sees(web, { resourceVersion: '7' });
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web']);
    expect(runs.requests).toMatchObject([
      {
        ref: web,
        workflowType: 'podLabel',
        reason: 'no label',
        first: { do: 'addLabel', because: 'no label' },
        resourceVersion: '7',
      },
    ]);
  });

  it('gets a run that observes first where the view rests', async () => {
    const { runs, sees } = aWatcher();
    sees(web, WAITING);
    await after(AT_ONCE);
    expect(runs.requests).toMatchObject([
      { first: { do: 'observe', because: 'waiting for Job build-web to end' } },
    ]);
  });

  it('has its view handed to the worker before the run is started or signalled', async () => {
    const { runs, requested, sees } = aWatcher();
    const handed: unknown[] = [];
    const start = runs.start.bind(runs);
    runs.start = (request) => {
      handed.push(requested.at(-1));
      return start(request);
    };
    const signal = runs.signal.bind(runs);
    runs.signal = (...args) => {
      handed.push(requested.at(-1));
      return signal(...args);
    };
    sees(web, { observation: 'this' });
    await after(1_000);
    sees(web, { ...edited('generation 2'), observation: 'that' });
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'signal web: no label']);
    expect(runs.firsts).toMatchObject([{ do: 'addLabel', because: 'no label', summary: expect.any(String) }]);
    // A run that is known to be open is signalled without a start that would only find it.
    expect(handed).toEqual(['this', 'that'].map((view) => [workflowIdFor(web), view]));
  });

  it('gets a run at once where the one that is signalled has ended unnoticed', async () => {
    const { runs, sees } = await anOpenRun();
    await after(1_000);
    runs.end(web);
    sees(web, edited('generation 2'));
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web', 'signal web: no label', 'start web']);
  });

  it('gets its run at once where it needs one again, right after it needed none', async () => {
    const { runs, sees } = await anOpenRun();
    runs.end(web);
    sees(web, CONVERGED);
    sees(web);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web', 'start web']);
  });

  it('waits while as many starts as may be are in progress, until the watch shows their effect', async () => {
    const { runs, sees } = aWatcher({ concurrency: 1 });
    sees(refTo('a'));
    sees(refTo('b'));
    await after(100);
    expect(runs.calls).toEqual(['start a']);
    sees(refTo('a'), CONVERGED);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start a', 'start b']);
  });

  it('holds its place among the starts no longer than until its view rests', async () => {
    const { runs, sees } = aWatcher({ concurrency: 1 });
    sees(web);
    sees(refTo('next'));
    await after(10);
    sees(web, WAITING);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web', 'start next']);
  });

  it('does not wait for an effect that does not come', async () => {
    const { runs, sees } = aWatcher({ concurrency: 1 });
    sees(refTo('a'));
    sees(refTo('b'));
    await after(300);
    expect(runs.calls).toEqual(['start a', 'start b']);
  });
});

describe('an open run', () => {
  it('is signalled once a change of its inputs', async () => {
    const { runs, sees } = await anOpenRun();
    sees(web, { ...edited('generation 2'), ...step('another label') });
    sees(web, { ...edited('generation 2'), ...step('another label') });
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'signal web: another label']);
  });

  it('is not signalled within 200 ms of its start', async () => {
    const { runs, sees } = aWatcher();
    sees(web);
    await after(AT_ONCE);
    sees(web, edited('generation 2'));
    await after(199);
    expect(runs.calls).toEqual(['start web']);
    await after(400);
    expect(runs.calls).toEqual(['start web', 'signal web: no label']);
  });

  it('is signalled of many changes in a row once in 200 ms, and of the last one', async () => {
    const { runs, sees } = await anOpenRun();
    for (let i = 0; i < 100; i += 1) {
      sees(web, { ...edited(`generation ${i}`), ...step(`change ${i}`) });
      await after(1);
    }
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'signal web: change 0', 'signal web: change 99']);
  });

  it('is not signalled of its own writes, which move the view from step to step', async () => {
    const { runs, sees } = aWatcher();
    sees(web);
    for (const writes of ['one', 'two', 'three']) {
      await after(1_500);
      sees(web, { ...step(`after ${writes}`), resourceVersion: writes });
    }
    await after(1_500);
    expect(runs.calls).toEqual(['start web']);
  });

  it('is signalled once of a step that stands while nothing changes', async () => {
    const { runs, sees } = await anOpenRun();
    sees(web, { ...step('one more'), resourceVersion: '2' });
    await after(60_000);
    expect(runs.calls).toEqual(['start web', 'signal web: one more']);
  });

  it('is signalled within a second of a change from step to step where it is in backoff', async () => {
    const { runs, sees } = aWatcher();
    sees(web);
    await after(30_000);
    sees(web, { ...step('another'), resourceVersion: '2' });
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'signal web: another']);
  });

  it('is not signalled by a resync alone', async () => {
    const { runs, resyncs } = await anOpenRun();
    for (let i = 0; i < 3; i += 1) {
      resyncs(web);
      await after(180_000);
    }
    expect(runs.calls).toEqual(['start web']);
  });

  it('is signalled by a resync of what has come with time', async () => {
    const { runs, sees, resyncs } = await anOpenRun();
    sees(web, WAITING);
    await after(1_000);
    resyncs(web, step('the time is over'));
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web', 'signal web: the time is over']);
  });

  it('is signalled by a new watcher that a change is possible, and then of each that it sees', async () => {
    const { runs, firstSees, sees } = aWatcher();
    runs.isOpen(web);
    firstSees(web);
    await after(1_000);
    sees(web, { ...edited('generation 2'), ...step('two') });
    await after(1_000);
    expect(runs.calls).toEqual(['signal web: no label', 'signal web: two']);
    expect(runs.changes).toEqual(['possible', 'seen']);
  });

  it.each(['seen', 'possible'] as const)(
    'is signalled by a new watcher, whose turn comes late, that a change was %s',
    async (change) => {
      const { runs, dispatcher, firstSees, sees } = aWatcher({ concurrency: 1 });
      const answer = holdsStartsOf(other, runs);
      runs.isOpen(web);
      firstSees(other);
      firstSees(web);
      await after(AT_ONCE);
      // A list that has the run says nothing of changes.
      if (change === 'possible') await dispatcher.sweep();
      else sees(web, { ...edited('generation 2'), ...step('two') });
      answer();
      await after(1_000);
      expect(callsOf(web, runs)).toEqual([`signal web: ${change === 'seen' ? 'two' : 'no label'}`]);
      expect(runs.changes).toEqual([change]);
    },
  );
});

describe('a run that has ended', () => {
  it('is followed by another ever less often where run after run leaves the view as it was', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    sees(web);
    for (let i = 0; i < 600; i += 1) {
      await after(1_000);
      if (!runs.open.has(workflowIdFor(web))) continue;
      runs.end(web);
      dispatcher.runEnded(web);
    }
    expect(runs.calls.length).toBeGreaterThan(4);
    expect(runs.calls.length).toBeLessThan(15);
  });

  it('is followed by another soon where something is different, after however many without effect', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    sees(web);
    for (let i = 0; i < 600; i += 1) {
      await after(1_000);
      runs.end(web);
      dispatcher.runEnded(web);
    }
    const before = runs.calls.length;
    sees(web, step('one Pod more is missing'));
    await after(500);
    expect(runs.calls.length).toBe(before + 1);
  });

  it('is followed by none where the watch of what it did is only late', async () => {
    const { runs, dispatcher, sees } = await anOpenRun();
    runs.end(web);
    dispatcher.runEnded(web);
    await after(100);
    sees(web, CONVERGED);
    await after(10_000);
    expect(runs.calls).toEqual(['start web']);
    expect(dispatcher.pendingCount).toBe(0);
  });
});

describe('a view', () => {
  it('is taken once a run was started or signalled because of it, and not when its start finds one open', async () => {
    const { runs, taken, sees } = aWatcher();
    runs.isOpen(web);
    for (const ref of [web, other]) sees(ref);
    expect(taken).toEqual([]);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start other', 'signal web: no label']);
    expect(taken.map(({ ref }) => ref.name).sort()).toEqual(['other', 'web']);
  });

  it('is not taken where the run has ended before its signal', async () => {
    const { runs, dispatcher, taken, knows, sees } = aWatcher();
    knows(web);
    runs.isOpen(web);
    await dispatcher.sweep();
    runs.end(web);
    sees(web, CONVERGED);
    await after(1_000);
    expect(runs.calls).toEqual(['list', 'signal web: the resource is in its desired state']);
    expect(taken).toEqual([]);
  });
});

describe('a resource in its desired state', () => {
  it('is in the log, at debug, which shows that its change was seen', () => {
    const { log, sees } = aWatcher();
    sees(web, CONVERGED);
    expect(log.lines).toEqual([{ level: 'debug', message: 'no update required', fields: web }]);
  });

  it('costs nothing: no run, no signal, no entry', async () => {
    const { runs, dispatcher, sees, resyncs } = aWatcher();
    sees(web, CONVERGED);
    resyncs(web, CONVERGED);
    await after(60_000);
    expect(runs.calls).toEqual([]);
    expect(dispatcher.pendingCount).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a look at the open runs', () => {
  it('signals a run whose resource vanished while nobody watched', async () => {
    const { runs, dispatcher } = aWatcher();
    runs.isOpen(web);
    await dispatcher.sweep();
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['list', 'signal web: the resource is gone']);
  });

  it('leaves a run alone whose resource still needs it, even where it was started by another watcher', async () => {
    const { runs, dispatcher, knows } = aWatcher();
    knows(web);
    runs.isOpen(web);
    await dispatcher.sweep();
    await after(10_000);
    expect(runs.calls).toEqual(['list']);
  });

  it('leaves runs alone that are not of what it watches', async () => {
    const { runs, dispatcher } = aWatcher();
    runs.isOpen({ ...web, namespace: 'elsewhere' });
    await dispatcher.sweep();
    await after(10_000);
    expect(runs.calls).toEqual(['list']);
  });

  it('starts a run again that was terminated, also one that waited', async () => {
    const { runs, dispatcher, sees } = await anOpenRun();
    sees(web, WAITING);
    runs.end(web);
    await after(10_000);
    await dispatcher.sweep();
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web', 'list', 'start web']);
  });

  it('does not believe a list that may be older than the start', async () => {
    const { runs, dispatcher } = await anOpenRun();
    runs.end(web);
    await dispatcher.sweep();
    await after(10_000);
    expect(runs.calls).toEqual(['start web', 'list']);
  });

  it('is needed until it has shown each run that is open', async () => {
    const { dispatcher, sees } = aWatcher();
    sees(web);
    await after(10_000);
    expect(dispatcher.hasUnknown).toBe(true);
    await dispatcher.sweep();
    expect(dispatcher.hasUnknown).toBe(false);
    sees(refTo('another'));
    await after(1_000);
    expect(dispatcher.hasUnknown).toBe(true);
  });
});

describe('the dispatcher is busy', () => {
  it('from the first start until a second after the last one', async () => {
    const { dispatcher, sees } = aWatcher();
    expect(dispatcher.isBusy).toBe(false);
    sees(web);
    expect(dispatcher.isBusy).toBe(true);
    await after(100);
    sees(web, CONVERGED);
    dispatcher.runEnded(web);
    await after(999);
    expect(dispatcher.isBusy).toBe(true);
    await after(1);
    expect(dispatcher.isBusy).toBe(false);
  });

  it('while resources wait for their turn, however long the last start was ago', async () => {
    const { runs, dispatcher, sees } = aWatcher({ concurrency: 1 });
    runs.start = () => new Promise(() => undefined);
    sees(refTo('a'));
    sees(refTo('b'));
    await after(60_000);
    expect(dispatcher.isBusy).toBe(true);
  });
});

describe('a dispatcher that stops', () => {
  /** Called once it has stopped. */
  const stopOf = (dispatcher: Dispatcher) => {
    const stopped = jest.fn();
    void dispatcher.stop().then(stopped);
    return stopped;
  };

  it('begins no call any more', async () => {
    const { runs, dispatcher, sees } = aWatcher({ concurrency: 1 });
    for (const name of ['a', 'b']) sees(refTo(name));
    await after(AT_ONCE);
    void dispatcher.stop();
    sees(refTo('c'));
    sees(refTo('a'), edited('generation 2'));
    await after(60_000);
    expect(runs.calls).toEqual(['start a']);
  });

  it('waits for the effect of no start, and leaves no timer', async () => {
    const { dispatcher, sees } = aWatcher();
    sees(web);
    await after(AT_ONCE);
    const stopped = stopOf(dispatcher);
    await after(AT_ONCE);
    expect(stopped).toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits for the answer to the call in progress', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    let answer: ((answer: 'started') => void) | undefined;
    runs.start = () => new Promise((resolve) => (answer = resolve));
    sees(web);
    const stopped = stopOf(dispatcher);
    await after(60_000);
    expect(stopped).not.toHaveBeenCalled();
    answer?.('started');
    await after(1_000);
    expect(stopped).toHaveBeenCalled();
  });

  it('leaves no timer of a step that came to stand while a call was in progress', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    const answer = holdsStartsOf(web, runs);
    sees(web);
    await after(AT_ONCE);
    const stopped = stopOf(dispatcher);
    sees(web, step('one more'));
    answer();
    await after(300);
    expect(stopped).toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('while Temporal is away', () => {
  it('nothing is lost: every resource waits, once, and gets its run afterwards', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    runs.failure = new RunsUnavailable('connection refused');
    for (const name of ['a', 'b', 'c']) sees(refTo(name));
    await after(30_000);
    expect(dispatcher.problem).toBe('Temporal cannot be used: connection refused; 3 resources are waiting');
    runs.failure = undefined;
    await after(10_000);
    expect([...runs.open.keys()].sort()).toEqual(['a', 'b', 'c'].map((name) => workflowIdFor(refTo(name))));
    expect(dispatcher.problem).toBeUndefined();
  });

  it('it is said no more once it answers, where nothing needs a run any longer', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    runs.failure = new RunsUnavailable('connection refused');
    sees(web);
    await after(10_000);
    expect(dispatcher.problem).toBe('Temporal cannot be used: connection refused; 1 resource is waiting');
    sees(web, CONVERGED);
    runs.failure = undefined;
    await after(10_000);
    expect(dispatcher.problem).toBeUndefined();
  });

  it('it is said on where the open runs can be listed, and no run be started', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    for (const ref of [web, other]) {
      runs.failures.set(workflowIdFor(ref), new RunsUnavailable('the history service is away'));
      sees(ref);
    }
    await after(10_000);
    await dispatcher.sweep();
    expect(dispatcher.problem).toBe(
      'Temporal cannot be used: the history service is away; 2 resources are waiting',
    );
  });
});

describe('a process that is not sure for a moment that it leads', () => {
  it('asks Temporal nothing, and reports neither an error nor that Temporal is away', async () => {
    const { runs, term, log, dispatcher, sees } = aWatcher();
    term.isLeading = false;
    for (const name of ['a', 'b']) sees(refTo(name));
    await after(9_999);
    expect(runs.calls).toEqual([]);
    expect(log.lines).toEqual([]);
    expect(dispatcher.problem).toBeUndefined();
  });
});

describe('a start that is refused for one resource', () => {
  it('delays no other, and is tried again later', async () => {
    const { runs, log, telemetry, taken, sees } = aWatcher();
    runs.failure = new Error('invalid argument');
    sees(web);
    await after(AT_ONCE);
    expect(taken).toEqual([]);
    expect(telemetry.told).toContain('retried web');
    runs.failure = undefined;
    sees(refTo('b'));
    await after(AT_ONCE);
    expect([...runs.open.keys()]).toEqual([workflowIdFor(refTo('b'))]);
    await after(1_000);
    expect([...runs.open.keys()]).toContain(workflowIdFor(web));
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'cannot start or signal the run; retrying', fields: { name: 'web' } },
    ]);
  });

  it('delays no other where the server calls itself unavailable for it alone', async () => {
    const { runs, dispatcher, sees } = aWatcher();
    runs.failures.set(workflowIdFor(web), new RunsUnavailable('value too long for a column'));
    for (let i = 0; i < 10; i += 1) {
      await after(5_000);
      sees(web, edited(`generation ${i}`));
      const another = refTo(`other-${i}`);
      sees(another);
      await after(AT_ONCE);
      expect([...runs.open.keys()]).toContain(workflowIdFor(another));
    }
    expect(dispatcher.problem).toBeUndefined();
  });

  it('is not tried any sooner because its resource changes all the time', async () => {
    const { runs, sees } = aWatcher();
    runs.failure = new Error('invalid argument');
    for (let i = 0; i < 600; i += 1) {
      sees(web, edited(`generation ${i}`));
      await after(100);
    }
    expect(runs.calls.length).toBeLessThan(10);
  });
});

describe('who observes', () => {
  it('sees a resource that is due, in progress and done', async () => {
    const { telemetry, sees } = aWatcher();
    sees(web);
    await after(AT_ONCE);
    sees(web, CONVERGED);
    await after(AT_ONCE);
    expect(telemetry.told).toEqual(['added web', 'begun web', 'done web']);
  });

  it('sees how long the request lasted, from the event that made it to the one that ended it', async () => {
    const { telemetry, sees } = await anOpenRun();
    sees(web, step('still'));
    await after(1_500);
    sees(web, CONVERGED);
    sees(web, CONVERGED);
    expect(telemetry.endedRequests).toEqual([{ controller: 'pod-label', seconds: 2.5 }]);
  });

  it('may ask how many runs are stalled, as of the last look at the open ones', async () => {
    const { dispatcher, runs, sees } = aWatcher();
    sees(web);
    await after(AT_ONCE);
    runs.stalled.add(workflowIdFor(web));
    await after(6_000);
    await dispatcher.sweep();
    expect(dispatcher.runs).toEqual([{ controller: 'pod-label', open: 1, stalled: 1 }]);
    sees(web, edited('generation 2'));
    await after(AT_ONCE);
    expect(dispatcher.runs).toEqual([{ controller: 'pod-label', open: 1, stalled: 0 }]);
  });

  it('may ask for the open runs after one that nobody needs has ended', async () => {
    const { dispatcher, sees } = aWatcher();
    sees(web);
    await after(6_000);
    await dispatcher.sweep();
    sees(web, CONVERGED);
    await after(1_000);
    expect(dispatcher.runs).toEqual([{ controller: 'pod-label', open: 1, stalled: 0 }]);
    dispatcher.runEnded(web);
    expect(dispatcher.runs).toEqual([]);
  });
});
