import {
  defineController,
  defineKind,
  DEPLOYMENTS,
  SECRETS,
  SERVICES,
  type Manifest,
  type ReferencedObject,
  type ResourceOf,
} from 'durable-operator';
import { z } from 'zod';

export const Website = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  description: 'A website, served by a Deployment behind a Service.',
  spec: z.object({
    image: z.string().meta({ description: 'The image that serves it.' }),
    replicas: z.int().min(0).max(100).default(1),
    environment: z.string().optional().meta({ description: 'A Secret with environment variables.' }),
  }),
  status: z.object({ url: z.string().optional() }),
  columns: [{ name: 'URL', path: '.status.url' }],
});

export const website = defineController({
  name: 'website',
  for: Website,
  references: [
    {
      ...SECRETS,
      names: ({ resource: { spec } }) => (spec.environment === undefined ? [] : [{ name: spec.environment }]),
    },
  ],
  owns: [DEPLOYMENTS, SERVICES],
  children: ({ resource, references: [secret] }) => [deployment(resource, secret), service(resource)],
  status: ({ resource: { metadata } }) => ({ url: `http://${metadata.name}.${metadata.namespace}.svc` }),
});

type WebsiteResource = ResourceOf<typeof Website>;

function deployment(
  { metadata: { name }, spec: { image, replicas } }: WebsiteResource,
  secret?: ReferencedObject,
): Manifest<'Deployment'> {
  const labels = { 'app.kubernetes.io/name': name };
  // With another version of the Secret in it, the template is another one, so that new Pods read it.
  const environment = secret && { annotations: { 'example.com/environment': secret.resourceVersion ?? '' } };
  const envFrom = secret && { envFrom: [{ secretRef: { name: secret.name } }] };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...environment },
        spec: { containers: [{ name: 'web', image, ports: [{ containerPort: 80 }], ...envFrom }] },
      },
    },
  };
}

function service({ metadata: { name } }: WebsiteResource): Manifest<'Service'> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { 'app.kubernetes.io/name': name }, ports: [{ port: 80 }] },
  };
}
