import { describe, expect, it, jest } from '@jest/globals';
import { allow, JOBS, type Kube, type ResourceOf } from 'durable-operator';
import { explore, type CallsOf, type Scenario } from '../../testing/index.ts';
import { Bucket, bucketIn, type Store } from '../support/bucket.ts';
import { aStore } from './store.ts';

jest.setTimeout(120_000);

type Fake = ReturnType<typeof aStore>;
type BucketController = ReturnType<typeof bucketIn>;
type Steps = NonNullable<BucketController['steps']>;
type Decide = NonNullable<BucketController['decide']>;
type BucketScenario = Partial<Scenario<BucketController, Fake>>;
type Its = BucketController & { readonly steps: Steps; readonly decide: Decide };
type Change = (its: Its, store: Store) => Partial<BucketController>;
type Run = (running: Running) => Promise<unknown>;

interface Running {
  readonly resource: ResourceOf<typeof Bucket>;
  readonly store: Store;
  readonly kube: Kube;
}

type Mistake = readonly [what: string, change: Change, found: string | RegExp, scenario?: BucketScenario];

const SCENARIO: Scenario<BucketController, Fake> = {
  resource: { spec: { versioned: false } },
  outside: aStore(),
  userEdits: { 'versioning is turned on': ({ spec }) => (spec.versioned = true) },
};

/** A bucket one of whose steps does something else. */
function running(step: keyof Steps, run: Run): Change {
  return ({ steps }, store) => ({
    steps: {
      ...steps,
      [step]: {
        ...steps[step],
        deletes: () => ({ what: 'Job', count: 1, objects: () => [BACKUP] }),
        run: ({ kube, resource }: Pick<Running, 'kube' | 'resource'>) =>
          run({ kube, resource, store }).then(() => 'did it'),
      },
    },
  });
}

/** A bucket that decides something else, unless that is undefined. */
function deciding(decide: (...asked: Asked) => ReturnType<Decide> | undefined): Change {
  return (its) => ({ decide: (...asked) => decide(...asked) ?? its.decide(...asked) });
}

type Asked = Parameters<Decide>;

const AT_JOB = { type: JOBS, namespace: 'default', name: 'example-backup' };
const BACKUP = { name: AT_JOB.name, uid: 'uid-of-backup' };
const A_JOB = { apiVersion: 'batch/v1', kind: 'Job', spec: {} };

/** Which Jobs the steps of these may write. */
const MAY_WRITE_JOBS = { permissions: [allow(JOBS, ['get', 'list', 'create', 'patch', 'delete'])] };

function writingJobs(step: keyof Steps, run: Run): Change {
  return (...given) => ({ ...running(step, run)(...given), ...MAY_WRITE_JOBS });
}

let created = 0;

/** The store gives each bucket an ID of its own, and does not look at the key. */
function aStoreWithIds(): Fake {
  return {
    ...aStore(),
    find(uid) {
      return Object.entries(this.buckets).find(([id]) => id.startsWith(uid))?.[1];
    },
    create(uid) {
      this.buckets[`${uid}/${Object.keys(this.buckets).length}`] = { versioned: false };
    },
    setVersioning(_, versioned) {
      for (const id of Object.keys(this.buckets)) this.buckets[id] = { versioned };
    },
    remove() {
      this.buckets = {};
    },
  };
}

const OF_DECISIONS: readonly Mistake[] = [
  [
    'a wait without a bound',
    deciding(({ observed }, next) =>
      observed ? undefined : next.wait('the bucket', { recheckAfter: 'Infinity' }),
    ),
    'it waits for the bucket without a bound',
  ],
  [
    'a decision by time alone',
    deciding(({ observed, nowMs, resource: { metadata, isBeingDeleted } }, next) => {
      const ageMs = nowMs - Date.parse(metadata.creationTimestamp ?? '');
      return observed && !isBeingDeleted && ageMs > 3_600_000
        ? next.converged('it is old', { notReady: { reason: 'Old', message: 'it is old', advice: [] } })
        : undefined;
    }),
    'it decides by time alone: after a day it answers updateStatus',
  ],
  [
    'a decision by the clock',
    deciding((_, next) => (Date.now() === 0 ? next.converged('it is 1970') : undefined)),
    'decide of bucket reads the clock, so that nobody can repeat its decision: use nowMs',
  ],
  [
    'a decision by chance',
    deciding((_, next) => (Math.random() < 0 ? next.converged('lucky') : undefined)),
    'decide of bucket reads Math.random()',
  ],
  [
    'data with the time in it',
    deciding(({ observed, nowMs, resource: { isBeingDeleted } }, next) =>
      observed?.versioned === false && !isBeingDeleted
        ? next.do.setVersioning('it is time', { to: true, at: nowMs } as { to: boolean })
        : undefined,
    ),
    'decide hands over the time to setVersioning, so that each attempt has other data',
  ],
  [
    'a decision by a variable',
    deciding((_, next) => ((created += 1) % 2 === 0 ? next.converged('every second time') : undefined)),
    'it keeps something in a variable',
  ],
  [
    'a decision that changes what it is given',
    deciding(({ resource }) => {
      resource.spec.versioned = true;
      return undefined;
    }),
    'decide of bucket changes what it is given',
  ],
  [
    'a decision that is none',
    // As in JavaScript.
    () => ({ decide: () => undefined as unknown as ReturnType<Decide> }),
    'decide answers undefined, and not with one of next',
  ],
  [
    'two steps that undo each other',
    deciding(({ observed }, next) => (observed ? next.do.remove('there is one too many') : undefined)),
    /(provision and remove|remove and provision) undo each other/,
  ],
];

const OF_STEPS: readonly Mistake[] = [
  [
    'a step that does not change what it was decided from',
    running('setVersioning', () => Promise.resolve()),
    'setVersioning runs again and again, and what it does never shows in what the controller observes',
  ],
  [
    'a create without a fixed name',
    writingJobs('provision', ({ kube }) =>
      kube.create(JOBS, { ...A_JOB, metadata: { generateName: 'backup-', namespace: 'default' } }),
    ),
    'it creates jobs without a name of its own',
  ],
  [
    'a create under a name of chance',
    writingJobs('provision', ({ kube }) =>
      kube.create(JOBS, { ...A_JOB, metadata: { name: crypto.randomUUID(), namespace: 'default' } }),
    ),
    'provision asks for something else where it runs again with the same answers',
  ],
  [
    'a create without the idempotency key',
    running('provision', ({ resource, store }) => store.create(resource.metadata.uid, '')),
    'create("uid-of-example", "") takes effect twice in a row',
    { outside: aStoreWithIds() },
  ],
  [
    'state in a variable',
    (its, store) =>
      running('provision', async ({ resource }) => {
        created += 1;
        if (created % 2 === 1) await store.create(resource.metadata.uid, '');
      })(its, store),
    'it keeps something in a variable',
  ],
  [
    'a status that is written before the effect',
    (its, store) => ({
      ...running('provision', async ({ resource, kube }) => {
        const { uid, resourceVersion, name, namespace } = resource.metadata;
        const at = { type: Bucket, namespace, name, subresource: 'status' as const };
        await kube.patch(at, { metadata: { uid, resourceVersion }, status: { url: 'store://created' } });
        await store.create(uid, '');
      })(its, store),
      ...deciding(({ resource: { status, isBeingDeleted } }, next) =>
        status.url === undefined || isBeingDeleted ? undefined : next.converged('the status has its URL'),
      )(its, store),
      status: ({ resource }) => resource.status,
    }),
    'it is not what it is where nothing fails on the way',
    { userEdits: {} },
  ],
  [
    'a delete of what its decision does not name',
    writingJobs('provision', ({ kube }) => kube.delete(AT_JOB, {} as { uid: string })),
    'step provision may not delete jobs/example-backup: its UID is not one of the 1 that `deletes` names',
  ],
  [
    'a delete of what belongs to somebody else',
    writingJobs('provision', async ({ kube }) => {
      const job = await kube.get(AT_JOB);
      if (job !== undefined) await kube.delete(AT_JOB, { uid: job.metadata.uid });
    }),
    "DELETE jobs/example-backup changes what is somebody else's",
    { objects: { 'jobs/example-backup': { ...A_JOB, metadata: { uid: BACKUP.uid } } } },
  ],
  [
    'a plain error for a request that is refused',
    (its) => its,
    'provision throws a plain error, which people read as a bug of the controller',
    {
      outside: {
        ...aStore(),
        create() {
          throw new Error('403 Forbidden');
        },
      },
    },
  ],
];

const OF_STORIES: readonly Mistake[] = [
  [
    'a create that is refused in every story',
    writingJobs('provision', ({ kube }) =>
      kube.create(JOBS, { ...A_JOB, metadata: { name: 'example-backup', namespace: 'default' } }),
    ),
    'not one story converges: in the end, provision fails, and is tried again and again',
    { objects: { 'jobs/example-backup': A_JOB }, userEdits: {} },
  ],
];

const OF_OBSERVATIONS: readonly Mistake[] = [
  [
    'a read without a right',
    () => ({ observe: ({ kube }) => kube.get(AT_JOB).then(() => undefined) }),
    "it has no right to get jobs of batch: add it to the permissions of the controller, allow(…, ['get'])",
  ],
  [
    'a list that ends with its first page',
    (_, store) => ({
      observe: async ({ resource: { metadata } }) => {
        const { items } = await (store as CallsOf<Fake>).list(0);
        return items.find(([uid]) => uid === metadata.uid)?.[1];
      },
    }),
    'provision runs again and again, and what it does never shows in what the controller observes',
    { outside: { ...aStore(), buckets: { "another's": { versioned: false } } } },
  ],
  [
    'an outside system that is away, and counts as empty',
    (_, store) => ({
      observe: ({ resource, signal }) => store.find(resource.metadata.uid, signal).catch(() => undefined),
    }),
    'the resource is gone, and outside stays buckets: ',
  ],
  [
    'a change outside that no watch shows',
    () => ({}),
    "nobody asks it again, since no watch shows changes outside: give it a pollInterval, such as '10m'",
    { externalChanges: { 'the store loses it': ({ outside }) => (outside.buckets = {}) } },
  ],
];

const OF_DELETIONS: readonly Mistake[] = [
  [
    'a create outside without a finalizer',
    // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
    ({ finalizer: _, ...its }) => ({ ...its, finalizer: undefined as unknown as string }),
    'it has no finalizer, which keeps the resource until its steps have cleaned up',
  ],
  [
    'a release without a look',
    deciding(({ resource }, next) =>
      resource.isBeingDeleted ? next.removeFinalizer('it is over') : undefined,
    ),
    'the resource is gone, and outside stays buckets: {"uid-of-example":{"versioned":false}}; the finalizer goes too early',
  ],
  [
    'a deletion that nobody decides',
    deciding(({ resource }, next) => (resource.isBeingDeleted ? next.converged('it is over') : undefined)),
    'the resource is being deleted, and decide answers next.converged: only next.removeFinalizer lets go',
  ],
];

describe('explore names the mistake:', () => {
  it.each([...OF_DECISIONS, ...OF_STEPS, ...OF_STORIES, ...OF_OBSERVATIONS, ...OF_DELETIONS])(
    '%s',
    async (_, change, found, scenario = {}) => {
      const controller = (store: Store): BucketController => {
        // It has both.
        const its = bucketIn(store) as Its;
        return { ...its, ...change(its, store) };
      };
      await expect(explore(controller, { ...SCENARIO, ...scenario })).rejects.toThrow(found);
    },
  );
});
