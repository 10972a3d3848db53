import { describe, expect, it } from '@jest/globals';
import { answerTo, conditionMessage, pendingApproval } from '../../src/ask/change/approval.ts';
import { AskProblem } from '../../src/ask/ask.ts';
import { textOfLine } from '../../src/ask/history/history.ts';
import { incarnationsOf } from '../../src/ask/history/history-reader.ts';
import { parseManifests } from '../../src/ask/plan/manifests.ts';
import { isAskedFor } from '../../src/ask/change/retry.ts';
import { annotate } from '../../src/ask/cluster/targets.ts';
import { argumentsOf, countOf } from '../../src/ask/resource-name.ts';
import type { RequestOptions } from '../../src/kubernetes/client.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { NAMESPACES } from '../../src/controllers/kinds.ts';

describe('the plan that waits for an answer', () => {
  it('is named by the condition, with what it would delete', () => {
    const message =
      'awaiting approval to delete 290 Pods (a, b and 288 more); held is deletePods: typo; plan 290-3f9c2a1b';
    const status = { conditions: [{ type: 'AwaitingApproval', status: 'True', message }] };
    expect(pendingApproval(conditionMessage(status))).toEqual({ plan: '290-3f9c2a1b', words: message });
  });

  it('is the one that is held, whatever plan a rejection mentions', () => {
    const message = 'rejected by alice: see plan 5-deadbeef; held is deletePods: typo; plan 290-3f9c2a1b';
    expect(pendingApproval(message)).toEqual({ plan: '290-3f9c2a1b', words: message });
  });

  it.each([
    { case: 'no status', status: undefined },
    {
      case: 'a condition of before',
      status: { conditions: [{ type: 'AwaitingApproval', status: 'False', message: 'plan 1-3f9c2a1b' }] },
    },
    {
      case: 'another condition',
      status: { conditions: [{ type: 'Ready', status: 'True', message: 'plan 1-3f9c2a1b' }] },
    },
    {
      case: 'no plan',
      status: { conditions: [{ type: 'AwaitingApproval', status: 'True', message: 'a plan' }] },
    },
  ])('is none: $case', ({ status }) => {
    expect(pendingApproval(conditionMessage(status))).toBeUndefined();
  });

  it('has one answer at a time, with who gave it', () => {
    expect(answerTo('2-3f9c2a1b', { verdict: 'approve', by: 'alice', because: undefined })).toEqual({
      'durable-operator.dev/approved': '2-3f9c2a1b',
      'durable-operator.dev/rejected': null,
      'durable-operator.dev/answered-by': 'alice',
      'durable-operator.dev/answered-because': null,
    });
    expect(answerTo('2-3f9c2a1b', { verdict: 'reject', by: 'bob', because: 'not today' })).toMatchObject({
      'durable-operator.dev/approved': null,
      'durable-operator.dev/rejected': '2-3f9c2a1b',
      'durable-operator.dev/answered-because': 'not today',
    });
  });
});

describe('a retry', () => {
  const failure = { type: 'Refused', message: 'quota' };

  it.each([
    { case: 'whatever has failed', pending: { step: 'createPods', failure }, asked: {}, is: true },
    { case: 'nothing has failed', pending: { step: 'createPods', failure: undefined }, asked: {}, is: false },
    {
      case: 'this step, in any case',
      pending: { step: 'createPods', failure },
      asked: { step: 'createpods' },
      is: true,
    },
    {
      case: 'another step',
      pending: { step: 'createPods', failure },
      asked: { step: 'createJob' },
      is: false,
    },
    {
      case: 'this failure',
      pending: { step: 'createPods', failure },
      asked: { failure: 'refused' },
      is: true,
    },
    {
      case: 'another failure',
      pending: { step: 'createPods', failure },
      asked: { failure: 'Conflict' },
      is: false,
    },
  ])('is asked for: $case', ({ pending, asked, is }) => {
    expect(isAskedFor(pending, asked)).toBe(is);
  });
});

describe('an annotation', () => {
  it('is written to the very object that was read, and to no other of its name', async () => {
    const asked: RequestOptions[] = [];
    const client = { request: (options: RequestOptions) => (asked.push(options), Promise.resolve({})) };
    const target = { type: POD_SETS, namespace: 'shop', name: 'web', uid: 'u1' };
    // All that it takes of a client.
    await annotate(client as unknown as Parameters<typeof annotate>[0], target, { a: 'b', c: null }, '7');
    expect(asked).toMatchObject([
      {
        method: 'PATCH',
        path: '/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets/web',
        body: { metadata: { uid: 'u1', resourceVersion: '7', annotations: { a: 'b', c: null } } },
      },
    ]);
  });
});

describe('words', () => {
  it('name a resource as it follows a command, and count a kind', () => {
    expect(argumentsOf({ type: POD_SETS, namespace: 'shop', name: 'web' })).toBe('podset/web -n shop');
    expect(argumentsOf({ type: NAMESPACES, namespace: undefined, name: 'shop' })).toBe('namespace/shop');
    expect([countOf(1, BUILDS), countOf(2, BUILDS), countOf(3, POD_SETS)]).toEqual([
      '1 Xxx',
      '2 Xxxes',
      '3 PodSets',
    ]);
  });
});

describe('the file of a plan', () => {
  it('has one manifest or several, as YAML or JSON', () => {
    const one = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    expect(parseManifests(JSON.stringify(one), 'f')).toEqual([one]);
    const several =
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n';
    expect(parseManifests(several, 'f').map(({ kind }) => kind)).toEqual(['Namespace', 'Pod']);
  });

  it('may have lists, as `kubectl get -o yaml` prints them', () => {
    const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name } });
    const list = { apiVersion: 'v1', kind: 'List', items: [pod('a'), pod('b')] };
    expect(parseManifests(`${JSON.stringify(list)}\n---\n${JSON.stringify(pod('c'))}`, 'f')).toEqual([
      pod('a'),
      pod('b'),
      pod('c'),
    ]);
    const wrong = { ...list, items: [pod('a'), {}] };
    expect(() => parseManifests(JSON.stringify(wrong), 'f')).toThrow(
      'f: document 1, item 2 needs apiVersion',
    );
  });

  it.each(['{apiVersion: v1, kind: List, items: []}', 'a: [', 'kind: Pod\n', ''])(
    'is refused in a line where it is none: %j',
    (content) => {
      let problem: unknown;
      try {
        expect(parseManifests(content, 'web.yaml')).toEqual([]);
      } catch (error) {
        problem = error;
      }
      expect(problem).toBeInstanceOf(AskProblem);
      expect(String(problem)).toMatch(/^AskProblem: web\.yaml: [^\n]+$/);
    },
  );
});

describe('the history of a name', () => {
  it('has an object for each UID that anything is known of', () => {
    const event = { id: 'e', uid: 'old', atMs: 5, type: 'Normal', reason: 'Created', note: 'n', count: 1 };
    const metadata = {
      name: 'web',
      uid: 'new',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T12:00:00Z',
    };
    const found = incarnationsOf({ live: { metadata }, runs: [], timelines: new Map(), events: [event] });
    expect(found.map(({ uid, isLive, createdAtMs }) => [uid, isLive, createdAtMs])).toEqual([
      ['old', false, undefined],
      ['new', true, Date.parse('2026-01-01T12:00:00Z')],
    ]);
  });

  it('lets nothing that a server has said reach the terminal as a command', () => {
    const line = {
      atMs: 0,
      kind: 'entry',
      id: '',
      label: 'createPods',
      notes: [],
      isBad: true,
    } as const;
    const style = { title: 'PodSet shop/web', paint: (_: unknown, text: string) => text };
    const text = textOfLine({ ...line, words: 'refused: \u001b[2J\nquota' }, style);
    expect(text).toBe('1970-01-01T00:00:00Z   createPods           refused: quota\n');
  });
});
