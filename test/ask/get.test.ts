import { describe, expect, it } from '@jest/globals';
import { defaultOptions } from '../../src/config/config.ts';
import { RunReader, type Run } from '../../src/temporal/run-reader.ts';
import type { RunTimeline } from '../../src/temporal/timeline.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { aPodOf, aPodSet } from '../support/pod-sets.ts';
import { asked, aTemporal, NOW_MS, workersThatPolled } from '../support/ask-session.ts';

const API = '/api/v1/namespaces/shop';

const pod = (name: string, annotations: Record<string, string> = {}): KubernetesObject => ({
  metadata: { namespace: 'shop', name, uid: `uid-of-${name}`, resourceVersion: '1', annotations },
});
const DONE = { [POD_NAME_LABEL]: 'done' };
const asking = (name: string) => pod(name, { [POD_NAME_ANNOTATION]: 'true' });

const LATE = { controller: 'git-build', namespace: 'shop', name: 'late', uid: 'u' };
/** It waits, since it has neither a pending step nor a task. */
const CLEANUP: Run = {
  ...{ ref: LATE, workflowId: 'git-build/shop/late/u', runId: 'r', isOpen: true, startedAtMs: NOW_MS },
  ...{ endedAtMs: undefined, runState: undefined, pending: [], workflowTaskAttempt: undefined },
  ...{ version: undefined, status: 'RUNNING', taskQueue: 'durable-operator', historyLength: 5 },
};
const WAITING: RunTimeline = {
  ...{ runId: 'r', startedAtMs: NOW_MS, reason: '', end: undefined },
  entries: [
    {
      ...{ kind: 'step', atMs: NOW_MS, step: 'observe', summary: '', isLocal: true, attempts: 1 },
      end: {
        ...{ how: 'done', tookMs: 1, did: [], refusal: undefined },
        next: { do: 'wait', because: 'waiting for Job shop/clean-up-late to end' },
      },
    },
  ],
};

/** A Temporal with these open runs, all of which wait. */
class FakeRuns extends RunReader {
  readonly #runs: readonly Run[];

  constructor(runs: readonly Run[]) {
    super({ namespace: 'default', call: () => Promise.reject(new Error('it is not asked')) });
    this.#runs = runs;
  }

  override listOpen = () => Promise.resolve(this.#runs);
  override describe = ({ uid }: ResourceRef) =>
    Promise.resolve(this.#runs.find(({ ref }) => ref.uid === uid));
  override endOfTimeline = () => Promise.resolve(WAITING);
}

const SETTINGS = { version: '1.0', options: defaultOptions(durableOperator) };

interface Given {
  /** Of the operator; null: none has published any. */
  readonly published?: null;
  /** By the path of an object or of a list; the others are not there, or empty. */
  readonly cluster?: Readonly<Record<string, KubernetesObject | readonly KubernetesObject[] | ApiError>>;
  readonly runs?: readonly Run[];
  /** Default: now. */
  readonly polledMsAgo?: number;
}

function get(words: readonly string[], given: Given = {}) {
  const { cluster = {}, runs = [], published, polledMsAgo = 0 } = given;
  const settings = published === null ? undefined : SETTINGS;
  return asked(['get', ...words], {
    temporal: () =>
      Promise.resolve(
        aTemporal({ settings, runs: new FakeRuns(runs), call: workersThatPolled(polledMsAgo) }),
      ),
    answerTo: ({ path, metadataOnly }) => {
      const there = cluster[path];
      if (metadataOnly === true && there === undefined)
        return new ApiError('not found', { classification: 'not-found', status: 404 });
      return Array.isArray(there) || there === undefined ? { metadata: {}, items: there } : there;
    },
  });
}

describe('get of a resource that is named', () => {
  it.each([
    {
      words: ['podset/web'],
      says: 'podsets.batch.tutorial.kubebuilder.io "web" not found in namespace shop (NotFound)',
    },
    { words: ['pod/web', '-A'], says: 'pods "web" not found in any namespace (NotFound)' },
    { words: ['namespace/web'], says: 'namespaces "web" not found (NotFound)' },
  ])('and is not there, fails as kubectl does: $words', async ({ words, says }) => {
    const { status, stdout, stderr } = await get(words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(says);
  });

  it('and was deleted while its run is open, has a row', async () => {
    const { status, stdout, stderr } = await get(['xxx/late'], { runs: [CLEANUP] });
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(stdout).toContain('xxx/late');
    expect(stdout).toContain('waiting for Job shop/clean-up-late to end');
  });

  it('and that nobody asks anything for, has a row, which a list would leave out', async () => {
    const cluster = { [`${API}/pods`]: [pod('plain')] };
    expect(await get(['pods'], { cluster })).toMatchObject({ status: 0, stdout: '' });
    const { status, stdout } = await get(['pod/plain'], { cluster });
    expect(status).toBe(0);
    expect(stdout).toMatch(/pod\/plain .* Ignored/);
  });

  it('and that the controller ignores, says so', async () => {
    const { status, stderr } = await get(['pod/done'], { cluster: { [`${API}/pods/done`]: pod('done') } });
    expect(status).toBe(0);
    expect(stderr).toBe(
      'pod-label ignores Pod shop/done; for the reason: kubectl durable why pod/done -n shop\n',
    );
  });

  it('and that has another state than what is asked for, is there all the same', async () => {
    const cluster = { [`${API}/pods`]: [asking('web')] };
    expect(await get(['pod/web', '--state', 'stalled'], { cluster })).toEqual({
      ...{ status: 0, stdout: '', stderr: 'No resources found\n' },
    });
  });
});

describe('get of a PodSet that is named', () => {
  const set = aPodSet().in('shop').wanting(2);
  const list = '/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets';
  const unready = (name: string) => aPodOf(set, name).unschedulable('0/1 nodes are available: 1 too small.');
  const pods = ['a', 'b'].map((name) => unready(name).object);

  it('shows its Pods that are not well, with the reason, below it', async () => {
    const cluster = { [list]: [set.object], [`${API}/pods`]: pods };
    const { stdout } = await get(['podset/web'], { cluster });
    const [, , ...below] = stdout.trimEnd().split('\n');
    expect(below.map((line) => line.trim())).toEqual([
      'Pod a cannot be scheduled: no node is suitable: too small',
      'Pod b cannot be scheduled: no node is suitable: too small',
    ]);
    const { stdout: json } = await get(['podset/web', '-o', 'json'], { cluster });
    expect(JSON.parse(json)).toMatchObject([
      { notWell: [expect.stringContaining('Pod a cannot'), expect.anything()] },
    ]);
  });

  it('is there even if its Pods may not be listed', async () => {
    const refused = new ApiError('no', { classification: 'access-denied', status: 403 });
    const cluster = { [list]: [set.object], [`${API}/pods`]: refused };
    expect(await get(['podset/web'], { cluster })).toMatchObject({
      ...{ stderr: '', stdout: expect.stringContaining('podset/web') },
    });
  });
});

describe('get while no worker polls', () => {
  it('says that what it shows may be outdated', async () => {
    const labelled = { ...pod('done'), ...{ metadata: { ...asking('done').metadata, labels: DONE } } };
    const given = { cluster: { [`${API}/pods`]: [labelled] } };
    expect(await get(['pods'], given)).toMatchObject({ status: 0, stderr: '' });
    const { status, stdout, stderr } = await get(['pods'], { ...given, polledMsAgo: 80_000 });
    expect(status).toBe(1);
    expect(stdout).toContain('UpToDate');
    expect(stderr).toBe(
      'kubectl durable: no worker has polled task queue "durable-operator" since 2026-01-01T11:58:40Z: no change is taken up\n',
    );
  });
});

describe('get of some states', () => {
  const labelled = { ...pod('done'), ...{ metadata: { ...asking('done').metadata, labels: DONE } } };
  const cluster = { [`${API}/pods`]: [asking('web'), labelled] };
  const shown = async (...words: readonly string[]) => {
    const { stdout } = await get(['pods', ...words, '-o', 'json'], { cluster });
    return (JSON.parse(stdout) as { resource: string }[]).map(({ resource }) => resource);
  };

  it.each([
    [['--not-ready'], ['pod/web']],
    [
      ['--state', 'waiting,up-to-date'],
      ['pod/web', 'pod/done'],
    ],
    [['--state', 'stalled', '--state', 'waiting'], ['pod/web']],
    [['--state', 'not-ready'], []],
  ])('shows them alone: %j', async (words, resources) => {
    expect(await shown(...words)).toEqual(resources);
  });
});

describe('get of resources with labels', () => {
  it('asks the API server for them, and leaves out runs of others', async () => {
    const selectors: unknown[] = [];
    const { stdout } = await asked(['get', 'xxx', '-l', 'team=a'], {
      temporal: () => Promise.resolve(aTemporal({ settings: SETTINGS, runs: new FakeRuns([CLEANUP]) })),
      answerTo: ({ path, query }) => {
        if (path.endsWith('/xxxes')) selectors.push(query?.['labelSelector']);
        return { metadata: {}, items: [] };
      },
    });
    expect(stdout).toBe('');
    expect(selectors).toEqual(['team=a']);
  });
});

describe('get without the options of the operator', () => {
  it('says that it assumes the defaults', async () => {
    const cluster = { [`${API}/pods`]: [asking('web')] };
    const { stdout, stderr } = await get(['pods', '-o', 'json'], { cluster, published: null });
    expect(JSON.parse(stdout)).toMatchObject([{ resource: 'pod/web' }]);
    expect(stderr).toBe(
      'assuming default options, since those of the operator could not be read: no operator with task queue "durable-operator" is known to Temporal\n',
    );
  });
});

describe('get of a kind without namespaces', () => {
  it.each([
    [['namespaces'], undefined],
    [['namespace/shop'], 'metadata.name=shop'],
  ])('lists all of it, as kubectl does: %j', async (words, fieldSelector) => {
    const selectors = new Set<unknown>();
    await asked(['get', ...words], {
      temporal: () => Promise.resolve(aTemporal({ settings: SETTINGS, runs: new FakeRuns([]) })),
      answerTo: ({ path, query }) => {
        if (path === '/api/v1/namespaces') selectors.add(query?.['fieldSelector']);
        return { metadata: {}, items: [] };
      },
    });
    expect([...selectors]).toEqual([fieldSelector]);
  });
});
