import { describe, expect, it } from '@jest/globals';
import { isEqual, isOfCluster } from '../../src/runs/search-attributes.ts';

describe('a value in a list filter', () => {
  it.each([
    ['plain', `TaskQueue = 'plain'`],
    ["it's", `TaskQueue = 'it''s'`],
    ["x' OR TaskQueue != 'y", `TaskQueue = 'x'' OR TaskQueue != ''y'`],
    ['a\\', `TaskQueue = 'a\\\\'`],
  ])('is quoted: %j', (value, filter) => {
    expect(isEqual('TaskQueue', value)).toBe(filter);
  });

  it('is quoted where it names a cluster, too', () => {
    expect(isOfCluster({ name: "it's", uid: 'u' })).toBe(`(Cluster IN ('it''s', 'u') OR Cluster IS NULL)`);
  });
});
