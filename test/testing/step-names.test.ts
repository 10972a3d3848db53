import { describe, expect, it, jest } from '@jest/globals';
import { allow, defineController, PODS, type Kube, type ViewedObject } from 'durable-operator';
import { decisions, explore } from '../../testing/index.ts';
import { bucketIn, type Store } from '../support/bucket.ts';
import { aStore } from './store.ts';

jest.setTimeout(300_000);

type BucketController = ReturnType<typeof bucketIn>;
type Its = BucketController & { readonly steps: NonNullable<BucketController['steps']> };

/** As `bucketIn`, with other names for its steps. */
function renamed(store: Store) {
  const bucket = bucketIn(store) as Its;
  const { provision, setVersioning, remove } = bucket.steps;
  return defineController({
    ...bucket,
    pollInterval: '10m',
    steps: { converged: provision, wait: setVersioning, stalled: remove },
    decide({ resource: { spec, isBeingDeleted }, observed }, next) {
      if (isBeingDeleted)
        return observed ? next.do.stalled('it is being deleted') : next.removeFinalizer('no bucket is left');
      if (!observed) return next.do.converged('there is no bucket');
      if (observed.versioned !== spec.versioned)
        return next.do.wait('the spec asks for it', { to: spec.versioned });
      return next.converged('the bucket is as specified');
    },
  });
}

interface Running {
  readonly resource: ViewedObject<unknown>;
  readonly kube: Kube;
}

const LABEL = {
  summary: 'label it',
  run: async ({ resource: { metadata }, kube }: Running) => {
    const { namespace, name, resourceVersion } = metadata;
    await kube.patch(
      { type: PODS, namespace, name },
      { metadata: { resourceVersion, labels: { team: 'a' } } },
    );
    return 'labelled it';
  },
};

/** Of a type that is not of `defineKind`: the watcher itself decides on its step. */
function labelling(step: string) {
  return defineController({
    name: 'labelling',
    for: PODS,
    view: ({ metadata: { labels = {} } }) => ({ team: labels['team'] }),
    permissions: [allow(PODS, ['patch'])],
    steps: Object.fromEntries([[step, LABEL]]),
    decide: ({ resource: { view, isBeingDeleted } }, next) =>
      view.team === 'a' || isBeingDeleted
        ? next.converged('it has its label')
        : (Object.values(next.do)[0]?.('it has no label') ?? next.converged('there is no step')),
  });
}

describe('steps may be named like any word of decisions', () => {
  it('about something outside of the cluster', async () => {
    const scenario = {
      resource: { spec: { versioned: false } },
      outside: aStore(),
      userEdits: {
        'versioning is turned on': ({ spec }: { spec: { versioned?: boolean } }) => (spec.versioned = true),
      },
    };
    const { explored } = await explore(renamed, scenario, { seconds: 60 });
    expect(explored).toEqual(expect.arrayContaining(['nothing', 'crash']));
  });

  it.each(['converged', 'wait', 'stalled', 'held', 'record', 'constructor'] as const)(
    'on a type that is not ours: %s',
    async (step) => {
      const { explored } = await explore(labelling(step), {
        resource: { spec: {} },
        finally: ({ resource }) => [
          resource && resource.metadata.labels?.['team'] !== 'a' && 'it has no label',
        ],
      });
      expect(explored).toEqual(expect.arrayContaining(['nothing', 'crash']));
    },
  );

  it('and tables of decisions tell the two', () => {
    const { of } = decisions(labelling('converged'));
    expect(of({}, undefined)).toEqual({ do: 'converged', because: 'it has no label', isStep: true });
    expect(of({ metadata: { labels: { team: 'a' } } }, undefined)).toEqual({
      do: 'converged',
      because: 'it has its label',
    });
  });
});
