import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Namespaces } from '../../src/watcher/namespaces.ts';
import { eventually } from '../../testing/eventually.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { answerJson, aStatus, type Handler } from '../support/fake-api-server.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

let namespaces: Namespaces;
/** By name, whether the namespace is being deleted. */
let live: Map<string, boolean>;
/** The names that were reported. */
let changed: string[];
/** The names of those that are paused. */
let paused: Set<string>;
let say: (type: string, name: string) => void;
/** What requests are answered with instead; undefined: as they should be. */
let refusal: Handler | undefined;
/** Ends the watch. */
let end: () => void;

/** Of the latest change. */
let version: number;

const objectOf = (name: string) => ({
  metadata: {
    name,
    uid: `uid-of-${name}`,
    resourceVersion: String(version),
    ...(live.get(name) === true && { deletionTimestamp: '2026-11-22T00:00:00Z' }),
    ...(paused.has(name) && { annotations: { 'durable-operator.dev/paused': 'true' } }),
  },
});

afterEach(() => namespaces.stop());

const api = aFakeApi();

beforeEach(() => {
  live = new Map([
    ['shop', false],
    ['old', true],
  ]);
  changed = [];
  version = 7;
  paused = new Set();
  refusal = undefined;
  api.server.handle((request, response) => {
    const name = request.url.pathname.split('/')[4];
    if (refusal !== undefined) {
      refusal(request, response);
    } else if (name !== undefined) {
      const answer = live.has(name) ? answerJson(200, objectOf(name)) : gone(name);
      answer(request, response);
    } else if (request.url.searchParams.has('watch')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      end = () => response.end();
      say = (type, of) => {
        version += 1;
        response.write(`${JSON.stringify({ type, object: objectOf(of) })}\n`);
      };
    } else {
      const items = [...live.keys()].map(objectOf);
      answerJson(200, { metadata: { resourceVersion: String(version) }, items })(request, response);
    }
  });
  say = () => {
    throw new Error('nobody watches');
  };
});

const gone = (name: string) =>
  answerJson(
    404,
    aStatus(404, {
      message: `namespaces "${name}" not found`,
      reason: 'NotFound',
      details: { kind: 'namespaces', name },
    }),
  );

function watching(names: readonly string[] = [], everyMs = 180_000): void {
  namespaces = new Namespaces({
    client: api.client,
    namespaces: names,
    everyMs,
    log: aRecordingLogger(),
    onChange: (name) => changed.push(name),
  });
  namespaces.start();
}

describe('the namespaces that are being deleted', () => {
  it('are reported when their deletion begins, and forgotten when they are gone', async () => {
    watching();
    await eventually(() => api.server.requests.some(({ url }) => url.searchParams.has('watch')));
    live.set('shop', true);
    say('MODIFIED', 'shop');
    await eventually(() => changed.includes('shop'));
    expect(namespaces.isTerminating('shop')).toBe(true);
    say('DELETED', 'shop');
    await eventually(() => !namespaces.isTerminating('shop'));
    expect(changed).toEqual(['old', 'shop', 'shop']);
  });

  it('are read by name where only some namespaces are watched', async () => {
    watching(['old', 'shop', 'nowhere'], 5);
    await eventually(() => namespaces.isTerminating('old'));
    live.set('shop', true);
    await eventually(() => namespaces.isTerminating('shop'));
    expect(new Set(api.server.requests.map(({ url }) => url.pathname))).toEqual(
      new Set(['old', 'shop', 'nowhere'].map((name) => `/api/v1/namespaces/${name}`)),
    );
    expect(changed).toEqual(['old', 'shop']);
  });
});

describe('a namespace that is read by name', () => {
  it('is read again no sooner than the server asks for', async () => {
    refusal = answerJson(429, aStatus(429, { message: 'too many requests' }), { 'retry-after': '0.3' });
    const startedAt = performance.now();
    watching(['old']);
    await eventually(() => namespaces.problems.length === 1);
    refusal = undefined;
    await eventually(() => namespaces.isTerminating('old'));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(299);
  });
});

describe('the namespaces that are paused', () => {
  it('are known from the first list on, and until then nobody can say', async () => {
    paused.add('shop');
    watching();
    expect(namespaces.isPaused('shop')).toBeUndefined();
    await eventually(() => namespaces.isPaused('shop') === true);
    expect(namespaces.isPaused('old')).toBe(false);
    expect(namespaces.isPaused('nowhere')).toBe(false);
    expect(namespaces.isTerminating('shop')).toBe(false);
  });

  it('are shown by a watch alone: what is read every so often may be out of date', async () => {
    paused.add('shop');
    watching();
    await eventually(() => namespaces.isPausedByWatch('shop') === true);
    await namespaces.stop();
    watching(['shop'], 5);
    await eventually(() => namespaces.isPaused('shop') === true);
    expect(namespaces.isPausedByWatch('shop')).toBeUndefined();
  });

  it('are not shown by a watch that does not work: they may have changed since', async () => {
    paused.add('shop');
    watching();
    await eventually(() => namespaces.isPausedByWatch('shop') === true);
    refusal = answerJson(403, aStatus(403, { message: 'forbidden: User "operator" cannot watch' }));
    await eventually(() => api.server.requests.some(({ url }) => url.searchParams.has('watch')));
    end();
    await eventually(() => namespaces.problems.length === 1);
    expect(namespaces.isPausedByWatch('shop')).toBeUndefined();
    expect(namespaces.isPaused('shop')).toBe(true);
    refusal = undefined;
    await eventually(() => namespaces.isPausedByWatch('shop') === true);
  });
});
