import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { TaskQueuePollers } from '../../src/contract/telemetry.ts';
import { TaskQueueWatch } from '../../src/temporal/task-queue.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const SOON_MS = 5_000;
const MINUTE_MS = 60_000;
const pollers = (count: number): readonly TaskQueuePollers[] => [
  { taskQueue: 'ours', taskType: 'workflow', version: '', status: 'current', count },
];

let asked: number;
let answer: () => Promise<readonly TaskQueuePollers[]>;
let watch: TaskQueueWatch;

beforeEach(() => {
  jest.useFakeTimers();
  asked = 0;
  // Each answer is another one.
  answer = () => Promise.resolve(pollers(asked));
  watch = new TaskQueueWatch(() => {
    asked += 1;
    return answer();
  }, aRecordingLogger());
});
afterEach(() => {
  watch.standBy();
  jest.useRealTimers();
});

it('asks soon, when the workers poll, then once a minute, as long as it leads', async () => {
  watch.lead();
  await jest.advanceTimersByTimeAsync(SOON_MS);
  expect(watch.pollers).toEqual(pollers(1));
  await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(watch.pollers).toEqual(pollers(3));
  watch.standBy();
  await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(asked).toBe(3);
  expect(watch.pollers).toEqual([]);
});

it('does not take the answer of an earlier term for one of this term', async () => {
  let reply: (late: readonly TaskQueuePollers[]) => void = () => undefined;
  answer = () => new Promise((resolve) => (reply = resolve));
  watch.lead();
  await jest.advanceTimersByTimeAsync(SOON_MS);
  const late = reply;
  watch.lead();
  late(pollers(7));
  await jest.advanceTimersByTimeAsync(0);
  expect(watch.pollers).toEqual([]);
});

it('keeps what Temporal said for five minutes where Temporal does not answer', async () => {
  watch.lead();
  await jest.advanceTimersByTimeAsync(SOON_MS);
  answer = () => Promise.reject(new Error('unavailable'));
  await jest.advanceTimersByTimeAsync(5 * MINUTE_MS - 1);
  expect(watch.pollers).toEqual(pollers(1));
  await jest.advanceTimersByTimeAsync(1);
  expect(watch.pollers).toEqual([]);
});
