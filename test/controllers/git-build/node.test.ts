import { describe, expect, it } from '@jest/globals';
import { nodeState } from '../../../src/controllers/git-build/node.ts';
import { META } from '../../support/build-views.ts';

const nodeWith = (...conditions: object[]) => ({ metadata: META, status: { conditions } });

describe('a node', () => {
  it.each([
    ['gone where it is not found', undefined, 'gone'],
    ['there where it has reported nothing yet', { metadata: META }, 'there'],
    ['there where it is ready', nodeWith({ type: 'Ready', status: 'True' }), 'there'],
    [
      'not ready since it stopped reporting',
      nodeWith(
        { type: 'MemoryPressure', status: 'Unknown' },
        {
          type: 'Ready',
          status: 'Unknown',
          lastTransitionTime: '2026-11-21T11:00:00Z',
          message: 'Kubelet stopped posting node status.',
        },
      ),
      { notReady: 'Ready=Unknown since 2026-11-21T11:00:00Z: Kubelet stopped posting node status' },
    ],
  ] as const)('is %s', (_, node, state) => {
    expect(nodeState(node)).toEqual(state);
  });
});
