import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import {
  allow,
  CONFIG_MAPS,
  defineController,
  defineKind,
  type KubernetesObject,
  type ResourceOf,
} from 'durable-operator';
import { explore } from '../../testing/index.ts';
import { bucketIn } from '../support/bucket.ts';
import { aStore } from './store.ts';

jest.setTimeout(300_000);

const Backup = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Backup',
  description: 'A backup.',
  spec: z.object({ size: z.int().default(1) }),
  status: z.object({ startedAt: z.string().optional(), endedAtMs: z.number().optional() }),
});

const SETTINGS = { type: CONFIG_MAPS, namespace: 'default', name: 'settings' };

const AT_SETTINGS = { namespace: 'default', name: 'settings' };
const AT_BACKUP = { namespace: 'default', name: 'example' };

function sizeIn(object: KubernetesObject): string | undefined {
  return ((object['data'] ?? {}) as { readonly size?: string }).size;
}

/** Its size is in the settings. */
const SETTLED = defineController({
  name: 'backup',
  for: Backup,
  permissions: [allow(CONFIG_MAPS, ['get', 'patch'])],
  observe: ({ kube }) => kube.get(SETTINGS),
  steps: {
    note: {
      summary: 'note the size',
      external: false,
      run: async ({ resource: { spec }, observed, kube }) => {
        const data = { size: String(spec.size) };
        await kube.patch(SETTINGS, { metadata: { uid: observed?.metadata.uid ?? '' }, data });
        return 'noted the size';
      },
    },
  },
  decide({ resource: { isBeingDeleted, spec }, observed }, next) {
    const { size } = (observed?.['data'] ?? {}) as { readonly size?: string };
    return isBeingDeleted || size === String(spec.size)
      ? next.converged('the size is noted')
      : next.do.note('the size is another');
  },
});

describe('explore finds nothing wrong with', () => {
  it('times in the status, which differ from story to story', async () => {
    const backup = defineController({
      name: 'backup',
      for: Backup,
      decide({ resource: { status }, nowMs }, next) {
        if (status.startedAt === undefined)
          return next.record({ startedAt: new Date(nowMs).toISOString() }, next.converged('it starts'));
        return next.record({ endedAtMs: status.endedAtMs ?? nowMs }, next.converged('it has ended'));
      },
      status: ({ resource: { status } }) => status,
    });
    const { explored } = await explore(backup, { resource: { spec: {} } });
    expect(explored).toContain('late');
  });

  it('a stored spec that no longer fits, whatever the references make of it, also as it is deleted', async () => {
    const refers = ({ resource }: { readonly resource: ResourceOf<typeof Backup> }) => [
      { name: `settings-${resource.spec.size.toFixed()}` },
    ];
    const backup = defineController({
      name: 'backup',
      for: Backup,
      finalizer: 'example.com/backup',
      references: [{ ...CONFIG_MAPS, names: refers }],
      observe: () => Promise.resolve('something'),
      decide: ({ resource: { isBeingDeleted } }, next) =>
        isBeingDeleted ? next.removeFinalizer('nothing is left') : next.converged('it is there'),
    });
    const { explored } = await explore(backup, {
      resource: { spec: {} },
      userEdits: { 'it is of an older schema': ({ spec }) => Object.assign(spec, { size: 'large' }) },
    });
    expect(explored).toContain('it is of an older schema + somebody deletes the resource');
  });

  it('a repeated patch, which changes nothing', async () => {
    const { explored } = await explore(SETTLED, {
      resource: { spec: {} },
      objects: { 'configmaps/settings': { data: {} } },
      mayChange: ['configmaps/settings'],
    });
    expect(explored).toContain('abandon');
  });
});

describe('a controller is asked again', () => {
  it.each([
    [
      'an object that it refers to',
      { references: [{ ...CONFIG_MAPS, names: () => [{ name: 'settings' }] }] },
    ],
    [
      'an object that belongs to it',
      { owns: [{ ...CONFIG_MAPS, nameFor: () => AT_SETTINGS, ownerOf: () => AT_BACKUP, view: sizeIn }] },
    ],
    ['what it polls', { pollInterval: '10m' }],
  ])('by a change of %s', async (_, asking) => {
    const { explored } = await explore(
      defineController({ ...SETTLED, ...asking } as typeof SETTLED),
      {
        resource: { spec: {} },
        objects: { 'configmaps/settings': { data: { size: '1' } } },
        externalChanges: {
          'the size changes': ({ objects }) =>
            Object.assign(objects['configmaps/settings'] ?? {}, { data: {} }),
        },
        mayChange: ['configmaps/settings'],
      },
      { seconds: 200 },
    );
    expect(explored).toContain('the size changes');
  });
});

describe('a resource has the defaults of its schema', () => {
  it('in the end, and after an edit', async () => {
    const seen = new Set<unknown>();
    await explore(bucketIn, {
      resource: { spec: {} },
      outside: aStore(),
      userEdits: {
        'versioning is turned on': ({ spec }) => (spec.versioned = true),
        'nothing is said of it': ({ spec }) => Reflect.deleteProperty(spec, 'versioned'),
      },
      finally: ({ resource }) => {
        if (resource !== undefined) seen.add(resource.spec.versioned);
        return [];
      },
    });
    expect(seen).toEqual(new Set([false, true]));
  });
});
