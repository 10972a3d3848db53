import { describe, expect, it } from '@jest/globals';
import { foundIn } from '../../src/ask/session.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { textsToPublish } from '../../src/config/published.ts';
import { durableOperator } from '../../src/controllers/index.ts';

const texts = textsToPublish(durableOperator, defaultOptions(durableOperator), {
  version: '9.0.0',
  clusterUid: undefined,
});

describe('what an operator has published', () => {
  it('is its settings', () => {
    expect(foundIn(durableOperator, 'q', texts)).toMatchObject({
      settings: { version: '9.0.0' },
      unreadable: undefined,
    });
  });

  it('names its version where this program does not know a value of them', () => {
    const found = foundIn(durableOperator, 'q', { ...texts, controllers: 'pod-set,some-new-one' });
    expect(found).toMatchObject({ taskQueue: 'q', settings: undefined, unreadable: '9.0.0' });
  });
});
