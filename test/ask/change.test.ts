import { describe, expect, it } from '@jest/globals';
import { AskProblem } from '../../src/ask/ask.ts';
import { incarnationsOf, textOfLine } from '../../src/ask/history/history.ts';
import { parseManifests } from '../../src/ask/plan/manifests.ts';
import { annotate } from '../../src/ask/cluster/objects.ts';
import type { RequestOptions } from '../../src/kubernetes/client.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';

describe('an annotation', () => {
  it('is written to the very object that was read, and to no other of its name', async () => {
    const asked: RequestOptions[] = [];
    const client = { request: (options: RequestOptions) => (asked.push(options), Promise.resolve({})) };
    const target = { type: PodSetKind, namespace: 'shop', name: 'web', uid: 'u1' };
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
      expect(() => parseManifests(content, 'web.yaml')).toThrow(AskProblem);
      expect(() => parseManifests(content, 'web.yaml')).toThrow(/^web\.yaml: [^\n]+$/);
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
    const line = { atMs: 0, kind: 'entry', id: '', label: 'createPods', notes: [], isBad: true } as const;
    const style = { title: 'PodSet shop/web', paint: (_: unknown, text: string) => text };
    const text = textOfLine({ ...line, words: 'refused: \u001b[2J\nquota' }, style);
    expect(text).toBe('1970-01-01T00:00:00Z   createPods           refused: quota\n');
  });
});
