import { jest } from '@jest/globals';
import { BUCKET_WORLD } from '../support/explorer/bucket.ts';
import { but, exploreAll, FAULTS, NOTHING, pairs } from '../support/explorer/table.ts';

jest.setTimeout(300_000);

/** An author's controller of an outside system. */
exploreAll({
  'a bucket, where something lags': {
    world: BUCKET_WORLD,
    slowness: 1,
    after: [NOTHING, 'change', 'remove', ...FAULTS],
  },
  'a bucket': {
    world: BUCKET_WORLD,
    slowness: 0,
    after: [...pairs(['change', 'remove'], but(FAULTS, 'forget')), 'change + remove'],
  },
});
