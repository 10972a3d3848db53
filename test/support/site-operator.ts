import { z } from 'zod';
import { allow, CONFIG_MAPS, defineController, defineKind, NAMESPACES, operator } from '../../src/index.ts';
import type { KubernetesObject } from '../../src/index.ts';

export const Site = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Site', description: 'A site.' },
  spec: z.object({
    text: z.string().meta({ description: 'What it says.' }),
    tier: z.string().optional().meta({ description: 'Default: that of its Namespace.' }),
  }),
  status: z.object({ configMap: z.string().optional() }),
});

const site = defineController({
  name: 'site',
  for: Site,
  owns: [CONFIG_MAPS],
  children: ({ resource: { metadata, spec } }) => [
    {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `site-${metadata.name}` } },
      data: { text: spec.text, tier: spec.tier ?? 'none' },
    },
  ],
  status: ({ resource: { metadata } }) => ({ configMap: `site-${metadata.name}` }),
});

/** Fills in what the spec leaves open. */
const siteDefaults = defineController({
  name: 'site-defaults',
  for: Site,
  finalizer: 'example.com/site-defaults',
  permissions: [allow(NAMESPACES, ['get']), allow(CONFIG_MAPS, ['get', 'delete']), allow(Site, ['patch'])],
  observe: async ({ resource: { metadata }, kube }) => {
    const namespace = await kube.get({ type: NAMESPACES, name: metadata.namespace ?? '' });
    const tier = namespace?.metadata.labels?.['example.com/tier'] ?? 'free';
    const at = { type: CONFIG_MAPS, namespace: metadata.namespace, name: `old-${metadata.name}` };
    return { tier, old: await kube.get(at, { metadataOnly: true }) };
  },
  observeInPlan: true,
  steps: {
    tidy: {
      summary: 'delete the ConfigMap of an earlier version',
      external: false,
      deletes: (_, old: KubernetesObject['metadata']) => ({
        ...{ what: 'ConfigMap', count: 1, objects: () => [old], approval: 'required' },
      }),
      run: async ({ kube }, { namespace, name, uid }: KubernetesObject['metadata']) => {
        await kube.delete({ type: CONFIG_MAPS, namespace, name }, { uid });
        return `deleted ConfigMap ${name}`;
      },
    },
    fill: {
      summary: 'fill in the tier',
      external: false,
      run: async ({ kube, resource: { metadata } }, { tier }: { readonly tier: string }) => {
        const { namespace, name, resourceVersion } = metadata;
        await kube.patch({ type: Site, namespace, name }, { metadata: { resourceVersion }, spec: { tier } });
        return `filled in tier ${tier}`;
      },
    },
  },
  decide({ resource: { spec, isBeingDeleted }, observed: { tier, old } }, next) {
    if (isBeingDeleted) return next.removeFinalizer('nothing is left');
    if (old !== undefined) return next.do.tidy('nothing uses it any more', old.metadata);
    if (spec.tier === undefined) return next.do.fill('the spec names no tier', { tier });
    return next.converged('the spec names a tier');
  },
});

export const siteControllers = [site, siteDefaults];

if (import.meta.main) await operator({ name: 'site-operator', controllers: siteControllers }).main();
