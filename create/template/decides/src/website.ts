import {
  allow,
  CONFIG_MAPS,
  defineController,
  defineKind,
  controllerReference,
  type KubernetesObject,
} from 'durable-operator';
import { z } from 'zod';

// The kind, described once: its schema in the cluster, its types here, its columns in kubectl.
export const Website = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  description: 'A page of text in a ConfigMap.',
  spec: z.object({
    text: z.string().max(10_000).meta({ description: 'What the page says.' }),
  }),
  status: z.object({
    page: z.string().optional().meta({ description: 'The name of the ConfigMap.' }),
  }),
});

interface Page extends KubernetesObject {
  readonly data?: { readonly text?: string };
}

export const websiteController = defineController({
  name: 'website',
  for: Website,

  // What observe and the steps may do in the cluster. The operator gets these rights, and no others: npm run generate.
  permissions: [allow(CONFIG_MAPS, ['get', 'create', 'patch'])],

  // Reads what decisions are made from. Undefined: there is no page.
  observe: ({ resource: { metadata }, kube }) => kube.get<Page>({ ...metadata, type: CONFIG_MAPS }),

  // Somebody may delete the page, and no watch shows it.
  pollInterval: '1m',

  // The next step, or why there is none. Pure: it is asked before each attempt of a step, and after it.
  decide({ resource, observed: page }, next) {
    if (!page) return next.do.createPage('there is no page');
    if (page.metadata.ownerReferences?.[0]?.uid !== resource.metadata.uid)
      return next.stalled({
        reason: 'NameTaken',
        message: 'a ConfigMap of this name belongs to somebody else',
        advice: ['choose another name'],
      });
    if (page.data?.text !== resource.spec.text) return next.do.changePage('the text is another');
    return next.converged('the page says what it should');
  },

  // A step may be attempted twice. It is done when decide no longer asks for it.
  steps: {
    createPage: {
      summary: 'create the page',
      external: false,
      run: async ({ resource, kube }) => {
        const { name, namespace } = resource.metadata;
        const metadata = { name, namespace, ownerReferences: [controllerReference(resource)] };
        await kube.create(CONFIG_MAPS, { metadata, data: { text: resource.spec.text } });
        return 'created the page';
      },
    },
    changePage: {
      summary: 'change the page',
      external: false,
      run: async ({ resource: { metadata, spec }, observed: page, kube }) => {
        // Fails if somebody has changed the page since it was observed; then it is observed again.
        const { resourceVersion = '' } = page?.metadata ?? {};
        await kube.patch(
          { ...metadata, type: CONFIG_MAPS },
          { metadata: { resourceVersion }, data: { text: spec.text } },
        );
        return 'changed the page';
      },
    },
  },

  // Your own fields of the status. Ready and its reasons are written for you.
  status: ({ observed: page }) => ({ page: page?.metadata.name }),
});
