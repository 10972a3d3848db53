import { z } from 'zod';
import { CONFIG_MAPS, DEPLOYMENTS, SERVICES } from '../../src/api/built-in.ts';
import { defineController, type ResourceOf } from '../../src/api/controller.ts';
import { defineKind } from '../../src/api/kind.ts';

export const Website = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  description: 'A website, served by a Deployment behind a Service.',
  spec: z.object({
    image: z.string().meta({ description: 'The image that serves it.' }),
    replicas: z.int().min(0).max(100).default(1),
    /** In library.md's example there always is one. */
    isPublic: z.boolean().default(true),
  }),
  status: z.object({ url: z.string().optional() }),
  columns: [{ name: 'URL', path: '.status.url' }],
});

type WebsiteResource = ResourceOf<typeof Website>;

/** What an author writes who declares objects. */
export const website = defineController({
  name: 'website',
  for: Website,
  owns: [DEPLOYMENTS, SERVICES],
  children: ({ resource }) => [deployment(resource), ...(resource.spec.isPublic ? [service(resource)] : [])],
  status: ({ resource: { metadata } }) => ({ url: `http://${metadata.name}.${metadata.namespace}.svc` }),
});

/** The same with an object in another namespace, which no owner reference can hold. */
export const publishedWebsite = defineController({
  name: 'website',
  for: Website,
  finalizer: 'example.com/website',
  owns: [CONFIG_MAPS],
  children: ({ resource: { metadata, spec } }) => [
    {
      ...{ apiVersion: 'v1', kind: 'ConfigMap' },
      metadata: { name: metadata.name, namespace: 'directory' },
      ...{ data: { image: spec.image } },
    },
  ],
});

/** The same, where the Deployment comes last. */
export const servedWebsite = defineController({
  name: 'website',
  for: Website,
  owns: [SERVICES, CONFIG_MAPS, DEPLOYMENTS],
  children: ({ resource }) => [
    service(resource),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: resource.metadata.name } },
    deployment(resource),
  ],
});

function deployment({ metadata: { name }, spec: { image, replicas } }: WebsiteResource) {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image }] } },
    },
  };
}

function service({ metadata: { name } }: WebsiteResource) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  };
}
