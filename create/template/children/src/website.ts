import {
  DEPLOYMENTS,
  defineController,
  defineKind,
  SERVICES,
  type Manifest,
  type ResourceOf,
} from 'durable-operator';
import { z } from 'zod';

// The kind, described once: its schema in the cluster, its types here, its columns in kubectl.
export const Website = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  description: 'A Deployment behind a Service.',
  spec: z.object({
    image: z.string().meta({ description: 'The image that serves it.' }),
    replicas: z.int().min(0).max(100).default(1).meta({ description: 'The number of its Pods.' }),
  }),
  status: z.object({
    url: z.string().optional().meta({ description: 'Where it is in the cluster.' }),
  }),
  columns: [{ name: 'URL', path: '.status.url', description: 'Where it is in the cluster.' }],
});

export const websiteController = defineController({
  name: 'website',
  for: Website,

  // The types of the objects below. The operator gets the rights that it needs for them, and no others: npm run generate.
  owns: [DEPLOYMENTS, SERVICES],

  // The objects that there are to be. They are created, changed and deleted for you, and Ready says whether they are well.
  children: ({ resource }) => [deployment(resource), service(resource)],

  // Your own fields of the status. Ready and its reasons are written for you.
  status: ({ resource: { metadata } }) => ({ url: `http://${metadata.name}.${metadata.namespace}.svc` }),
});

// `satisfies` says which fields there are: a typo does not compile.
export function deployment({ metadata: { name }, spec: { image, replicas } }: ResourceOf<typeof Website>) {
  const labels = { app: name };
  const containers = [{ name: 'web', image, ports: [{ containerPort: 80 }] }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  } satisfies Manifest<'Deployment'>;
}

export function service({ metadata: { name } }: ResourceOf<typeof Website>) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  } satisfies Manifest<'Service'>;
}
