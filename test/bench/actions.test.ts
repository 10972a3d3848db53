import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { actionsIn } from '../../bench/actions.ts';

/** A recorded run. */
function events(name: string) {
  const file = join(import.meta.dirname, '../histories/podSet', `0.3.0-${name}.json`);
  return historyFromJSON(JSON.parse(readFileSync(file, 'utf8'))).events ?? [];
}

describe('the actions of a run', () => {
  it('are its start and one for all local steps of a workflow task', () => {
    expect(actionsIn(events('local-step'))).toBe(2);
    expect(actionsIn(events('many-local-steps'))).toBe(4);
  });

  it('count each attempt of a durable step, each signal, each timer and each mark', () => {
    expect(actionsIn(events('durable-step-retries'))).toBe(3);
    expect(actionsIn(events('stalled-then-changed'))).toBe(6);
    expect(actionsIn(events('wait-is-signalled'))).toBe(5);
  });
});
