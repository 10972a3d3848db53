import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AudienceOptions } from '../../src/watcher/audience.ts';
import type { ObjectChange, Projection } from '../../src/watcher/known-objects.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { Reflector, type ReflectorOptions } from '../../src/watcher/reflector.ts';
import { eventually } from '../../testing/eventually.ts';
import {
  answerJson,
  answerText,
  aStatus,
  neverAnswer,
  reset,
  type Handler,
  type ReceivedRequest,
} from '../support/fake-api-server.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { FakeCollection } from '../support/fake-collection.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { aRecordingTelemetry } from '../support/recording-telemetry.ts';

interface PodProjection extends Projection {
  readonly label: string | undefined;
}

/** Pods labelled `ignored` are not of interest. */
function seePod({ metadata }: KubernetesObject): PodProjection | undefined {
  if (metadata.labels?.['ignored']) return undefined;
  return {
    key: `${String(metadata.namespace)}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    label: metadata.labels?.['a'],
  };
}

let pods: FakeCollection;
let log: ReturnType<typeof aRecordingLogger>;
let changes: ObjectChange<PodProjection>[];
let reflector: Reflector;
let items: ReadonlyMap<string, PodProjection>;

afterEach(() => reflector.stop());

const api = aFakeApi();

beforeEach(() => {
  pods = new FakeCollection();
  api.server.handle(pods.handler);
  log = aRecordingLogger();
  changes = [];
  reflector = aReflector();
});

type Options = Partial<ReflectorOptions & AudienceOptions<PodProjection>>;

function aReflector(options: Options = {}): Reflector {
  const backoff = { firstMs: 2, maxMs: 10 };
  const made = new Reflector({ client: api.client, path: '/api/v1/pods', log, backoff, ...options });
  const onChange = (change: ObjectChange<PodProjection>) => changes.push(change);
  items = made.join({ log, project: seePod, onChange, ...options });
  return made;
}

function start(options: Options = {}): void {
  reflector = aReflector(options);
  reflector.start();
}

async function startedAndWatching(options: Options = {}): Promise<void> {
  start(options);
  await eventually(() => pods.openWatches === 1);
}

/** What the changes say, such as `added default/web`. */
function told(): string[] {
  return changes.map(({ type, object }) => `${type} ${object.key}`);
}

/** @param kind `version`: a list of one object, which is of interest for its version alone */
function requestsFor(kind: 'list' | 'version' | 'watch'): ReceivedRequest[] {
  return api.server.requests.filter(({ url: { searchParams } }) => {
    if (searchParams.has('watch')) return kind === 'watch';
    return kind === (searchParams.get('limit') === '1' ? 'version' : 'list');
  });
}

/** The versions that the watches were opened from. */
function resumedFrom(): (string | null)[] {
  return requestsFor('watch').map(({ url }) => url.searchParams.get('resourceVersion'));
}

/** Whether the reflector knows exactly what the server has. */
function agrees(): boolean {
  const known = [...items.values()].map((pod) => `${pod.key}@${pod.resourceVersion}`).sort();
  const real = Object.entries(pods.versions).map(([name, version]) => `default/${name}@${version}`);
  return JSON.stringify(known) === JSON.stringify(real.sort());
}

const gone: Handler = answerJson(
  410,
  aStatus(410, { reason: 'Expired', message: 'too old resource version' }),
);

/** Accepts a watch, and then says nothing. */
const mute: Handler = (_, response) => {
  response.writeHead(200);
  response.flushHeaders();
};

const forbidden: Handler = answerJson(
  403,
  aStatus(403, {
    reason: 'Forbidden',
    message: 'pods is forbidden: User "x" cannot list resource "pods" in API group "" at the cluster scope',
    details: { kind: 'pods' },
  }),
);

describe('a first list', () => {
  it('tells of every object, and only then is synced', async () => {
    pods.put('a');
    pods.put('b');
    start();
    expect(reflector.hasSynced()).toBe(false);
    await reflector.synced;
    expect(reflector.hasSynced()).toBe(true);
    expect(told()).toEqual(['added default/a', 'added default/b']);
    expect(agrees()).toBe(true);
  });

  it('never asks for a stale answer: no list names a resourceVersion', async () => {
    pods.put('a');
    await startedAndWatching();
    pods.breakWatches('end');
    pods.put('b');
    pods.compact();
    await eventually(() => requestsFor('list').length === 2);
    for (const { url } of requestsFor('list')) expect(url.searchParams.has('resourceVersion')).toBe(false);
  });

  it('begins anew, in pages, where snapshot and changes expire in mid-page', async () => {
    for (const name of ['a', 'b', 'c']) pods.put(name);
    pods.faults.list.push((request, response) => {
      pods.handler(request, response);
      pods.remove('a');
      pods.compact();
    });
    await startedAndWatching({ pageSize: 2 });
    const lists = requestsFor('list').map(({ url }) => url.search);
    const rest = ['103%3A2%3Ab', 'rest%3A0%3Ab'].map((token) => `?limit=2&continue=${token}`);
    expect(lists).toEqual(['?limit=2', ...rest, '?limit=2']);
    expect(agrees()).toBe(true);
    expect(told()).toEqual(['added default/a', 'added default/b', 'added default/c', 'deleted default/a']);
  });

  /** Before the second page is read; where a watch can tell it, it does. @param change ends with the removal of `b` */
  function meanwhile(change: () => void): void {
    const isTold = () => told().at(-1) === 'deleted default/b';
    const changed = async () => {
      await eventually(() => pods.openWatches === 1, 1_000).catch(() => undefined);
      change();
      await eventually(isTold, 1_000).catch(() => undefined);
    };
    api.server.handle((request, response) => {
      if (!request.url.searchParams.has('continue')) {
        pods.handler(request, response);
        return;
      }
      api.server.handle(pods.handler);
      void changed().then(() => pods.handler(request, response));
    });
  }

  it.each(['forgetEvents', 'compact'] as const)(
    'is read to its end where the server forgets what was at its beginning: %s',
    async (forget) => {
      for (const name of ['a', 'b', 'c', 'd']) pods.put(name);
      meanwhile(() => {
        pods.put('a', { a: 'new' });
        pods.put('d', { a: 'new' });
        pods.remove('b');
        pods[forget]();
      });
      await startedAndWatching({ pageSize: 2 });
      await reflector.synced;
      pods.put('e');
      await eventually(agrees);
      expect(told()).toHaveLength(7);
      expect(requestsFor('list').filter(({ url }) => !url.searchParams.has('continue'))).toHaveLength(1);
    },
  );

  it('knows changes that come meanwhile, although a database was restored whose versions were higher', async () => {
    for (const name of ['a', 'b', 'c']) pods.put(name);
    start({ pageSize: 2 });
    await reflector.synced;
    await eventually(() => requestsFor('watch').length === 2 && pods.openWatches === 1);
    pods.restore();
    for (const name of ['a', 'b', 'c']) pods.put(name);
    meanwhile(() => {
      pods.put('c', { a: 'new' });
      pods.remove('b');
      pods.forgetEvents();
    });
    pods.breakWatches('end');
    await eventually(agrees);
  });

  it('waits as long as Retry-After says', async () => {
    const busy = aStatus(503, { reason: 'ServiceUnavailable', message: 'busy' });
    pods.faults.list.push(answerJson(503, busy, { 'retry-after': '0.3' }));
    const startedAt = performance.now();
    start();
    await reflector.synced;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(299);
  });
});

describe('a watch', () => {
  it('tells of every addition, change and deletion', async () => {
    await startedAndWatching();
    pods.put('a');
    pods.put('a', { a: 'new' });
    pods.remove('a');
    await eventually(() => changes.length === 3);
    expect(told()).toEqual(['added default/a', 'modified default/a', 'deleted default/a']);
    expect(changes[1]).toMatchObject({ object: { label: 'new' }, before: { label: undefined } });
    expect(changes[2]).toMatchObject({ object: { label: 'new', uid: 'uid-1' } });
  });

  it.each(['end', 'reset'] as const)(
    'resumes from the last event after its %s, without a list',
    async (how) => {
      await startedAndWatching();
      pods.put('a');
      await eventually(agrees);
      pods.breakWatches(how);
      pods.put('b');
      await eventually(agrees);
      expect(resumedFrom()).toEqual(['100', '101']);
      expect(requestsFor('list')).toHaveLength(1);
      expect(told()).toEqual(['added default/a', 'added default/b']);
    },
  );

  it('resumes from the last bookmark, so that compaction does not force a list', async () => {
    await startedAndWatching();
    pods.bookmark();
    const version = pods.version;
    pods.put('marker');
    await eventually(agrees);
    pods.compact();
    pods.bookmark();
    pods.breakWatches('end');
    await eventually(() => pods.openWatches === 1);
    expect(Number(resumedFrom().at(-1))).toBeGreaterThan(Number(version));
    expect(requestsFor('list')).toHaveLength(1);
  });

  it('lists again after a 410 at connect, and tells what vanished meanwhile', async () => {
    pods.put('stays');
    pods.put('goes');
    await startedAndWatching();
    pods.breakWatches('reset');
    pods.remove('goes');
    pods.put('comes');
    pods.compact();
    await eventually(agrees);
    expect(told().slice(2)).toEqual(['added default/comes', 'deleted default/goes']);
    expect(requestsFor('list')).toHaveLength(2);
  });

  it('lists again after a 410 in mid-stream', async () => {
    pods.put('a');
    await startedAndWatching();
    const expired = aStatus(410, { reason: 'Expired', message: 'too old resource version: 1 (2)' });
    pods.sendLine(JSON.stringify({ type: 'ERROR', object: expired }));
    await eventually(() => requestsFor('list').length === 2 && pods.openWatches === 1);
    pods.put('b');
    await eventually(agrees);
    expect(told()).toEqual(['added default/a', 'added default/b']);
  });

  it('lists again where its version is ahead of a restored database', async () => {
    pods.faults.watch.push(
      answerJson(
        504,
        aStatus(504, {
          reason: 'Timeout',
          message: 'Timeout: Too large resource version: 500, current: 100',
          details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
        }),
      ),
    );
    await startedAndWatching();
    expect(requestsFor('list')).toHaveLength(2);
  });

  it('lists again where a watch ended in order, and a restored database is there after a while', async () => {
    pods.put('old');
    await startedAndWatching();
    const watchedAt = performance.now();
    for (let i = 0; i < 5; i += 1) pods.put('later');
    await eventually(agrees);
    // One that ends sooner counts as broken.
    await eventually(() => performance.now() - watchedAt > 1_000);
    pods.restore();
    pods.put('new');
    pods.faults.list.push(...[503, 429].map((code) => answerText(code, 'no server is available')));
    pods.breakWatches('end');
    await eventually(agrees);
    expect(told().slice(-3).sort()).toEqual([
      'added default/new',
      'deleted default/later',
      'deleted default/old',
    ]);
    expect(requestsFor('version')).toHaveLength(3);
  });

  it('resumes after another error in mid-stream, without a list', async () => {
    await startedAndWatching();
    pods.sendLine(
      JSON.stringify({ type: 'ERROR', object: aStatus(500, { message: 'etcd leader changed' }) }),
    );
    await eventually(() => requestsFor('watch').length === 2 && pods.openWatches === 1);
    expect(requestsFor('list')).toHaveLength(1);
  });

  it('goes on after a handler has thrown, and logs it', async () => {
    await startedAndWatching({
      onChange: (change) => {
        changes.push(change);
        throw new Error('handler broke');
      },
    });
    pods.put('a');
    pods.put('b');
    await eventually(agrees);
    expect(told()).toEqual(['added default/a', 'added default/b']);
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields)).toMatchObject([
      { object: 'default/a' },
      { object: 'default/b' },
    ]);
    expect(requestsFor('watch')).toHaveLength(1);
  });
});

describe('events that are repeated, late or lost', () => {
  it('a repeated event is told once', async () => {
    await startedAndWatching();
    pods.put('a');
    pods.sendLine(pods.lineOf('ADDED', 'a'));
    pods.sendLine(pods.lineOf('MODIFIED', 'a'));
    pods.put('end');
    await eventually(() => told().includes('added default/end'));
    expect(told()).toEqual(['added default/a', 'added default/end']);
  });

  it('a late event never takes an object back to an older state, nor the watch', async () => {
    await startedAndWatching();
    pods.put('a');
    const old = pods.lineOf('MODIFIED', 'a');
    pods.put('a', { a: 'new' });
    pods.sendLine(old);
    pods.put('end');
    await eventually(() => told().includes('added default/end'));
    expect(items.get('default/a')).toMatchObject({ label: 'new' });
    pods.sendLine(old);
    pods.breakWatches('end');
    await eventually(() => pods.openWatches === 1);
    expect(resumedFrom()).toEqual(['100', pods.version]);
  });

  it('a late event never brings a deleted object back', async () => {
    await startedAndWatching();
    pods.put('a');
    const old = pods.lineOf('MODIFIED', 'a');
    pods.remove('a');
    pods.sendLine(old);
    pods.put('end');
    await eventually(() => told().includes('added default/end'));
    expect(told()).toEqual(['added default/a', 'deleted default/a', 'added default/end']);
    expect(agrees()).toBe(true);
  });

  it('tells deleted, then added, of an object recreated while nobody looked', async () => {
    pods.put('a');
    await startedAndWatching();
    pods.breakWatches('reset');
    pods.remove('a');
    pods.put('a');
    pods.compact();
    await eventually(agrees);
    expect(changes.slice(1)).toMatchObject([
      { type: 'deleted', object: { key: 'default/a', uid: 'uid-1' } },
      { type: 'added', object: { key: 'default/a', uid: 'uid-2' } },
    ]);
  });

  it('takes a relist for the truth even where its versions are lower, as after a restore', async () => {
    pods.put('a', { a: 'restored' });
    const restored = pods.jsonOf('a', '7');
    pods.put('a', { a: 'newer' });
    await startedAndWatching();
    const restoredList = `{"metadata":{"resourceVersion":"8"},"items":[${restored}]}`;
    // Asked for its version first, and then for all.
    pods.faults.list.push(answerText(200, restoredList), answerText(200, restoredList));
    pods.faults.watch.push(neverAnswer);
    pods.breakWatches('reset');
    await eventually(() => items.get('default/a')?.resourceVersion === '7');
    expect(changes.at(-1)).toMatchObject({ type: 'modified', object: { resourceVersion: '7' } });
  });
});

/** Accepts a watch and ends it. */
const endAtOnce: Handler = answerText(200, '');

describe('watches that are accepted and tell nothing', () => {
  const hearing = { silenceMs: 20, compareEveryMs: 20, tellWithinMs: 100, listEveryMs: 50 };
  const all = (fault: Handler) => Array.from({ length: 10_000 }, () => fault);

  it.each([
    ['stay open', mute],
    ['end at once', endAtOnce],
  ])('are a problem where a list shows a change, and they %s', async (_, fault) => {
    pods.faults.watch.push(...all(fault));
    start({ hearing: { ...hearing, compareEveryMs: 600_000 } });
    const startedAtMs = performance.now();
    await reflector.synced;
    pods.put('a');
    expect(await eventually(() => reflector.problem)).toContain(
      'the watch of /api/v1/pods does not tell what a list shows',
    );
    const blindAtMs = performance.now();
    pods.put('b');
    await eventually(agrees);
    expect(reflector.silenceSeconds * 1000).toBeGreaterThanOrEqual(blindAtMs - startedAtMs);
    pods.faults.watch.length = 0;
    await eventually(() => reflector.problem === undefined);
    pods.put('c');
    await eventually(agrees);
    expect(log.lines.filter(({ level }) => level !== 'debug').map(({ level }) => level)).toEqual([
      'warn',
      'info',
    ]);
  });

  it('are no problem where nothing changes', async () => {
    pods.faults.watch.push(...all(mute));
    start({ hearing });
    await eventually(() => requestsFor('list').length >= 4);
    expect(reflector.problem).toBeUndefined();
  });

  it('cost no second list within ten minutes', async () => {
    pods.faults.watch.push(...all(mute));
    start({ hearing: { ...hearing, compareEveryMs: 600_000 } });
    await eventually(() => requestsFor('watch').length >= 8);
    expect(requestsFor('list')).toHaveLength(2);
  });

  it('are no problem where the next one tells what the list has shown, and nothing is told twice', async () => {
    pods.put('kept');
    const from = pods.version;
    pods.faults.watch.push(mute, (request, response) => {
      pods.put('kept', { a: 'new' });
      pods.put('gone');
      pods.remove('gone');
      mute(request, response);
    });
    await startedAndWatching({ hearing: { ...hearing, tellWithinMs: 60_000 } });
    expect(resumedFrom()).toEqual([from, from, from]);
    pods.put('end');
    await eventually(agrees);
    expect(told()).toEqual(['added default/kept', 'modified default/kept', 'added default/end']);
    expect(log.lines.filter(({ level }) => level !== 'debug')).toEqual([]);
  });
});

describe('a database that is restored while the server of the watch lives on, and keeps it open', () => {
  let restored: FakeCollection;
  let isRestored: boolean;

  /** What is asked over a connection from before reaches the server that is being ended. */
  beforeEach(async () => {
    restored = new FakeCollection();
    isRestored = false;
    const before = new Set<unknown>();
    api.server.handle((request, response) => {
      if (!isRestored) before.add(response.socket);
      const collection = before.has(response.socket) ? pods : restored;
      collection.handler(request, response);
    });
    for (const a of ['1', '2', '3']) pods.put('old', { a });
    await startedAndWatching();
  });

  const known = () => [...items.keys()];
  const shown = () => {
    const [old] = reflector.shown('default/old');
    if (old === undefined) throw new Error('it is not known');
    return old;
  };

  it('is noticed by a read that is older than what was shown', async () => {
    isRestored = true;
    restored.put('new');
    reflector.isRead('100', shown());
    await eventually(() => known().join() === 'default/new');
    restored.put('next');
    await eventually(() => known().length === 2);
  });

  describe('and has already passed what was shown', () => {
    beforeEach(() => {
      isRestored = true;
      for (let i = 0; i < 20; i += 1) restored.put('new');
    });
    afterEach(() => void jest.useRealTimers());

    /** As the watch has ten seconds to tell it. */
    const foundGone = async () => {
      jest.useFakeTimers({
        doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'],
      });
      reflector.isGone(shown());
      await jest.advanceTimersByTimeAsync(10_000);
    };

    it('is noticed by a read that is older than what was shown', async () => {
      restored.restore();
      for (const name of ['old', ...Array.from({ length: 200 }, () => 'new')]) restored.put(name);
      reflector.isRead('11', shown());
      await eventually(() => known().length === 2 && shown().resourceVersion === '11');
    });

    it('is noticed by what is gone, and still shown', async () => {
      await foundGone();
      await eventually(() => known().join() === 'default/new');
    });

    it('is noticed by what is gone, and still shown, after the watch went over to the new server', async () => {
      pods.breakWatches('reset');
      await eventually(() => restored.openWatches === 1);
      await foundGone();
      await eventually(() => !known().includes('default/old'));
    });

    it('costs one read where the object is there as it was shown, as after a run that changed nothing', async () => {
      isRestored = false;
      const asked = api.server.requests.length;
      await foundGone();
      await eventually(() => api.server.requests.length === asked + 1);
      pods.put('marker');
      await eventually(() => known().length === 2);
      expect(api.server.requests.at(-1)?.url.search).toBe(
        '?limit=1&fieldSelector=metadata.name%3Dold%2Cmetadata.namespace%3Ddefault',
      );
    });
  });

  it('costs no request where a read is as new as what was shown', async () => {
    const asked = api.server.requests.length;
    reflector.isRead(shown().resourceVersion, shown());
    pods.put('marker');
    await eventually(agrees);
    expect(api.server.requests).toHaveLength(asked);
  });
});

describe('objects that are not of interest', () => {
  it('are told as deleted where they were known, and as added where they become of interest', async () => {
    pods.put('never', { ignored: 'yes' });
    await startedAndWatching();
    pods.put('a');
    pods.put('a', { ignored: 'yes' });
    pods.put('a', { ignored: 'yes', again: 'yes' });
    pods.put('a');
    await eventually(() => changes.length === 3);
    expect(told()).toEqual(['added default/a', 'deleted default/a', 'added default/a']);
  });
});

describe('a problem that somebody must see', () => {
  it('missing permission is shown, logged once, and recovered from', async () => {
    pods.faults.list.push(forbidden, forbidden, forbidden);
    start();
    const problem = await eventually(() => reflector.problem);
    expect(problem).toContain('GET /api/v1/pods: 403');
    expect(problem).toContain('cannot list resource "pods"');
    await eventually(() => pods.openWatches === 1 && reflector.problem === undefined);
    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      `warn ${problem}`,
      'info watching /api/v1/pods again',
    ]);
  });

  it('a missing CRD is waited for, and says so', async () => {
    const missing = answerText(404, '404 page not found\n');
    pods.faults.list.push(...Array.from({ length: 10_000 }, () => missing));
    start();
    await eventually(() => reflector.isApiMissing);
    expect(reflector.problem).toBe(
      'GET /api/v1/pods: 404 404 page not found; waiting for this API: install its CRD',
    );
    pods.faults.list.length = 0;
    await reflector.synced;
    expect(reflector.isApiMissing).toBe(false);
  });

  it('is not made of a watch that breaks, which is an everyday event', async () => {
    await startedAndWatching();
    pods.breakWatches('reset');
    await eventually(() => pods.openWatches === 1);
    expect(log.lines.filter(({ level }) => level !== 'debug')).toEqual([]);
  });
});

describe('stop', () => {
  it('during a list leaves no open connection and no request to come', async () => {
    pods.faults.list.push(neverAnswer);
    start();
    await eventually(() => requestsFor('list').length === 1);
    await reflector.stop();
    await eventually(() => api.server.openConnections === 0);
    expect(api.server.requests).toHaveLength(1);
  });

  it('during a wait ends the wait', async () => {
    pods.faults.list.push(reset);
    start({ backoff: { firstMs: 3_600_000, maxMs: 3_600_000 } });
    await eventually(() => reflector.problem);
    await reflector.stop();
    expect(api.server.requests).toHaveLength(1);
  });
});

describe('who observes', () => {
  /** What it is told, by a reflector that watches. */
  async function observing(options: Options = {}): Promise<readonly string[]> {
    const telemetry = aRecordingTelemetry();
    const observer = telemetry.watch({ controller: 'pod-label', resource: 'pods' });
    await startedAndWatching({ observer, ...options });
    return telemetry.told;
  }

  it.each<[string, Handler, Options]>([
    ['broken', answerText(200, ''), {}],
    ['silent', mute, { hearing: { silenceMs: 300 } }],
    ['expired', gone, {}],
    ['failed', answerJson(403, aStatus(403, { reason: 'Forbidden', message: 'you may not' })), {}],
  ])('is told that a watch was opened anew because it was %s', async (reason, fault, options) => {
    pods.faults.watch.push(fault);
    expect(await observing(options)).toEqual([`pods ${reason}`]);
  });

  it('is told how old an object is when it comes by the watch, but not by a list', async () => {
    pods.put('listed');
    const told = await observing();
    const metadata = { name: 'a', namespace: 'default', uid: 'uid-of-a', resourceVersion: '900' };
    const event = (creationTimestamp: string) =>
      pods.sendLine(
        JSON.stringify({ type: 'ADDED', object: { metadata: { ...metadata, creationTimestamp } } }),
      );
    event(new Date().toISOString());
    event(new Date(0).toISOString());
    await eventually(() => told.length === 2);
    expect(told).toEqual(['pods created now', 'pods created long ago']);
  });
});
