import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ServerFailed, Servers } from '../../local/servers.ts';
import { claimFolder, layoutOf, pidsIn, type StackLayout } from '../../local/stack-folder.ts';
import { eventually } from '../../testing/eventually.ts';
import { isRunning } from '../support/processes.ts';

let layout: StackLayout;
let servers: Servers;
let removeFolder: () => Promise<void>;

beforeEach(async () => {
  layout = layoutOf(await mkdtemp(join(tmpdir(), 'servers-')));
  removeFolder = await claimFolder(layout);
  servers = new Servers(layout);
});

afterEach(async () => {
  await servers.stopAll();
  await removeFolder();
});

const SLEEP = 'exec sleep 600';
const IGNORES_SIGTERM = 'trap "" TERM; while true; do sleep 0.1; done';

async function startShell(name: string, script: string, whenEnded?: (how: string) => void): Promise<number> {
  servers.start({ name, command: '/bin/sh', args: ['-c', script], graceMs: 100 }, whenEnded);
  return (await pidsIn(layout))[name] ?? 0;
}

async function firstLineOf(input: Readable): Promise<string> {
  for await (const line of createInterface({ input })) return line;
  throw new Error('it printed nothing');
}

describe('the servers of a stack', () => {
  it('all end at stopAll, which may be called twice', async () => {
    const pids = [await startShell('one', SLEEP), await startShell('two', IGNORES_SIGTERM)];
    expect(pids.map(isRunning)).toEqual([true, true]);
    await Promise.all([servers.stopAll(), servers.stopAll()]);
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(await pidsIn(layout)).toEqual({});
  });

  it.each(['SIGKILL', 'SIGHUP'] as const)('end with their owner after %s', async (signal) => {
    const folder = join(layout.dir, 'other');
    const owner = spawn(process.execPath, [join(import.meta.dirname, 'servers-owner.ts'), folder]);
    const pid = Number(await firstLineOf(owner.stdout));
    expect(isRunning(pid)).toBe(true);
    owner.kill(signal);
    await eventually(() => !isRunning(pid), 20_000);
    // What is left in the folder does not stop the next stack.
    await (
      await claimFolder(layoutOf(folder))
    )();
  });

  it.each([SLEEP, IGNORES_SIGTERM])('can be stopped and started again one by one: %s', async (script) => {
    const [first, second] = [await startShell('one', script), await startShell('two', script)];
    await servers.stop('one');
    expect([first, second].map(isRunning)).toEqual([false, true]);
    expect(await startShell('one', script)).not.toBe(first);
    expect(servers.over.aborted).toBe(false);
  });

  it.each([
    ['kill -KILL $$', 'SIGKILL'],
    ['exit 3', 'exit code 3'],
  ])('can be started again after: %s', async (script, expected) => {
    const ends: string[] = [];
    await startShell('one', script, (how) => ends.push(how));
    await eventually(() => ends.length > 0);
    expect(ends).toEqual([expected]);
    await startShell('one', SLEEP);
    expect(servers.over.aborted).toBe(false);
  });

  it('are reported when one ends by itself', async () => {
    await startShell('one', 'echo "no space left" >&2; exit 3');
    await eventually(() => servers.over.aborted);
    expect(servers.over.reason).toEqual(new ServerFailed('one', 'ended (exit code 3)'));
    expect(await readFile(layout.log('one'), 'utf8')).toBe('no space left\n');
  });
});

describe('the folder of a stack', () => {
  it('cannot be used by two stacks at once, but again once it is removed', async () => {
    await expect(claimFolder(layout)).rejects.toThrow(`a local stack is running in ${layout.dir}`);
    await removeFolder();
    expect(existsSync(layout.dir)).toBe(false);
    removeFolder = await claimFolder(layout);
  });

  it('is not one with other files in it', async () => {
    const folder = join(layout.dir, 'documents');
    await mkdir(folder);
    await writeFile(join(folder, 'thesis.txt'), 'draft');
    await expect(claimFolder(layoutOf(folder))).rejects.toThrow(
      'contains something other than a local stack',
    );
    expect(await readdir(folder)).toEqual(['thesis.txt']);
  });
});
