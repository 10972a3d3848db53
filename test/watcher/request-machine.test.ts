import { describe, expect, it, jest } from '@jest/globals';
import { next } from '../../src/watcher/request-machine.ts';
import type { RequestState } from '../../src/watcher/request-state.ts';
import { exploreSystem } from '../../testing/explorer/explorer.ts';
import { requestsIn } from '../support/explorer/requests.ts';
import type { Scenario } from '../support/explorer/requests-state.ts';

jest.setTimeout(300_000);

const STALLS = 'stalls at even generations';
const JOB = 'a Job';

/** What may happen, in any order, at any moment; each as often as its number says. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'two edits in a row': { budget: { edits: 2 } },
  'an edit, where the worker tells the end of its runs': {
    budget: { edits: 1, slowness: 1 },
    endsAreSeen: true,
  },
  'calls that are refused': { budget: { edits: 1, refusals: 2 } },
  'calls that are refused, and a deletion': { budget: { edits: 1, deletes: 1, refusals: 1 }, kind: STALLS },
  'answers that are lost': { budget: { edits: 1, 'lost answers': 2 }, endsAreSeen: true },
  'answers that are lost, and a deletion': {
    budget: { edits: 1, deletes: 1, 'lost answers': 1 },
    kind: STALLS,
  },
  'a Job that is waited for': { budget: { edits: 1 }, kind: JOB, endsAreSeen: true },
  'a Job, and a deletion': { budget: { deletes: 1, 'lost answers': 1, slowness: 1 }, kind: JOB },
  'a resource that stalls': { budget: { edits: 2 }, kind: STALLS, endsAreSeen: true },
  'a run that is terminated by hand': { budget: { edits: 1, terminations: 1 }, kind: STALLS },
  'a run that is terminated while a Job runs': { budget: { terminations: 1, slowness: 1 }, kind: JOB },
  'Temporal forgets everything': { budget: { edits: 1, wipes: 1 }, kind: JOB },
  'another watcher takes over': { budget: { edits: 1, failovers: 1 } },
  'another watcher takes over, and the resource is deleted': {
    budget: { deletes: 1, failovers: 1, slowness: 1 },
  },
  'a watcher that is not sure that it leads': { budget: { edits: 1, doubts: 1 } },
  'a watcher that starts anew': { budget: { deletes: 1, restarts: 1, slowness: 1 }, kind: JOB },
  'a watch that breaks': { budget: { relists: 1, slowness: 1 }, kind: JOB },
  'calls that are refused, and no list of the open runs': {
    budget: { edits: 1, refusals: 1 },
    kind: STALLS,
    endsAreSeen: true,
    neverLists: true,
  },
  'edits, and no list of the open runs': {
    budget: { edits: 2 },
    kind: STALLS,
    endsAreSeen: true,
    neverLists: true,
  },
  'an edit of what takes one step, and no list of the open runs': {
    budget: { edits: 1, slowness: 3 },
    neverLists: true,
  },
  'a watcher that is not sure that it leads, and no list of the open runs': {
    budget: { edits: 1, doubts: 1 },
    kind: STALLS,
    neverLists: true,
  },
  'runs that find nothing to do': { budget: { edits: 1 }, inVain: 4, endsAreSeen: true },
  'runs that find nothing to do, and nobody says so': { budget: { edits: 1 }, inVain: 4 },
};

describe('no need is lost, no run is left over, and none is started in vain without backoff', () => {
  it.each(Object.entries(SCENARIOS))('%s', async (_, scenario) => {
    const { ends, disturbances } = await exploreSystem(requestsIn(scenario), { statesMax: 60_000 });
    expect(ends).toBeGreaterThan(0);
    expect([...disturbances].sort()).toEqual(Object.keys(scenario.budget).sort());
  });
});

type Next = typeof next;

/** The state that comes of an event is changed. */
const changing =
  (change: (after: RequestState | undefined, ...args: Parameters<Next>) => RequestState | undefined): Next =>
  (...args) => {
    const { state, effects } = next(...args);
    return { state: change(state, ...args), effects };
  };

/** Deliberate mistakes, each with a scenario that finds it. */
const MISTAKES: Readonly<Record<string, readonly [scenario: string, decide: Next]>> = {
  'a start without an answer counts as not made': [
    'answers that are lost, and a deletion',
    changing((after, before, _ref, { type }) =>
      type === 'failed' && after !== undefined && before !== undefined
        ? { ...after, run: before.run }
        : after,
    ),
  ],
  'a change while a start holds its place is forgotten': [
    'edits, and no list of the open runs',
    changing((after, before, _ref, { type }) =>
      type === 'changed' && before?.phase.at === 'starting' && after?.phase.at === 'starting'
        ? { ...after, phase: { ...after.phase, isDirty: before.phase.isDirty } }
        : after,
    ),
  ],
  'a run that nobody needs is not told to end': [
    'a Job, and a deletion',
    (state, ref, event, clock) => {
      const outcome = next(state, ref, event, clock);
      const isEnd = outcome.state?.phase.at === 'calling' && outcome.state.phase.call === 'signal the end';
      return isEnd ? { state: undefined, effects: [] } : outcome;
    },
  ],
};

describe('the exploration finds what is wrong on purpose', () => {
  it.each(Object.entries(MISTAKES))('%s', async (_, [name, decide]) => {
    const scenario = SCENARIOS[name];
    if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
    await expect(exploreSystem(requestsIn({ ...scenario, decide }), { statesMax: 60_000 })).rejects.toThrow(
      /^(?!there are more than)/,
    );
  });
});
