import { describe, expect, it } from '@jest/globals';
import { resourcePath } from '../../src/kubernetes/paths.ts';

const PODS = { group: '', version: 'v1', plural: 'pods' };
const JOBS = { group: 'batch', version: 'v1', plural: 'jobs' };

describe('resourcePath', () => {
  it.each([
    [PODS, {}, '/api/v1/pods'],
    [
      JOBS,
      { namespace: 'x', name: 'web', subresource: 'status' },
      '/apis/batch/v1/namespaces/x/jobs/web/status',
    ],
    [{ group: '', version: 'v1', plural: 'namespaces' }, { name: 'team-1' }, '/api/v1/namespaces/team-1'],
  ])('of %j at %j is %s', (type, location, path) => {
    expect(resourcePath(type, location)).toBe(path);
  });

  it('never lets a name lead elsewhere', () => {
    expect(resourcePath(PODS, { namespace: 'a', name: '../x?y' })).toBe(
      '/api/v1/namespaces/a/pods/..%2Fx%3Fy',
    );
  });

  it.each(['', '.', '..'])('is refused for the name %j, which leads elsewhere', (name) => {
    expect(() => resourcePath(PODS, { namespace: 'a', name })).toThrow(
      `pods: a name is needed, but it is "${name}"`,
    );
    expect(() => resourcePath(PODS, { namespace: name })).toThrow('a name is needed');
  });
});
