import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import { gitBuild } from '../../../src/controllers/git-build/controller.ts';
import { buildJob, cleanupJob } from '../../../src/controllers/git-build/jobs.ts';
import { specHash } from '../../../src/controllers/git-build/spec.ts';
import { FINALIZER } from '../../support/build-views.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';
import { statusIn, isStatusWrite } from '../../support/status-write.ts';
import type { NextStep } from '../../../src/runs/decision.ts';

const controller = definedController(gitBuild);
type BuildChild = Parameters<typeof controller.observation>[1][number];
const [jobs, pods] = controller.children;
const OWNER = { namespace: 'shop', name: 'sample', uid: 'uid-1' };
const NOW = '2026-11-21T12:00:00Z';
const NOW_MS = Date.parse(NOW);
const CREATED = '2026-11-21T11:00:00Z';

interface Given {
  readonly status?: object;
  readonly spec?: object;
  readonly metadata?: Partial<ObjectMeta>;
}

/** What the watcher comes to know of a build. */
function observed({ status, spec = SAMPLE, metadata = {} }: Given, children: readonly BuildChild[]) {
  const its = { ...OWNER, resourceVersion: '7', generation: 1, finalizers: [FINALIZER], ...metadata };
  const view = controller.primary.view({ metadata: its, spec, ...(status && { status }) });
  if (view === undefined) throw new Error('every build is of interest');
  return controller.observation(view, children, its);
}

const decision = (given: Given, ...children: BuildChild[]): NextStep =>
  controller.decide(observed(given, children), NOW_MS);
const inputs = (...children: BuildChild[]) => controller.inputs?.(observed({}, children));

function stored(manifest: { metadata: object }, metadata: object, status: object): KubernetesObject {
  const meta = { name: 'a', uid: 'u', resourceVersion: '8', creationTimestamp: CREATED };
  return { ...manifest, metadata: { ...meta, ...manifest.metadata, ...metadata }, status };
}

function childOf(watched: typeof jobs, object: KubernetesObject): BuildChild {
  expect(watched?.ownerKey(object)).toBe('shop/sample');
  const view = watched?.view(object);
  if (view === undefined) throw new Error('it is of no interest');
  return view;
}

const manifestOf = (spec = SAMPLE) => buildJob(OWNER, { spec, hash: specHash(spec) }, BUILD_DEFAULTS);
const CLEANUP = cleanupJob(
  OWNER,
  { jobName: 'x-delete', node: 'n', binaries: ['helloworld'] },
  BUILD_DEFAULTS,
);
const ended = (type: string) => ({ conditions: [{ type, status: 'True' }] });
const GOING = { deletionTimestamp: CREATED };
/** Its Pods may still come. */
const FRESH = { creationTimestamp: NOW };

const job = (status: object = {}, metadata: object = {}) =>
  childOf(jobs, stored(manifestOf(), { uid: 'job-1', ...FRESH, ...metadata }, status));
const cleanup = (status: object = {}) => childOf(jobs, stored(CLEANUP, { uid: 'job-2', ...FRESH }, status));
const pod = (status: object) => {
  const { template } = manifestOf().spec;
  return childOf(pods, stored(template, { name: 'pod', namespace: 'shop', uid: 'pod' }, status));
};
const exited = (name: string) => ({ name, state: { terminated: { exitCode: 0 } } });
function podOf(manifest: typeof CLEANUP, jobUid: string, status: object) {
  const { template } = manifest.spec;
  const labels = { ...template.metadata.labels, 'batch.kubernetes.io/controller-uid': jobUid };
  return childOf(pods, stored(template, { name: 'pod', namespace: 'shop', uid: 'pod', labels }, status));
}
const UNPULLABLE = {
  phase: 'Pending',
  containerStatuses: [{ image: 'golang:1.13', state: { waiting: { reason: 'ErrImagePull' } } }],
};
const TROUBLE = 'its Pod cannot pull the image golang:1.13';

/** The status once the decision was carried out. */
function after(made: NextStep): object {
  const merged = Object.entries(statusIn(made)).filter(([, value]) => value !== null);
  return Object.fromEntries(merged);
}

/** The status once it says all that it is to say. */
function settled(given: Given, ...children: BuildChild[]): object {
  const made = decision(given, ...children);
  return isStatusWrite(made)
    ? settled({ ...given, status: { ...given.status, ...after(made) } }, ...children)
    : (given.status ?? {});
}

const BUILT = { phase: 'Succeeded', observedGeneration: 1, completionTime: CREATED } as const;
const SUCCEEDED = settled({ status: BUILT });
const BEGUN = { type: 'ExternalStep', status: 'False', reason: 'None', message: '', lastTransitionTime: NOW };

const ADVICE = "make the image available to the nodes, or change the operator's --build-image";

describe('the watcher of builds', () => {
  it('starts no run for a build that has succeeded, whatever became of its Job', () => {
    expect(decision({ status: SUCCEEDED })).toMatchObject({ do: 'converged' });
    expect(decision({ status: SUCCEEDED }, job(ended('Complete')))).toMatchObject({ do: 'converged' });
    expect(decision({ status: SUCCEEDED }, job({}, GOING))).toMatchObject({ do: 'converged' });
  });

  it.each<[string, Given, string]>([
    ['is new', { metadata: { finalizers: [] } }, 'addFinalizer'],
    [
      'has lost its finalizer',
      { status: { ...BUILT, conditions: [BEGUN] }, metadata: { finalizers: [] } },
      'addFinalizer',
    ],
    ['has another spec', { status: SUCCEEDED, metadata: { generation: 2 } }, 'observe'],
    [
      'has left an old binary',
      { status: { ...SUCCEEDED, artifacts: [{ node: 'n', binary: 'old' }] } },
      'observe',
    ],
    ['is deleted', { status: SUCCEEDED, metadata: GOING }, 'removeFinalizer'],
    [
      'is not valid',
      { spec: { ...SAMPLE, gitUrl: 'ext::sh' }, metadata: { finalizers: [] } },
      'updateStatus',
    ],
  ])('starts a run for a build that %s', (_, given, first) => {
    expect(decision(given)).toMatchObject({ do: first });
  });

  it('looks up whether an earlier Job runs that is not shown yet, unless the spec was never changed', () => {
    expect(decision({})).toMatchObject({ do: 'updateStatus', status: { phase: 'Pending' } });
    const given = { metadata: { generation: 2 }, spec: { ...SAMPLE, jobName: 'other' } };
    expect(decision(given)).toMatchObject({ do: 'observe', lookups: ['running'] });
    const [seen, before] = [observed(given, []), observed({}, [job()])];
    if (seen === 'gone' || before === 'gone') throw new Error('it is there');
    const running = { jobs: before.owned.map(({ view }) => view), pods: [] };
    expect(controller.decide({ ...seen, lookups: { running } }, NOW_MS)).toMatchObject({
      do: 'updateStatus',
      status: { message: 'Job build-helloworld is being deleted' },
    });
  });

  it('lets a run wait while its Job runs, and calls for a step when it ends or is deleted by somebody', () => {
    const status = settled({}, job());
    expect(decision({ status }, job())).toMatchObject({ do: 'wait' });
    expect(decision({ status }, job(ended('Complete')))).toMatchObject({ do: 'observe' });
    expect(decision({ status }, job(ended('Failed')))).toMatchObject({ do: 'observe' });
    expect(decision({ status }, job({}, GOING))).toMatchObject({ do: 'updateStatus' });
    expect(decision({ status })).toMatchObject({ do: 'updateStatus' });
  });

  it('calls for a step when a Pod is in trouble, and when it starts after all', () => {
    const status = settled({}, job());
    const troubled = settled({ status }, job(), pod(UNPULLABLE));
    expect(troubled).toMatchObject({ message: `${TROUBLE}; ${ADVICE}` });
    expect(decision({ status: troubled }, job(), pod(UNPULLABLE))).toMatchObject({ do: 'wait' });
    expect(decision({ status: troubled }, job(), pod({ phase: 'Running' }))).toMatchObject({ do: 'wait' });
  });

  it('lets a run wait for its cleanup, and calls for a step when that ends', () => {
    const artifacts = [{ node: 'n', binary: 'helloworld' }];
    const given = { status: { ...SUCCEEDED, artifacts }, metadata: GOING };
    const status = settled(given, cleanup());
    expect(decision({ ...given, status }, cleanup())).toMatchObject({ do: 'wait' });
    expect(decision({ ...given, status }, cleanup(ended('Complete')))).toMatchObject({
      do: 'removeFinalizer',
    });
  });

  it('leaves out the Job of another build of the same name', () => {
    const label = { 'durable-operator.dev/build-uid': 'uid-0' };
    const other = job({}, { labels: { ...manifestOf().metadata.labels, ...label } });
    expect(settled({}, other)).toEqual(settled({}));
  });
});

describe('news to a run', () => {
  it('is how a Job ended, and what keeps a Pod from starting', () => {
    expect(inputs(job(ended('Complete')), cleanup(ended('Failed')), pod(UNPULLABLE))).toEqual([
      'build Job job-1 succeeded',
      'build Pod cannot pull the image golang:1.13',
      'cleanup Job job-2 failed',
    ]);
  });

  it.each<[string, object, string, object]>([
    ['build', manifestOf(), 'job-1', { phase: 'Succeeded', containerStatuses: [exited('build')] }],
    ['cleanup', CLEANUP, 'job-2', { phase: 'Running', containerStatuses: [exited('cleanup')] }],
  ])('is the end of a %s once, whether its Pod or the Job says it first', (purpose, of, uid, status) => {
    const its = purpose === 'build' ? job : cleanup;
    const said = inputs(its(), podOf(of as typeof CLEANUP, uid, status));
    expect(said).toEqual([`${purpose} Job ${uid} succeeded`]);
    expect(inputs(its(ended('Complete')), podOf(of as typeof CLEANUP, uid, status))).toEqual(said);
    expect(inputs(its(ended('Complete')))).toEqual(said);
  });

  it('is that a container has built while another one runs on', () => {
    const status = { phase: 'Running', containerStatuses: [exited('build')] };
    expect(inputs(job(), podOf(manifestOf(), 'job-1', status))).toEqual(['build Pod pod has ended its work']);
  });

  it('is nothing of what the run does itself: it creates and deletes Jobs', () => {
    expect(inputs(job(), cleanup(), pod({ phase: 'Running' }))).toEqual(inputs());
    expect(inputs(job({}, GOING))).toEqual(inputs());
  });
});
