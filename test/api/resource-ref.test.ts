import { describe, expect, it } from '@jest/globals';
import {
  controllerOfWorkflow,
  displayName,
  placeOfWorkflow,
  workflowIdFor,
} from '../../src/api/resource-ref.ts';

const uid = '12345678-1234-1234-1234-123456789012';
const longest = {
  controller: 'namespace-role-binding',
  namespace: 'n'.repeat(63),
  name: 'x'.repeat(253),
  uid,
};

describe('a workflow id', () => {
  it('says whose it is', () => {
    const id = workflowIdFor({ controller: 'pod-set', namespace: 'shop', name: 'web', uid });
    expect(id).toBe(`pod-set/shop/web/${uid}`);
    expect(controllerOfWorkflow(id)).toBe('pod-set');
    expect(placeOfWorkflow(id)).toBe('pod-set/shop');
  });

  it('fits the column of Temporal’s databases, and is still that of one resource', () => {
    const id = workflowIdFor(longest);
    expect(id).toHaveLength(255);
    expect(id).toMatch(/^namespace-role-binding\/n{63}\/x+~\//);
    expect(id.endsWith(`/${uid}`)).toBe(true);
    expect(workflowIdFor({ ...longest, uid: uid.replace('1', '9') })).not.toBe(id);
  });

  it('is left as it is where it just fits', () => {
    const name = 'x'.repeat(255 - workflowIdFor({ ...longest, name: '' }).length);
    expect(workflowIdFor({ ...longest, name })).toContain(`/${name}/`);
  });
});

describe('a resource is called', () => {
  it.each([
    ['shop/web', 'shop', 'web'],
    ['team-1', 'team-1', 'team-1'],
  ])('%s', (called, namespace, name) => {
    expect(displayName({ controller: 'pod-set', namespace, name, uid })).toBe(called);
  });
});
