import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import { podLabel } from '../../src/controllers/pod-label/controller.ts';
import { Dispatcher } from '../../src/watcher/dispatcher.ts';
import type { Evaluation } from '../../src/watcher/resources.ts';
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

/** A watcher whose projections are what the test says. */
function aWatcher({ concurrency = 10 } = {}) {
  const runs = new FakeRuns();
  const log = aRecordingLogger();
  const telemetry = aRecordingTelemetry();
  const resources = new Map<string, Evaluation>();
  const dispatcher = new Dispatcher({
    runs,
    log,
    telemetry,
    concurrency,
    resyncMs: 180_000,
    known: {
      controller: (name) => (name === 'pod-label' ? podLabel : undefined),
      find: (ref) => resources.get(workflowIdFor(ref)),
      covers: ({ namespace }) => namespace === 'shop',
    },
  });
  const keep = (evaluation: Evaluation) => {
    resources.set(workflowIdFor(evaluation.ref), evaluation);
    dispatcher.changed(evaluation);
  };
  return {
    runs,
    log,
    telemetry,
    dispatcher,
    needs: (ref: ResourceRef, state = 'wrong') =>
      keep({ ref, fingerprint: state, verdict: { needsWork: true, reason: state, seen: { state } } }),
    /** Needs an open run, which awaits by itself what comes next. */
    isUnderWay: (ref: ResourceRef, state = 'under way') =>
      keep({
        ref,
        fingerprint: state,
        verdict: { needsWork: true, reason: state, underWay: true, seen: { state } },
      }),
    isRight: (ref: ResourceRef) => keep({ ref, fingerprint: 'right', verdict: { needsWork: false } }),
    isGone: (ref: ResourceRef) => {
      resources.delete(workflowIdFor(ref));
      dispatcher.gone(ref);
    },
    /** As far as the projections go, without a word to the dispatcher: so it is after a restart. */
    knows: (ref: ResourceRef, state = 'wrong') =>
      resources.set(workflowIdFor(ref), {
        ref,
        fingerprint: state,
        verdict: { needsWork: true, reason: state, seen: {} },
      }),
  };
}

const after = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const AT_ONCE = 0;

describe('a resource that needs work', () => {
  it('gets a run at once, which is told what was seen', async () => {
    const { runs, needs } = aWatcher();
    needs(web);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web']);
    expect(runs.seen).toEqual([{ state: 'wrong' }]);
  });

  it('gets no second word where nothing that counts has changed', async () => {
    const { runs, needs } = aWatcher();
    needs(web);
    needs(web);
    await after(10_000);
    needs(web);
    await after(10_000);
    expect(runs.calls).toEqual(['start web']);
  });

  it('has its open run told of another state, but not within 200 ms of its start', async () => {
    const { runs, needs } = aWatcher();
    needs(web, 'wrong');
    await after(AT_ONCE);
    needs(web, 'otherwise wrong');
    await after(199);
    expect(runs.calls).toEqual(['start web']);
    await after(400);
    expect(runs.calls).toEqual(['start web', 'start web', 'tell web: otherwise wrong']);
  });

  it('has its run told of many changes in a row once in 200 ms, of the last one', async () => {
    const { runs, needs } = aWatcher();
    needs(web);
    await after(1_000);
    for (let i = 0; i < 100; i += 1) {
      needs(web, `state ${i}`);
      await after(1);
    }
    await after(1_000);
    const told = runs.calls.filter((call) => call.startsWith('tell'));
    expect(told.length).toBeLessThanOrEqual(2);
    expect(told.at(-1)).toBe('tell web: state 99');
  });

  it('gets a run where nobody is at it, even where a run would not be told', async () => {
    const { runs, isUnderWay } = aWatcher();
    isUnderWay(web);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web']);
  });

  it('has its run not told of what that awaits by itself, however it comes about', async () => {
    const { runs, needs, isUnderWay } = aWatcher();
    needs(web);
    await after(100);
    needs(web, 'nothing is at it, for a moment');
    isUnderWay(web, 'the Job runs');
    await after(10_000);
    isUnderWay(web, 'the Job still runs');
    await after(10_000);
    expect(runs.calls).toEqual(['start web']);
  });

  it('has its run told of the next change once what it awaited has come', async () => {
    const { runs, needs, isUnderWay } = aWatcher();
    needs(web, 'no Job');
    await after(1_000);
    isUnderWay(web, 'the Job runs');
    await after(1_000);
    needs(web, 'no Job');
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'tell web: no Job']);
  });

  it('gets another run where the one that awaited something was ended by somebody', async () => {
    const { runs, dispatcher, needs, isUnderWay } = aWatcher();
    needs(web, 'no Job');
    await after(1_000);
    isUnderWay(web, 'the Job runs');
    runs.end(web);
    await after(10_000);
    await dispatcher.sweep(false);
    await after(10_000);
    expect(runs.calls).toEqual(['start web', 'list', 'start web']);
  });

  it('holds its place among the starts no longer than until it is under way', async () => {
    const { runs, needs, isUnderWay } = aWatcher({ concurrency: 1 });
    needs(web);
    needs(refTo('next'));
    await after(10);
    isUnderWay(web);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web', 'start next']);
  });

  it('gets another run where the open one ends just before it is told', async () => {
    const { runs, needs } = aWatcher();
    const start = runs.start.bind(runs);
    runs.start = async (request) => {
      const answer = await start(request);
      if (answer === 'already-open') runs.end(web);
      return answer;
    };
    needs(web, 'one');
    await after(1_000);
    needs(web, 'two');
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'start web', 'tell web: two', 'start web']);
  });

  it('has a run of which nobody knows whether it is open, until a list has shown it', async () => {
    const { dispatcher, needs } = aWatcher();
    needs(web, 'one');
    await after(1_000);
    needs(web, 'two');
    await after(1_000);
    expect(dispatcher.hasUnknown).toBe(true);
    await after(10_000);
    await dispatcher.sweep(false);
    expect(dispatcher.hasUnknown).toBe(false);
  });

  it('gets another run where the one that was told has ended, and nothing was seen of it', async () => {
    const { runs, dispatcher, needs } = aWatcher();
    needs(web, 'one');
    await after(1_000);
    needs(web, 'two');
    await after(1_000);
    runs.end(web);
    await after(10_000);
    expect(dispatcher.hasUnknown).toBe(true);
    await dispatcher.sweep(false);
    await after(10_000);
    expect(runs.calls).toEqual(['start web', 'start web', 'tell web: two', 'list', 'start web']);
  });

  it('gets another run where it came up under the same name while its run was about to end', async () => {
    const { runs, dispatcher, needs } = aWatcher();
    needs(web);
    await after(1_000);
    runs.end(web);
    dispatcher.runEnded(web);
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'start web']);
  });

  it('gets no other run where the watch of what its run did is only late', async () => {
    const { runs, dispatcher, needs, isRight } = aWatcher();
    needs(web);
    await after(1_000);
    runs.end(web);
    dispatcher.runEnded(web);
    await after(100);
    isRight(web);
    await after(10_000);
    expect(runs.calls).toEqual(['start web']);
    expect(dispatcher.pendingCount).toBe(0);
  });

  it('has its run told where that has not ended after all', async () => {
    const { runs, dispatcher, needs } = aWatcher();
    needs(web);
    await after(1_000);
    dispatcher.runEnded(web);
    await after(1_000);
    expect(runs.calls).toEqual(['start web', 'start web', 'tell web: wrong']);
  });

  it('is forgotten with its run where nothing is needed any more', async () => {
    const { dispatcher, needs, isRight } = aWatcher();
    needs(web);
    await after(1_000);
    isRight(web);
    dispatcher.runEnded(web);
    expect(dispatcher.pendingCount).toBe(0);
  });

  it('gets another run where the one before has ended', async () => {
    const { runs, needs, isRight } = aWatcher();
    needs(web);
    await after(1_000);
    runs.end(web);
    isRight(web);
    await after(10_000);
    needs(web);
    await after(1_000);
    expect(runs.calls.filter((call) => call.startsWith('start'))).toEqual(['start web', 'start web']);
    expect(runs.open).toEqual(new Set([workflowIdFor(web)]));
  });

  it('gets its run at once where it needs one again, right after it needed none', async () => {
    const { runs, needs, isRight } = aWatcher();
    needs(web);
    await after(1_000);
    runs.end(web);
    isRight(web);
    needs(web);
    await after(200);
    expect(runs.calls.at(-1)).toBe('start web');
    expect(runs.open).toEqual(new Set([workflowIdFor(web)]));
  });

  it('waits while as many starts as may be are under way, until the watch shows their effect', async () => {
    const { runs, needs, isRight } = aWatcher({ concurrency: 1 });
    needs(refTo('a'));
    needs(refTo('b'));
    await after(100);
    expect(runs.calls).toEqual(['start a']);
    isRight(refTo('a'));
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start a', 'start b']);
  });

  it('does not wait for an effect that does not come', async () => {
    const { runs, needs } = aWatcher({ concurrency: 1 });
    needs(refTo('a'));
    needs(refTo('b'));
    await after(300);
    expect(runs.calls).toEqual(['start a', 'start b']);
  });
});

describe('a resource that needs nothing', () => {
  it('costs nothing: no run, no word, no entry', async () => {
    const { runs, dispatcher, isRight } = aWatcher();
    isRight(web);
    await after(60_000);
    expect(runs.calls).toEqual([]);
    expect(dispatcher.pendingCount).toBe(0);
  });

  it('is forgotten once its run has ended', async () => {
    const { runs, dispatcher, needs, isRight } = aWatcher();
    needs(web);
    await after(AT_ONCE);
    runs.end(web);
    isRight(web);
    await after(10_000);
    await dispatcher.sweep(false);
    expect(dispatcher.pendingCount).toBe(0);
    expect(runs.calls).toEqual(['start web', 'list']);
  });

  it.each(['isRight', 'isGone'] as const)('has its open run told when it %s', async (end) => {
    const watcher = aWatcher();
    const { runs, dispatcher } = watcher;
    watcher.needs(web);
    await after(10_000);
    await dispatcher.sweep(false);
    watcher[end](web);
    await after(2_000);
    const reason = end === 'isGone' ? 'the resource is gone' : 'the resource needs nothing any more';
    expect(runs.calls).toEqual(['start web', 'list', `tell web: ${reason}`]);
  });
});

describe('a look at the open runs', () => {
  it('tells a run whose resource vanished while nobody watched', async () => {
    const { runs, dispatcher } = aWatcher();
    runs.open.add(workflowIdFor(web));
    await dispatcher.sweep(false);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['list', 'tell web: the resource is gone']);
  });

  it('leaves a run alone whose resource still needs it, even where it was started by another watcher', async () => {
    const { runs, dispatcher, knows } = aWatcher();
    knows(web);
    runs.open.add(workflowIdFor(web));
    await dispatcher.sweep(false);
    await after(10_000);
    expect(runs.calls).toEqual(['list']);
  });

  it('leaves runs alone that are not of what it watches', async () => {
    const { runs, dispatcher } = aWatcher();
    runs.open.add(workflowIdFor({ ...web, namespace: 'elsewhere' }));
    runs.open.add('somebody-elses-workflow');
    await dispatcher.sweep(true);
    await after(10_000);
    expect(runs.calls).toEqual(['list']);
  });

  it('starts a run again that ended and left its resource as it was', async () => {
    const { runs, dispatcher, needs } = aWatcher();
    needs(web);
    await after(10_000);
    runs.end(web);
    await dispatcher.sweep(false);
    await after(AT_ONCE);
    expect(runs.calls).toEqual(['start web', 'list', 'start web']);
  });

  it('starts it less often the more often that was in vain', async () => {
    const { runs, dispatcher, needs } = aWatcher();
    needs(web);
    for (let i = 0; i < 60; i += 1) {
      await after(10_000);
      runs.end(web);
      await dispatcher.sweep(false);
    }
    const starts = runs.calls.filter((call) => call === 'start web').length;
    expect(starts).toBeGreaterThan(4);
    expect(starts).toBeLessThan(12);
  });

  it('does not believe a list that may be older than the start', async () => {
    const { runs, dispatcher, needs } = aWatcher();
    needs(web);
    await after(1_000);
    runs.end(web);
    await dispatcher.sweep(false);
    await after(10_000);
    expect(runs.calls).toEqual(['start web', 'list']);
  });
});

describe('Temporal being away', () => {
  it('loses nothing: every resource waits, once, and gets its run afterwards', async () => {
    const { runs, dispatcher, needs } = aWatcher();
    runs.failure = new RunsUnavailable('connection refused');
    for (const name of ['a', 'b', 'c']) needs(refTo(name));
    await after(30_000);
    expect(dispatcher.problem).toBe('Temporal cannot be reached; 3 resources wait');
    runs.failure = undefined;
    await after(10_000);
    expect([...runs.open].sort()).toEqual(['a', 'b', 'c'].map((name) => workflowIdFor(refTo(name))));
    expect(dispatcher.problem).toBeUndefined();
  });

  it('is asked for less and less often, and at least every 5 s', async () => {
    const { runs, needs } = aWatcher({ concurrency: 1 });
    runs.failure = new RunsUnavailable('connection refused');
    needs(web);
    await after(60_000);
    expect(runs.calls.length).toBeGreaterThanOrEqual(12);
    expect(runs.calls.length).toBeLessThan(25);
  });

  it('is said once, and once that it is over', async () => {
    const { runs, log, needs } = aWatcher();
    runs.failure = new RunsUnavailable('connection refused');
    for (const name of ['a', 'b', 'c']) needs(refTo(name));
    await after(30_000);
    runs.failure = undefined;
    await after(10_000);
    const said = log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);
    expect(said).toEqual(['Temporal cannot be reached', 'Temporal can be reached again']);
  });

  it('needs no run for what was put right meanwhile', async () => {
    const { runs, needs, isRight } = aWatcher();
    runs.failure = new RunsUnavailable('connection refused');
    needs(web);
    await after(10_000);
    isRight(web);
    runs.failure = undefined;
    await after(10_000);
    expect(runs.open).toEqual(new Set());
  });
});

describe('a start that is refused for one resource', () => {
  it('delays no other, and is tried again later', async () => {
    const { runs, log, needs } = aWatcher();
    runs.failure = new Error('invalid argument');
    needs(web);
    await after(AT_ONCE);
    runs.failure = undefined;
    needs(refTo('b'));
    await after(AT_ONCE);
    expect(runs.open).toEqual(new Set([workflowIdFor(refTo('b'))]));
    await after(1_000);
    expect(runs.open).toContain(workflowIdFor(web));
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'could not start or tell the run', fields: { name: 'web' } },
    ]);
  });
});

describe('who observes', () => {
  it('is told of a resource that is due, in hand and done', async () => {
    const { telemetry, needs, isRight } = aWatcher();
    needs(web);
    await after(AT_ONCE);
    isRight(web);
    await after(AT_ONCE);
    expect(telemetry.told).toEqual(['added web', 'begun web', 'done web']);
  });

  it('is told how long the resource needed something, from the event that showed it to the one that did not', async () => {
    const { telemetry, needs, isRight } = aWatcher();
    needs(web);
    await after(1_000);
    needs(web, 'still wrong');
    await after(1_500);
    isRight(web);
    isRight(web);
    expect(telemetry.needs).toEqual([{ controller: 'pod-label', seconds: 2.5 }]);
  });

  it('is told that the need ended where the resource is gone', async () => {
    const { telemetry, needs, isGone } = aWatcher();
    needs(web);
    await after(1_000);
    isGone(web);
    expect(telemetry.needs).toEqual([{ controller: 'pod-label', seconds: 1 }]);
  });

  it('is told of each start that failed and will be tried again', async () => {
    const { runs, telemetry, needs } = aWatcher();
    runs.failure = new Error('a bug of the server');
    needs(web);
    await after(AT_ONCE);
    expect(telemetry.told).toContain('retried web');
  });

  it('may ask how many runs are open', async () => {
    const { dispatcher, needs } = aWatcher();
    expect(dispatcher.runs).toEqual([]);
    needs(web);
    await after(AT_ONCE);
    expect(dispatcher.runs).toEqual([{ controller: 'pod-label', open: 1, stalled: 0 }]);
  });

  it('may ask how many runs wait for a change of their resource, as of the last look at the open ones', async () => {
    const { dispatcher, runs, needs } = aWatcher();
    needs(web);
    await after(AT_ONCE);
    runs.stalled.add(workflowIdFor(web));
    await after(6_000);
    await dispatcher.sweep(false);
    expect(dispatcher.runs).toEqual([{ controller: 'pod-label', open: 1, stalled: 1 }]);
    needs(web, 'changed');
    await after(AT_ONCE);
    expect(dispatcher.runs).toEqual([{ controller: 'pod-label', open: 1, stalled: 0 }]);
  });

  it('may ask for the open runs after one that was told that nobody needs it has ended', async () => {
    const { dispatcher, needs, isRight } = aWatcher();
    needs(web);
    await after(6_000);
    await dispatcher.sweep(false);
    isRight(web);
    await after(1_000);
    expect(dispatcher.runs).toEqual([{ controller: 'pod-label', open: 1, stalled: 0 }]);
    dispatcher.runEnded(web);
    expect(dispatcher.runs).toEqual([]);
  });
});
