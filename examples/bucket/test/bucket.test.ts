import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decisions, explore, type FetchAnswer, type FetchRequest } from 'durable-operator/testing';
import { bucket } from '../src/bucket.ts';
import type { Stored } from '../src/store.ts';

const { of } = decisions(bucket);
const stored = { versioned: false, url: 'store://photos' };

test('a bucket that is missing is created', () => {
  assert.deepEqual(of({}, undefined), { do: 'provision', because: 'there is no bucket' });
});

test('versioning follows the spec', () => {
  assert.deepEqual(of({ spec: { versioned: true } }, stored), {
    do: 'setVersioning',
    because: 'the spec asks for it',
    data: { to: true },
  });
});

/** The store, as plain state and a function on it. */
const store = {
  buckets: {} as Record<string, Stored>,
  fetch({ method, url, body }: FetchRequest): FetchAnswer {
    const id = url.slice(url.lastIndexOf('/') + 1);
    if (method === 'DELETE') Reflect.deleteProperty(this.buckets, id);
    if (method === 'PUT') {
      const { versioned } = body as Stored;
      this.buckets[id] = { versioned, url: `store://${id}` };
    }
    const found = this.buckets[id];
    return found === undefined ? { status: 404 } : { status: 200, body: found };
  },
};

test('whatever fails on the way, the store ends as the spec says', async () => {
  await explore(bucket, {
    resource: { spec: { versioned: false } },
    outside: store,
    userEdits: { 'versioning is turned on': ({ spec }) => (spec.versioned = true) },
    externalChanges: { 'the store loses it': ({ outside }) => (outside.buckets = {}) },
    finally: ({ resource, outside }) => [
      resource && outside.buckets[resource.metadata.uid] === undefined && 'the store has no bucket',
    ],
  });
});
