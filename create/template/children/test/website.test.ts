import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explore } from 'durable-operator/testing';
import { deployment, service, websiteController, Website } from '../src/website.ts';

// A resource as the controller gets it: with the defaults of its schema.
function aWebsite(spec: { image: string; replicas?: number }) {
  const metadata = { name: 'shop', namespace: 'default', uid: '1', resourceVersion: '1' };
  return { metadata, spec: Website.spec.parse(spec), status: {}, isBeingDeleted: false };
}

describe('website', () => {
  it('runs the image in one Pod if nobody asks for more', () => {
    const { replicas, template } = deployment(aWebsite({ image: 'nginx' })).spec;
    assert.equal(replicas, 1);
    assert.equal(template.spec.containers[0]?.image, 'nginx');
  });

  it('runs as many Pods as its spec says', () => {
    assert.equal(deployment(aWebsite({ image: 'nginx', replicas: 3 })).spec.replicas, 3);
  });

  it('has a Service that selects its Pods', () => {
    const resource = aWebsite({ image: 'nginx' });
    assert.deepEqual(service(resource).spec.selector, deployment(resource).spec.template.metadata.labels);
  });

  // Crashes, lost answers, edits and deletions at every moment.
  it('does what it should in every order of events', async () => {
    await explore(websiteController, {
      resource: { spec: { image: 'nginx' } },
      userEdits: { 'more Pods are wanted': ({ spec }) => (spec.replicas = 2) },
    });
  });
});
