import { jest } from '@jest/globals';
import { PUBLISHED_WORLD, REFUSED_WORLD, TAKEN_WORLD, WEBSITE_WORLD } from '../support/explorer/website.ts';
import { exploreAll, FAULTS, NOTHING, pairs } from '../support/explorer/table.ts';

jest.setTimeout(300_000);

const OTHERS = ['change', 'hide', 'edit', 'unlabel', 'delete', 'remove'];

/** An author's controller that declares its objects. */
exploreAll({
  'a website': {
    world: WEBSITE_WORLD,
    slowness: 0,
    after: [NOTHING, ...OTHERS, ...FAULTS, ...pairs(OTHERS, ['crash', 'linger', 'duplicate'])],
  },
  'a website with an object elsewhere': {
    world: PUBLISHED_WORLD,
    slowness: 0,
    after: [
      NOTHING,
      ...FAULTS,
      ...pairs(['change', 'remove'], ['crash', 'linger', 'error']),
      'change + remove',
    ],
  },
  'a website with a name that is taken': {
    world: TAKEN_WORLD,
    slowness: 0,
    after: [NOTHING, 'release', 'crash', 'error'],
  },
  'a website of which two objects are refused': {
    world: REFUSED_WORLD,
    slowness: 0,
    after: [
      NOTHING,
      'allow',
      'edit',
      ...FAULTS,
      ...pairs(['allow', 'edit'], ['crash', 'forget']),
      'edit + allow',
    ],
  },
});
