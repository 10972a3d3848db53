import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  allow,
  CONFIG_MAPS,
  defineController,
  defineKind,
  DEPLOYMENTS,
  PODS,
  type Kube,
  type KubernetesObject,
  type ResourceOf,
} from '../../src/api/index.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { explore, type AnyObject, type Scenario } from '../../testing/index.ts';

const Sleep = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Sleep', description: 'An app that sleeps.' },
  spec: z.object({ app: z.string() }),
});

interface Found {
  readonly flags?: KubernetesObject | undefined;
  readonly deployment?: KubernetesObject | undefined;
  readonly pods: readonly KubernetesObject[];
}

type Act = (
  given: { readonly kube: Kube; readonly resource: ResourceOf<typeof Sleep> },
  found: Found,
) => Promise<unknown>;

/** What it does in each of its steps. */
const ACTS = {
  announce: ({ kube, resource }, { flags }) =>
    kube.apply(
      CONFIG_MAPS,
      {
        metadata: { ...placeOf(resource), name: 'flags', uid: flags?.metadata.uid },
        data: { sleeps: 'yes' },
      },
      { force: true },
    ),
  scale: ({ kube, resource }, { deployment }) =>
    kube.scale(
      { type: DEPLOYMENTS, ...placeOf(resource), name: 'web' },
      { uid: deployment?.metadata.uid ?? '', replicas: 0 },
    ),
  evict: async ({ kube }, { pods }) => {
    for (const { metadata } of pods) await kube.evict(metadata, { uid: metadata.uid });
  },
} satisfies Record<string, Act>;

function placeOf({ metadata: { namespace } }: KubernetesObject) {
  return { namespace };
}

/** Says in a ConfigMap that an app sleeps, scales its Deployment to 0, and evicts the Pods that are left. */
function sleep(acts: Partial<Record<keyof typeof ACTS, Act>> = {}, given: object = {}) {
  const step = (name: keyof typeof ACTS) => ({
    summary: name,
    external: false,
    run: async (context: Parameters<Act>[0], found: Found) => {
      await (acts[name] ?? ACTS[name])(context, found);
      return `did ${name}`;
    },
  });
  return defineController({
    name: 'sleep',
    for: Sleep,
    permissions: [
      allow(CONFIG_MAPS, ['get', 'create', 'patch']),
      allow(DEPLOYMENTS, ['get']),
      allow(DEPLOYMENTS, ['patch'], { subresource: 'scale' }),
      allow(PODS, ['list']),
      allow(PODS, ['create'], { subresource: 'eviction' }),
    ],
    pollInterval: '10m',
    observe: async ({
      kube,
      resource: {
        metadata: { namespace },
        spec,
      },
    }): Promise<Found> => ({
      flags: await kube.get({ type: CONFIG_MAPS, namespace, name: 'flags' }),
      deployment: await kube.get({ type: DEPLOYMENTS, namespace, name: spec.app }),
      pods: await kube.list(PODS, { ...(namespace && { namespace }), labelSelector: `app=${spec.app}` }),
    }),
    steps: {
      announce: step('announce'),
      scale: step('scale'),
      evict: {
        ...step('evict'),
        deletes: (_, { pods }: Found) => ({
          ...{ what: 'Pod', count: pods.length },
          objects: () => pods.map(({ metadata }) => metadata),
        }),
      },
    },
    decide({ observed, resource: { isBeingDeleted } }, next) {
      if (isBeingDeleted) return next.converged('it is being deleted');
      const { flags, deployment, pods } = observed;
      const { sleeps } = (flags?.['data'] ?? {}) as { readonly sleeps?: string };
      if (sleeps !== 'yes') return next.do.announce('nobody says that it sleeps', observed);
      const { replicas } = (deployment?.['spec'] ?? {}) as { readonly replicas?: number };
      if (deployment !== undefined && replicas !== 0) return next.do.scale('it is to sleep', observed);
      if (pods.length > 0) return next.do.evict('they are awake', observed);
      return next.converged('it sleeps');
    },
    ...given,
  });
}

const world = {
  resource: { spec: { app: 'web' } },
  objects: {
    'configmaps/flags': { data: { sleeps: 'no' } },
    'deployments/web': { spec: { replicas: 3 } },
    'pods/web-1': { metadata: { labels: { app: 'web' } } },
    'poddisruptionbudgets/web': {
      ...{ spec: { selector: { matchLabels: { app: 'web' } } }, status: { disruptionsAllowed: 0 } },
    },
  },
  mayChange: ['configmaps/flags', 'deployments/web', 'pods/web-1'],
};

const COUNTS = {
  'the disruption controller counts': ({
    objects,
  }: {
    readonly objects: Record<string, AnyObject | undefined>;
  }) => {
    const budget = objects['poddisruptionbudgets/web'];
    if (budget !== undefined) budget['status'] = { disruptionsAllowed: 1 };
  },
};

const scenario: Scenario<ReturnType<typeof sleep>, object> = {
  ...world,
  happens: COUNTS,
  externalChanges: {
    'somebody scales it': ({ objects }) =>
      (objects['deployments/web'] = { ...objects['deployments/web'], spec: { replicas: 1 } }),
    'somebody makes the ConfigMap anew': ({ objects }) =>
      (objects['configmaps/flags'] = { metadata: { uid: 'uid-of-another' }, data: {} }),
  },
  finally: ({ resource, objects }) =>
    resource === undefined
      ? []
      : [
          objects['pods/web-1'] && 'a Pod is awake',
          fieldsOf(objects['deployments/web']?.['spec'])['replicas'] !== 0 && 'it is not scaled',
          fieldsOf(objects['configmaps/flags']?.['data'])['sleeps'] !== 'yes' && 'nobody says it',
        ],
};

describe('what steps apply, scale and evict', () => {
  it('comes to the same end whatever is lost, late or repeated, once a PodDisruptionBudget allows it', async () => {
    const { explored } = await explore(sleep(), scenario);
    expect(explored).toEqual(expect.arrayContaining(['crash', 'error', 'linger', 'late']));
  });

  it.each<[what: string, mistake: ReturnType<typeof sleep>, found: RegExp, more: object]>([
    [
      'applies what it takes for new, and is there',
      sleep({
        announce: ({ kube, resource }) =>
          kube.apply(CONFIG_MAPS, {
            metadata: { ...placeOf(resource), name: 'flags' },
            data: { sleeps: 'yes' },
          }),
      }),
      /in the end, .*nobody says it[^]*announce: PATCH configmaps\/flags/,
      {},
    ],
    [
      'applies a field of another manager without force',
      sleep({
        announce: ({ kube, resource }, { flags }) =>
          kube.apply(CONFIG_MAPS, {
            metadata: { ...placeOf(resource), name: 'flags', uid: flags?.metadata.uid },
            data: { sleeps: 'yes' },
          }),
      }),
      /in the end, .*nobody says it[^]*announce: PATCH configmaps\/flags/,
      {},
    ],
    ['may never evict', sleep(), /in the end, a Pod is awake/, { happens: {} }],
    [
      'has no right to evict',
      sleep({}, { permissions: sleep().permissions?.slice(0, -1) }),
      /it has no right to create pods\/eviction: .*allow\(…, \['create'\]\)/,
      {},
    ],
    [
      'does not say that it deletes Pods',
      sleep({}, { steps: { ...sleep().steps, evict: { ...sleep().steps?.evict, deletes: undefined } } }),
      /step evict calls kube.delete or kube.evict, but does not declare `deletes`/,
      {},
    ],
  ])('finds the mistake of a controller that %s', async (_, mistake, found, more) => {
    await expect(explore(mistake, { ...scenario, externalChanges: {}, ...more })).rejects.toThrow(found);
  });
});

describe('never', () => {
  /** A Deployment makes anew whatever is evicted while it is not scaled down. */
  const never: Scenario<ReturnType<typeof sleep>, object>['never'] = ({ verb }, { objects, isUndisturbed }) =>
    isUndisturbed &&
    verb === 'delete' &&
    fieldsOf(objects['deployments/web']?.['spec'])['replicas'] !== 0 &&
    'a Pod is evicted that comes again';

  it('is given what each write requires and sends, and what was there before it', async () => {
    const judged = new Map<string, unknown>();
    await explore(sleep(), {
      ...{ ...scenario, externalChanges: {} },
      never({ verb, plural, name, ...more }, { objects }) {
        if (plural === 'sleeps') return;
        const { spec, data } = objects[`${plural}/${name}`] ?? {};
        judged.set(`${verb} ${plural}/${name}`, { ...more, was: (spec ?? data) as unknown });
      },
    });
    expect(Object.fromEntries(judged)).toEqual({
      'apply configmaps/flags': {
        namespace: 'default',
        uid: 'uid-of-configmaps-flags',
        object: expect.objectContaining({ data: { sleeps: 'yes' } }) as object,
        was: { sleeps: 'no' },
      },
      'scale deployments/web': {
        namespace: 'default',
        uid: 'uid-of-deployments-web',
        object: expect.objectContaining({ spec: { replicas: 0 } }) as object,
        was: { replicas: 3 },
      },
      'delete pods/web-1': { namespace: 'default', uid: 'uid-of-pods-web-1', was: undefined },
    });
  });

  it('excuses what others have changed meanwhile', async () => {
    const { explored } = await explore(sleep(), { ...scenario, never });
    expect(explored).toContain('somebody scales it');
  });

  it('finds a write that is mended in the end, and tells the shortest story', async () => {
    const decide: NonNullable<ReturnType<typeof sleep>['decide']> = (facts, next) => {
      const { resource, observed } = facts as { resource: ResourceOf<typeof Sleep>; observed: Found };
      return observed.pods.length > 0 && !resource.isBeingDeleted
        ? next.do.evict('they are awake', observed)
        : (sleep().decide?.(facts, next) ?? next.converged('it sleeps'));
    };
    const tooEarly = explore(sleep({}, { decide }), { ...scenario, externalChanges: {}, never });
    await expect(tooEarly).rejects.toThrow(
      /^sleep: POST web-1\/eviction: a Pod is evicted that comes again\n +1\. it begins\n[^]*evict: POST web-1\/eviction/,
    );
  });
});
