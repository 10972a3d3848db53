import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import {
  historyLines,
  type Incarnation,
  type Line,
  type ObjectEvent,
} from '../../src/ask/history/history-lines.ts';
import { timelineOf } from '../../src/temporal/timeline-builder.ts';
import type { RunTimeline } from '../../src/temporal/timeline.ts';

const HISTORIES = new URL('./histories/', import.meta.url);

async function timelineIn(name: string): Promise<RunTimeline> {
  const json: unknown = JSON.parse(await readFile(new URL(`${name}.json`, HISTORIES), 'utf8'));
  return timelineOf(historyFromJSON(json).events ?? []);
}

function anIncarnation(changed: Partial<Incarnation>): Incarnation {
  return { uid: 'u1', createdAtMs: undefined, isLive: true, runs: [], events: [], ...changed };
}

function anEvent(changed: Partial<ObjectEvent>): ObjectEvent {
  const event = { id: 'e', atMs: 0, type: 'Normal', reason: 'Created', note: 'scaled up', count: 1 };
  return { ...event, ...changed };
}

async function linesIn(name: string): Promise<readonly Line[]> {
  return historyLines([anIncarnation({ runs: [await timelineIn(name)] })]).slice(1);
}

const brief = ({ label, words, notes }: Line) => [label, words, ...notes];

describe('the lines of a history', () => {
  it('say who has signalled', () => {
    const signaled = { signalName: 'changed', identity: '7@operator-0' };
    const run = timelineOf([{ workflowExecutionSignaledEventAttributes: signaled }]);
    expect(historyLines([anIncarnation({ runs: [run] })]).map(brief)).toContainEqual([
      'changed',
      '',
      'by 7@operator-0',
    ]);
  });

  it('tell a run: why, each step with its actions, attempts and time, and its end', async () => {
    const lines = await linesIn('podSet/durable-step-retries');
    expect(lines.map(brief)).toEqual([
      ['reconcile', 'a test', 'run 01a220cf-5d6a-70b0-a7b4-0a4dcedb4390'],
      ['createPods', 'created it', '1s', 'attempt 2', 'after Unavailable: 500 the server is out of order'],
      ['completed', 'created it', '1s'],
    ]);
  });

  it('say what a change has ended', async () => {
    const lines = await linesIn('podSet/change-in-backoff');
    expect(lines.slice(1, 4).map(brief)).toEqual([
      ['createPods', 'ended by a change', '1.1s', 'last writes may be missing'],
      ['changed', 'a change'],
      ['observe', 'created it after the change', '1ms'],
    ]);
  });

  it('say what a step did before it was told to come back later', async () => {
    const timeline = await timelineIn('podSet/local-step-fails');
    const did = [{ did: 'created', what: 'the bucket' }];
    const failure = { type: 'RetryAfter', message: 'too many', did };
    const entries = timeline.entries.map((each) => (each.kind === 'step' ? { ...each, failure } : each));
    const [, line] = historyLines([anIncarnation({ runs: [{ ...timeline, entries }] })]).slice(1);
    expect(line?.words).toBe('created the bucket; then failed: RetryAfter: too many');
  });

  it('say what is tried again durably', async () => {
    const [, local] = await linesIn('podSet/local-step-fails');
    expect(local && brief(local)).toEqual([
      'createPods',
      'failed: Unavailable: 500 the server is out of order',
      expect.stringMatching(/ms$/),
      'tried again with backoff',
    ]);
  });

  it('say what the run waits for still, or has waited for', async () => {
    const waiting = await linesIn('podSet/wait-waits');
    expect(waiting.at(-1)).toMatchObject({ label: 'wait', notes: ['at most 1h'] });
    const stalled = await linesIn('podSet/stalled-waits');
    expect(stalled.at(-1)).toMatchObject({ label: 'Stalled', words: 'waiting for a change of the resource' });
  });

  it('have the Events of the resource between the reconciles, by time', async () => {
    const runs = [await timelineIn('podSet/durable-step-retries')];
    const [first] = runs;
    const begin = first?.startedAtMs ?? 0;
    const events = [
      anEvent({ atMs: begin + 5_000, type: 'Warning', reason: 'Refused', note: 'quota', count: 3 }),
      anEvent({ atMs: begin - 5_000 }),
      anEvent({ atMs: begin + 500, note: 'within' }),
    ];
    const lines = historyLines([anIncarnation({ runs, events })]).slice(1);
    expect(lines.map(({ label }) => label)).toEqual([
      'Event Created',
      'reconcile',
      'createPods',
      'Event Created',
      'completed',
      'Event Refused',
    ]);
    expect(lines.at(-1)).toMatchObject({ words: 'quota', notes: ['3 times'], isBad: true });
  });

  it('keep the identity of an Event, whichever others the server lists before it', () => {
    const idOf = (events: readonly ObjectEvent[]) =>
      historyLines([anIncarnation({ events })]).find(({ words }) => words === 'mine')?.id;
    const mine = anEvent({ id: 'e1', note: 'mine' });
    expect(idOf([anEvent({ id: 'e0' }), mine])).toBe(idOf([mine]));
  });

  it('begin each object of the name with a line, the oldest first, and never mix them', async () => {
    const old = await timelineIn('podSet/local-step');
    const young = await timelineIn('podSet/several-steps');
    const lines = historyLines([
      anIncarnation({ uid: 'young', runs: [young], createdAtMs: young.startedAtMs - 1 }),
      anIncarnation({
        uid: 'old',
        runs: [old],
        isLive: false,
        events: [anEvent({ atMs: young.startedAtMs + 1 })],
      }),
    ]);
    const heads = lines.filter(({ kind }) => kind === 'object').map(({ words }) => words);
    expect(heads).toEqual(['UID old, deleted', expect.stringMatching(/^UID young, created 2026-11-28T/)]);
    const last = lines.findLastIndex(({ label }) => label === 'Event Created');
    expect(last).toBeLessThan(lines.findIndex(({ id }) => id === 'young'));
  });

  it('name what cannot be read without a key', () => {
    const step = { atMs: 0, step: 'createPods', summary: '(encrypted)', isLocal: true, attempts: 1 };
    const end = { how: 'done', tookMs: 3, did: 'encrypted', next: undefined, refusal: undefined } as const;
    const entries = [{ kind: 'step', ...step, end }] as const;
    const run: RunTimeline = { runId: 'r', startedAtMs: 0, reason: '(encrypted)', entries, end: undefined };
    const lines = historyLines([anIncarnation({ runs: [run] })]).slice(1);
    expect(lines.map(brief)).toEqual([
      ['reconcile', '(encrypted)', 'run r'],
      ['createPods', '(encrypted)', '3ms'],
    ]);
  });
});
