import Sequencer from '@jest/test-sequencer';

/** Looks at what all the others have left behind. */
const LAST = 'test/e2e/installed.integration.ts';

export default class LookAtTheEnd extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    const isLast = ({ path }) => path.endsWith(LAST);
    return [...sorted.filter((test) => !isLast(test)), ...sorted.filter(isLast)];
  }
}
