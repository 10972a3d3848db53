import { defineController, defineKind, DEPLOYMENTS, SERVICES, type ResourceOf } from 'durable-operator';
import { z } from 'zod';

export const Website = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  description: 'A website, served by a Deployment behind a Service.',
  spec: z.object({
    image: z.string().meta({ description: 'The image that serves it.' }),
    replicas: z.int().min(0).max(100).default(1),
  }),
  status: z.object({ url: z.string().optional() }),
  columns: [{ name: 'URL', path: '.status.url' }],
});

export const website = defineController({
  name: 'website',
  for: Website,
  owns: [DEPLOYMENTS, SERVICES],
  children: ({ resource }) => [deployment(resource), service(resource)],
  status: ({ resource: { metadata } }) => ({ url: `http://${metadata.name}.${metadata.namespace}.svc` }),
});

type WebsiteResource = ResourceOf<typeof Website>;

function deployment({ metadata: { name }, spec: { image, replicas } }: WebsiteResource) {
  const labels = { 'app.kubernetes.io/name': name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image, ports: [{ containerPort: 80 }] }] },
      },
    },
  };
}

function service({ metadata: { name } }: WebsiteResource) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { 'app.kubernetes.io/name': name }, ports: [{ port: 80 }] },
  };
}
