import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { isEqual } from '../../src/runs/search-attributes.ts';
import { uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { testStack } from '../support/stack.ts';
import { TestTemporal } from '../support/temporal.ts';

jest.setTimeout(60_000);

const temporal = new TestTemporal(testStack().temporalAddress);

afterAll(() => temporal.close());

async function runsOn(taskQueue: string): Promise<readonly string[]> {
  const found: string[] = [];
  const query = isEqual('TaskQueue', taskQueue);
  for await (const { workflowId } of temporal.client.workflow.list({ query })) found.push(workflowId);
  return found;
}

describe('a list filter', () => {
  it.each(["a''b", "x' OR TaskQueue != 'y", 'a`b', '100%_', 'grün 😀'])(
    'finds the runs of task queue %j, and no others',
    async (name) => {
      const workflowId = uniqueName();
      const taskQueue = `${name} ${workflowId}`;
      const handle = await temporal.client.workflow.start('nobodyRunsIt', { workflowId, taskQueue });
      await eventually(async () => (await runsOn(taskQueue)).length > 0);
      expect(await runsOn(taskQueue)).toEqual([workflowId]);
      await handle.terminate();
    },
  );

  it.each(['a\\', "\\'", 'say "x"', "'"])('is none that the server refuses: %j', async (name) => {
    expect(await runsOn(name)).toEqual([]);
  });
});
