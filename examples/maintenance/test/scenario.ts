import type { AnyObject, Scenario } from 'durable-operator/testing';
import type { maintenance } from '../src/maintenance.ts';

/** A Pod on the Node, whose PodDisruptionBudget does not allow its eviction for a while. */
export const scenario: Scenario<typeof maintenance, object> = {
  resource: { spec: { node: 'node-1' } },
  objects: {
    'nodes/node-1': { spec: {} },
    'pods/web-1': { metadata: { labels: { app: 'web' } }, spec: { nodeName: 'node-1' } },
    'poddisruptionbudgets/web': {
      ...{ spec: { selector: { matchLabels: { app: 'web' } } }, status: { disruptionsAllowed: 0 } },
    },
  },
  mayChange: ['nodes/node-1', 'pods/web-1'],
  happens: {
    'another Pod of the app is ready': ({ objects }) => {
      const budget = objects['poddisruptionbudgets/web'];
      if (budget !== undefined) budget['status'] = { disruptionsAllowed: 1 };
    },
  },
  outcome: ({ resource, objects }) => ({ isThere: resource !== undefined, isCordoned: isCordoned(objects) }),
  finally: ({ resource, objects }) => [
    resource && objects['pods/web-1'] && 'a Pod is left on the Node',
    !resource && isCordoned(objects) && 'the Node is still cordoned',
  ],
};

function isCordoned(objects: Readonly<Record<string, AnyObject | undefined>>): boolean {
  const { spec } = objects['nodes/node-1'] as { readonly spec?: { readonly unschedulable?: boolean } };
  return spec?.unschedulable === true;
}
