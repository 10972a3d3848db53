import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuardian, type GuardedServers } from '../../src/local/guarded-servers.ts';
import { GUARDIAN, isRunning, runningIn, type RecordedProcess } from '../../src/local/recorded-process.ts';

let dir: string;
let processesDir: string;
let servers: GuardedServers;
let onExit: (name: string) => void = () => undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'guarded-'));
  processesDir = join(dir, 'processes');
  await mkdir(processesDir);
  servers = startGuardian({
    dir,
    processesDir,
    keepState: false,
    logFile: join(dir, 'guardian.log'),
    onUnexpectedExit: ({ name }) => onExit(name),
  });
});

afterEach(async () => {
  await servers.stopAll();
  await rm(dir, { recursive: true, force: true });
});

function startShell(name: string, script: string): Promise<void> {
  return servers.start({ name, command: '/bin/sh', args: ['-c', script], logFile: join(dir, `${name}.log`) });
}

async function recorded(name: string): Promise<RecordedProcess> {
  const found = (await runningIn(processesDir)).find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`${name} does not run`);
  return found;
}

describe('servers under a guardian', () => {
  it('all end with it, and the folder with them', async () => {
    await startShell('one', 'exec sleep 600');
    await startShell('two', 'trap "" TERM; while true; do sleep 0.1; done');
    const processes = await runningIn(processesDir);
    expect(processes.map(({ name }) => name).sort()).toEqual([GUARDIAN, 'one', 'two']);
    await servers.stopAll();
    expect(processes.filter(isRunning)).toEqual([]);
    expect(existsSync(dir)).toBe(false);
  });

  it('can be stopped and started again one by one', async () => {
    await startShell('one', 'exec sleep 600');
    await startShell('two', 'exec sleep 600');
    const [first, second] = [await recorded('one'), await recorded('two')];
    await servers.stop('one');
    expect([isRunning(first), isRunning(second)]).toEqual([false, true]);
    await startShell('one', 'exec sleep 600');
    expect((await recorded('one')).pid).not.toBe(first.pid);
    expect(servers.failure()).toBeUndefined();
  });

  it('are reported when they end by themselves', async () => {
    const reported = new Promise<string>((resolve) => (onExit = resolve));
    await startShell('one', 'exit 3');
    expect(await reported).toBe('one');
    expect(servers.failure()).toEqual({ name: 'one', how: 'exit code 3' });
  });

  it('are reported when there is no such program', async () => {
    await servers.start({
      name: 'none',
      command: '/does/not/exist',
      args: [],
      logFile: join(dir, 'none.log'),
    });
    expect(servers.failure()).toMatchObject({ name: 'none', how: expect.stringContaining('ENOENT') });
  });

  it('end at stopAll even where the guardian itself was killed', async () => {
    const reported = new Promise<string>((resolve) => (onExit = resolve));
    await startShell('one', 'exec sleep 600');
    const server = await recorded('one');
    process.kill((await recorded(GUARDIAN)).pid, 'SIGKILL');
    expect(await reported).toBe('one');
    await servers.stopAll();
    expect(isRunning(server)).toBe(false);
  });
});
