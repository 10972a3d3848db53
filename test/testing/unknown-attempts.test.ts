import { describe, expect, it, jest } from '@jest/globals';
import { allow, defineController, SECRETS } from 'durable-operator';
import { explore, type CallsOf } from '../../testing/index.ts';
import { checked } from '../../testing/checked.ts';
import { Outcomes } from '../../testing/ends.ts';
import type { Broken } from '../../testing/explorer/broken.ts';
import { exploreSystem } from '../../testing/explorer/explorer.ts';
import { OperatorModel } from '../../testing/explorer/operator.ts';
import { Fake } from '../../testing/outside.ts';
import { worldOf } from '../../testing/world.ts';
import { Bucket, bucketIn } from '../support/bucket.ts';
import { aStore } from './store.ts';

jest.setTimeout(120_000);

/** It gives each bucket an ID of its own, and the same one to the same key. */
function aStoreWithKeys() {
  return {
    ...aStore(),
    find(uid: string) {
      return Object.entries(this.buckets).find(([id]) => id.startsWith(uid))?.[1];
    },
    create(uid: string, key?: string) {
      this.buckets[`${uid}/${key ?? ''}`] ??= { versioned: false };
    },
    setVersioning(_: string, versioned: boolean) {
      for (const id of Object.keys(this.buckets)) this.buckets[id] = { versioned };
    },
    remove() {
      this.buckets = {};
    },
  };
}

/** It makes another bucket each time it is asked. */
function aStoreWithoutKeys() {
  return {
    ...aStoreWithKeys(),
    create(uid: string) {
      this.buckets[`${uid}/${Object.keys(this.buckets).length}`] = { versioned: false };
    },
  };
}

type AnyStore = ReturnType<typeof aStoreWithKeys>;

const scenario = (outside: AnyStore) => ({
  resource: { spec: {} },
  outside,
  finally: ({ outside: { buckets } }: { outside: { buckets: object } }) => [
    Object.keys(buckets).length > 1 && `there are ${Object.keys(buckets).length} buckets`,
  ],
});

const bucketsIn = (store: CallsOf<AnyStore>) => bucketIn(store);

/** All stories with one fault, where nothing else disturbs. */
async function explored(outside: AnyStore, fault: string, broken: Broken = {}): Promise<number> {
  const fake = new Fake(outside);
  const outcomes = new Outcomes();
  const its = checked(bucketsIn(fake.calls() as CallsOf<AnyStore>));
  const world = worldOf({ ...its, scenario: scenario(outside), fake, outcomes });
  const operator = new OperatorModel(world, {}, broken);
  const limits = { statesMax: 100_000, untilMs: Infinity };
  await exploreSystem(operator.disturbed({ slowness: 0, readsAtOnce: false }), limits);
  fake.isLearning = outcomes.isLearning = false;
  const system = operator.disturbed({ slowness: 1, budget: { [fault]: 1 }, readsAtOnce: true });
  return (await exploreSystem(system, limits)).states;
}

/** As if each attempt had been seen to end. */
const WAITS_FOR_NONE: Broken = {
  decide: (its) => (observation, nowMs, circumstances) =>
    its(observation, nowMs, circumstances && { ...circumstances, unknown: [] }),
};

describe('an outside system that makes another one each time', () => {
  it('is never asked twice at once: an attempt that was given up is waited for', async () => {
    expect(await explored(aStoreWithoutKeys(), 'abandon')).toBeGreaterThan(10);
  });

  it('makes two where nobody waits for that attempt', async () => {
    await expect(explored(aStoreWithoutKeys(), 'abandon', WAITS_FOR_NONE)).rejects.toThrow(
      /takes effect twice|there are 2 buckets/,
    );
  });
});

describe('an outside system that knows keys', () => {
  it('makes one, whatever is lost, late or repeated', async () => {
    const { explored: faults } = await explore(bucketsIn, scenario(aStoreWithKeys()));
    expect(faults).toEqual(expect.arrayContaining(['linger', 'crash', 'error', 'late']));
  });

  it('makes two where an attempt without a known result is repeated with another key', async () => {
    const broken: Broken = { run: { keepsKey: false } };
    await expect(explored(aStoreWithKeys(), 'linger', broken)).rejects.toThrow(
      /takes effect twice|there are 2 buckets/,
    );
  });
});

/** Nobody deletes it with its resource. */
const COPY = { type: SECRETS, namespace: 'vault', name: 'example' };

const copy = defineController({
  name: 'copy',
  for: Bucket,
  finalizer: 'example.com/copy',
  observe: ({ kube }) => kube.get(COPY),
  steps: {
    make: {
      ...{ summary: 'copy it', external: false },
      async run({ kube }) {
        await kube.create(SECRETS, { metadata: { name: COPY.name, namespace: COPY.namespace } });
        return 'copied it';
      },
    },
    remove: {
      ...{ summary: 'remove the copy', external: false },
      deletes: ({ observed }) => ({
        ...{ what: 'Secret', count: 1 },
        objects: () => (observed ? [observed.metadata] : []),
      }),
      async run({ kube, observed }) {
        await kube.delete(COPY, { uid: observed?.metadata.uid ?? '' });
        return 'removed the copy';
      },
    },
  },
  decide({ resource, observed }, next) {
    if (resource.isBeingDeleted)
      return observed ? next.do.remove('it is being deleted') : next.removeFinalizer('nothing is left');
    return observed ? next.converged('it is copied') : next.do.make('there is no copy');
  },
  permissions: [allow(SECRETS, ['get', 'create', 'delete'])],
});

it('an object without an owner reference is waited for before its resource goes', async () => {
  await explore(copy, {
    resource: { spec: {} },
    finally: ({ resource, objects }) => [
      resource === undefined && Object.keys(objects).length > 0 && 'a copy is left',
    ],
  });
});
