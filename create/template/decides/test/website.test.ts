import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decisions, explore } from 'durable-operator/testing';
import { websiteController } from '../src/website.ts';

const { of, status } = decisions(websiteController);

// A resource as a person writes it, and a page that is there.
const resource = { spec: { text: 'Hello' } };
function aPage(text: string, ownerUid = 'uid-of-example') {
  const owner = { apiVersion: 'example.com/v1', kind: 'Website', name: 'example', uid: ownerUid };
  const metadata = { name: 'example', uid: '1', resourceVersion: '1', ownerReferences: [owner] };
  return { metadata, data: { text } };
}

describe('website', () => {
  it('creates a page if there is none', () => {
    assert.deepEqual(of(resource, undefined), { do: 'createPage', because: 'there is no page' });
  });

  it('changes a page that says something else', () => {
    assert.equal(of(resource, aPage('Goodbye')).do, 'changePage');
  });

  it('leaves a page alone that says what it should', () => {
    assert.equal(of(resource, aPage('Hello')).do, 'converged');
  });

  it('stalls if the ConfigMap belongs to somebody else', () => {
    assert.equal(of(resource, aPage('Hello', 'another')).do, 'stalled');
  });

  it('names the page in the status', () => {
    assert.deepEqual(status(resource, aPage('Hello')), { page: 'example' });
  });

  // Crashes, lost answers, edits and deletions at every moment.
  it('does what it should in every order of events', async () => {
    await explore(websiteController, {
      ...{ resource },
      userEdits: { 'the text is changed': ({ spec }) => (spec.text = 'Goodbye') },
      externalChanges: { 'somebody removes the page': ({ objects }) => delete objects['configmaps/example'] },
    });
  });
});
