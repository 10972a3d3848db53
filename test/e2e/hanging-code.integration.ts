import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { Errand } from '../support/errand-operator.ts';
import { aTaskQueue, endOperators } from '../support/operator.ts';
import { conditionIn, setUpProgram } from '../support/programs.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 120_000;

const { cluster, ...program } = setUpProgram({ file: 'errand-operator.ts', kinds: [Errand] });

afterEach(endOperators);

const start = (taskQueue: string, env: Readonly<Record<string, string>> = {}) =>
  program.start({ taskQueue, env, args: ['--activity-slots', '5'] });

async function create(namespace: string, name: string, how: string) {
  const at = { type: Errand, namespace, name };
  await cluster.create(Errand, {
    ...{ apiVersion: 'example.com/v1', kind: 'Errand' },
    ...{ metadata: { namespace, name }, spec: { how } },
  });
  const is = (condition: Record<string, string>) =>
    eventually(async () => {
      const now = conditionIn(await cluster.get(at), 'Ready');
      return Object.entries(condition).every(([field, value]) => now[field] === value) && now;
    }, WITHIN_MS);
  return { at, is };
}

const ask = (taskQueue: string, ...args: readonly string[]) =>
  program.ask(...args, '--task-queue', taskQueue);

describe('code that ignores its signal', () => {
  it.each(['hangs-soon', 'unseen'])(
    '(%s) costs no slot, and people are told, until a restart',
    async (how) => {
      const taskQueue = aTaskQueue();
      const operator = await start(taskQueue);
      const namespace = await cluster.aNamespace();
      const names = Array.from({ length: 8 }, (_, index) => `stuck-${index}`);
      const stuck = await Promise.all(names.map((name) => create(namespace, name, how)));
      for (const { is } of stuck) {
        const { message } = await is({ status: 'False', reason: 'CodeHangs' });
        expect(message).toContain('the Pod in which it goes on: nothing else ends it');
      }
      const free = await create(namespace, 'free', 'quick');
      await free.is({ status: 'True' });

      expect(await ask(taskQueue, 'why', 'errand/stuck-0', '-n', namespace)).toMatch(
        /CodeHangs[\s\S]*restart /,
      );
      const said = operator.logs.filter(({ msg }) => String(msg).includes('ignores its signal and goes on'));
      expect(said).toHaveLength(names.length);

      await operator.end('SIGKILL');
      await start(taskQueue, { ERRANDS: 'go' });
      for (const { is } of stuck) await is({ status: 'True' });
    },
  );
});

describe('long steps of one namespace', () => {
  it('leave slots for others, and who gets none waits for its turn', async () => {
    const taskQueue = aTaskQueue();
    await start(taskQueue);
    const [busy, other] = [await cluster.aNamespace(), await cluster.aNamespace()];
    const names = Array.from({ length: 10 }, (_, index) => `long-${index}`);
    for (const name of names) await create(busy, name, 'hangs-long');
    // Who gets a turn is chance.
    await eventually(async () => {
      for (const name of names) {
        const text = await ask(taskQueue, 'why', `errand/${name}`, '-n', busy);
        if (text.includes(`its turn: namespace ${busy} has its share of the activity slots`)) return true;
      }
      return false;
    }, WITHIN_MS);
    const quick = await create(other, 'quick', 'quick');
    await quick.is({ status: 'True' });
  });
});
