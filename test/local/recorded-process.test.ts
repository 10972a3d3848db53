import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { end, forget, isRunning, record, runningIn, startOf } from '../../local/recorded-process.ts';

let folder: string;
let child: ChildProcess;
let pid: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recorded-'));
  child = spawn('sleep', ['600']);
  pid = child.pid ?? 0;
});

afterEach(async () => {
  child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

describe('a recorded process', () => {
  it('is found by its record while it runs', async () => {
    record(folder, 'etcd', pid);
    expect(await runningIn(folder)).toEqual([{ name: 'etcd', pid, startedAt: startOf(pid) }]);
  });

  it('is not found once it is forgotten', async () => {
    record(folder, 'etcd', pid);
    forget(folder, 'etcd');
    expect(await runningIn(folder)).toEqual([]);
  });

  it('is ended, and is then not running', async () => {
    record(folder, 'etcd', pid);
    const exited = once(child, 'exit');
    await Promise.all((await runningIn(folder)).map(end));
    expect(await exited).toEqual([null, 'SIGKILL']);
    expect(startOf(pid)).toBeUndefined();
  });

  it('is another where its pid was given to a process that started at another time', async () => {
    const other = { name: 'etcd', pid, startedAt: 'another time' };
    await end(other);
    expect(isRunning(other)).toBe(false);
    expect(startOf(pid)).toBeDefined();
  });

  it.each(['', '{"pid":', '{"name":"etcd"}'])('is none where its record is %j', async (text) => {
    await writeFile(join(folder, 'etcd.json'), text);
    expect(await runningIn(folder)).toEqual([]);
  });
});
