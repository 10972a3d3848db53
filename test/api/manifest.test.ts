import { expect, it } from '@jest/globals';
import type { ChildManifest } from '../../src/api/child.ts';
import type { Manifest } from '../../src/api/manifest.ts';

/** What does not compile here is an error of `npm run types`. */

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'web' }] },
};
const selector = { matchLabels: { app: 'web' } };

it('a typo in a manifest of a kind of Kubernetes does not compile', () => {
  const deployment: Manifest<'Deployment'> = {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
    spec: { replicas: 1, selector, template },
  };
  const declared: readonly ChildManifest[] = [deployment];
  expect(declared).toHaveLength(1);
  const typo: Manifest<'Deployment'> = {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
    // @ts-expect-error -- there is no such field
    spec: { selector, templat: template },
  };
  // @ts-expect-error -- it is of another group
  const group: Manifest<'Deployment'>['apiVersion'] = 'v1';
  // @ts-expect-error -- a port is a number
  const port: Manifest<'Service'>['spec'] = { ports: [{ port: '80' }] };
  expect([typo, group, port]).toHaveLength(3);
});

it('fields that hold a time or whatever else are as JSON has them', () => {
  const pod: Manifest<'Pod'>['spec'] = { containers: [{ name: 'web', resources: { limits: { cpu: '1' } } }] };
  const lease: Manifest<'Lease'>['spec'] = { renewTime: '2026-11-28T00:00:00.000000Z' };
  const budget: Manifest<'PodDisruptionBudget'>['spec'] = { minAvailable: '50%' };
  // @ts-expect-error -- it is no date
  const date: Manifest<'Lease'>['spec'] = { renewTime: new Date(0) };
  expect([pod, lease, budget, date]).toHaveLength(4);
});
