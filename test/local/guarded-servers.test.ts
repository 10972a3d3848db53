import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedServers, ServerFailed } from '../../local/guarded-servers.ts';
import { GUARDIAN, isRunning, runningIn, type RecordedProcess } from '../../local/recorded-process.ts';
import { layoutOf, makeFolder, type StackLayout } from '../../local/stack-folder.ts';
import { eventually } from '../support/eventually.ts';

let layout: StackLayout;
let servers: GuardedServers;

beforeEach(async () => {
  layout = layoutOf(await mkdtemp(join(tmpdir(), 'guarded-')));
  await makeFolder(layout);
  servers = new GuardedServers(layout);
});

afterEach(async () => {
  await servers.stopAll();
  await rm(layout.dir, { recursive: true, force: true });
});

function startShell(name: string, script: string, whenEndedByHand?: () => void): Promise<void> {
  return servers.start({ name, command: '/bin/sh', args: ['-c', script] }, whenEndedByHand);
}

async function recorded(name: string): Promise<RecordedProcess> {
  const found = (await runningIn(layout.processes)).find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`${name} does not run`);
  return found;
}

describe('servers under a guardian', () => {
  it('all end with it, and the folder with them', async () => {
    await startShell('one', 'exec sleep 600');
    await startShell('two', 'trap "" TERM; while true; do sleep 0.1; done');
    const processes = await runningIn(layout.processes);
    expect(processes.map(({ name }) => name).sort()).toEqual([GUARDIAN, 'one', 'two']);
    await servers.stopAll();
    expect(processes.filter(isRunning)).toEqual([]);
    expect(existsSync(layout.dir)).toBe(false);
  });

  it('can be stopped and started again one by one', async () => {
    await startShell('one', 'exec sleep 600');
    await startShell('two', 'exec sleep 600');
    const [first, second] = [await recorded('one'), await recorded('two')];
    await servers.stop('one');
    expect([isRunning(first), isRunning(second)]).toEqual([false, true]);
    await startShell('one', 'exec sleep 600');
    expect((await recorded('one')).pid).not.toBe(first.pid);
    expect(servers.over.aborted).toBe(false);
  });

  it('can be killed one by one, and that is no failure of theirs', async () => {
    await startShell('one', 'trap "" TERM; while true; do sleep 0.1; done');
    const killed = await recorded('one');
    await servers.kill('one');
    expect(isRunning(killed)).toBe(false);
    expect(servers.over.aborted).toBe(false);
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'can be started again where somebody else sends them %s',
    async (signal) => {
      let isEnded = false;
      await startShell('one', 'exec sleep 600', () => (isEnded = true));
      const first = await recorded('one');
      process.kill(first.pid, signal);
      await eventually(() => isEnded);
      await startShell('one', 'exec sleep 600');
      expect((await recorded('one')).pid).not.toBe(first.pid);
      expect(servers.over.aborted).toBe(false);
    },
  );

  it('can be started again where they end without an error, as an operator does after SIGTERM', async () => {
    let isEnded = false;
    await startShell('one', 'exit 0', () => (isEnded = true));
    await eventually(() => isEnded);
    expect(servers.over.aborted).toBe(false);
  });

  it('are reported when they fail, whatever is done where somebody else ends them', async () => {
    await startShell('one', 'exit 3', () => undefined);
    await eventually(() => servers.over.aborted);
    expect(servers.over.reason).toEqual(new ServerFailed('one', 'ended (exit code 3)'));
  });

  it('are reported when they end by themselves', async () => {
    await startShell('one', 'exit 3');
    await eventually(() => servers.over.aborted);
    expect(servers.over.reason).toEqual(new ServerFailed('one', 'ended (exit code 3)'));
  });

  it('are reported when there is no such program', async () => {
    await servers.start({ name: 'none', command: '/does/not/exist', args: [] });
    expect(servers.over.reason).toMatchObject({
      server: 'none',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('end at stopAll even where the guardian itself was killed', async () => {
    await startShell('one', 'exec sleep 600');
    const server = await recorded('one');
    process.kill((await recorded(GUARDIAN)).pid, 'SIGKILL');
    await eventually(() => servers.over.aborted);
    expect(servers.over.reason).toMatchObject({ server: 'one' });
    await servers.stopAll();
    expect(isRunning(server)).toBe(false);
  });
});
