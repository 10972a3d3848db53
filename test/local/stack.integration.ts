import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildServers, type Binaries } from '../../local/build.ts';
import { outputOf } from '../../local/program-output.ts';
import { freePort, isFree } from '../../local/ports.ts';
import { GUARDIAN, isRunning, runningIn, type RecordedProcess } from '../../local/recorded-process.ts';
import { startStack, type Stack, type StackOptions } from '../../local/stack.ts';
import { eventually } from '../support/eventually.ts';

jest.setTimeout(120_000);
const ENDS_WITHIN_MS = 60_000;

const EVERY_PROCESS = [
  'etcd',
  'guardian',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
  'temporal',
];

let folder: string;
let binaries: Binaries;
const stacks: Stack[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stack-test-'));
  binaries = await buildServers({});
});

afterEach(async () => {
  await Promise.all(stacks.splice(0).map((stack) => stack.stop()));
  await rm(folder, { recursive: true, force: true });
});

async function aStack(options: Partial<StackOptions> = {}): Promise<Stack> {
  const stack = await startStack({ dir: join(folder, 'stack'), binaries, ...options });
  stacks.push(stack);
  return stack;
}

async function kubectl(stack: Stack, ...args: string[]): Promise<string> {
  const { outcome, output } = await outputOf(binaries.kubectl, ['--kubeconfig', stack.kubeconfig, ...args]);
  if (outcome !== 'succeeded') throw new Error(`kubectl ${args.join(' ')}: ${output}`);
  return output.trim();
}

function portNumbers({ ports }: Stack): number[] {
  return Object.values({ ...ports });
}

function processesOf(stack: { dir: string }): Promise<RecordedProcess[]> {
  return runningIn(join(stack.dir, 'processes'));
}

async function withClient<T>(stack: Stack, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: stack.temporalAddress });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

describe('two stacks at once', () => {
  it('have nothing in common', async () => {
    const [one, other] = await Promise.all([
      aStack({ dir: join(folder, 'one') }),
      aStack({ dir: join(folder, 'other') }),
    ]);
    const ports = [...portNumbers(one), ...portNumbers(other)];
    expect(new Set(ports).size).toBe(ports.length);
    await kubectl(one, 'create', 'namespace', 'only-in-one');
    await expect(kubectl(other, 'get', 'namespace', 'only-in-one')).rejects.toThrow('NotFound');
  });
});

describe('no process is left', () => {
  it('after stop, which may be called twice, nor is the folder', async () => {
    const stack = await aStack();
    const processes = await processesOf(stack);
    expect(processes.map(({ name }) => name).sort()).toEqual(EVERY_PROCESS);
    await Promise.all([stack.stop(), stack.stop()]);
    await stack.stop();
    expect(processes.filter(isRunning)).toEqual([]);
    expect(existsSync(stack.dir)).toBe(false);
  });

  it.each(['SIGKILL', 'SIGINT'] as const)('after %s to the process that started it', async (signal) => {
    const stack = { dir: join(folder, 'stack') };
    const starter = startInAnotherProcess(stack.dir);
    await firstLineOf(starter);
    const processes = await processesOf(stack);
    expect(processes.map(({ name }) => name).sort()).toEqual(EVERY_PROCESS);
    starter.kill(signal);
    await eventually(() => !processes.some(isRunning), ENDS_WITHIN_MS);
    await eventually(() => !existsSync(stack.dir), ENDS_WITHIN_MS);
  });

  it('after the guardian was killed too, once a stack starts in the same folder', async () => {
    const stack = { dir: join(folder, 'stack') };
    const starter = startInAnotherProcess(stack.dir);
    await firstLineOf(starter);
    const processes = await processesOf(stack);
    starter.kill('SIGSTOP'); // it may not end its servers itself
    kill(processes.find(({ name }) => name === GUARDIAN));
    starter.kill('SIGKILL');
    await once(starter, 'exit');
    const servers = processes.filter(({ name }) => name !== GUARDIAN);
    expect(servers.filter(isRunning)).toEqual(servers);
    await aStack();
    expect(servers.filter(isRunning)).toEqual([]);
  });

  it('after a server did not start', async () => {
    const failing = await aProgram('echo "no space left on device" >&2; exit 7');
    const starting = aStack({ binaries: { ...binaries, etcd: failing } });
    const failed = await starting.then(() => 'it started', String);
    expect(failed).toMatch(/etcd ended \(exit code 7\); its log is .*etcd\.log, .*\n.*no space left/);
    expect(await readdir(folder)).toEqual(['program']);
    const log = /its log is (.*), the last lines/.exec(failed)?.[1] ?? '';
    expect(await readFile(log, 'utf8')).toContain('no space left');
    await rm(dirname(log), { recursive: true });
  });
});

function startInAnotherProcess(dir: string): ChildProcess {
  const program = fileURLToPath(new URL('./stack-starter.ts', import.meta.url));
  return spawn(process.execPath, [program, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function firstLineOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('its output is not read');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('it ended without a word');
}

function kill(recorded: RecordedProcess | undefined): void {
  if (recorded === undefined) throw new Error('there is no such process');
  process.kill(recorded.pid, 'SIGKILL');
}

async function aProgram(script: string): Promise<string> {
  const file = join(folder, 'program');
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

describe('ports that somebody else took at the last moment', () => {
  it('are chosen again', async () => {
    const firstTime = join(folder, 'first-time');
    const etcd = await aProgram(
      `if [ ! -e ${firstTime} ]; then touch ${firstTime}; echo "bind: address already in use"; exit 1; fi\n` +
        `exec ${binaries.etcd} "$@"`,
    );
    const stack = await aStack({ binaries: { ...binaries, etcd } });
    expect(existsSync(firstTime)).toBe(true);
    expect(await kubectl(stack, 'get', '--raw', '/readyz')).toBe('ok');
  });
});

describe('a running stack', () => {
  let home: string;
  let temporalPort: number;
  let stack: Stack;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'stack-test-'));
    temporalPort = await freePort();
    stack = await startStack({
      dir: join(home, 'stack'),
      binaries: await buildServers({}),
      ports: { temporal: temporalPort },
    });
  });

  afterAll(async () => {
    await stack.stop();
    await rm(home, { recursive: true });
  });

  it('uses the ports that were asked for', () => {
    expect(stack.temporalAddress).toBe(`127.0.0.1:${temporalPort}`);
  });

  it('listens at 127.0.0.1 only', async () => {
    for (const port of portNumbers(stack)) {
      expect([port, await refuses(port, '127.0.0.1')]).toEqual([port, false]);
      expect([port, await refuses(port, '127.0.0.2')]).toEqual([port, true]);
    }
  });

  it('keeps a second one from its ports', async () => {
    const { temporalUi } = stack.ports;
    const starting = aStack({ ports: { temporalUi } });
    await expect(starting).rejects.toThrow(`port ${temporalUi}, which was asked for (temporalUi), is taken`);
    expect(await readdir(folder)).toEqual([]);
  });

  it('keeps a second one from its folder', async () => {
    await expect(aStack({ dir: stack.dir })).rejects.toThrow(`a local stack is running in ${stack.dir}`);
  });

  it('keeps its workflows when Temporal is stopped and started again', async () => {
    const workflowId = 'started-before';
    await withClient(stack, (client) => client.workflow.start('any', { workflowId, taskQueue: 'nobody' }));
    await stack.stopServer('temporal');
    expect(await isFree(stack.ports.temporal)).toBe(true);
    await stack.startServer('temporal');
    const { status } = await withClient(stack, (client) => client.workflow.getHandle(workflowId).describe());
    expect(status.name).toBe('RUNNING');
  });

  it('keeps its objects when the API server is stopped and started again', async () => {
    await kubectl(stack, 'create', 'namespace', 'made-before');
    await stack.stopServer('kube-apiserver');
    await expect(kubectl(stack, 'get', 'namespaces')).rejects.toThrow('refused');
    await stack.startServer('kube-apiserver');
    expect(await kubectl(stack, 'get', 'namespace', 'made-before', '-o', 'name')).toBe(
      'namespace/made-before',
    );
  });
});

/** 127.0.0.2 is this machine too, but not the address that servers may listen at. */
function refuses(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

describe('a stack', () => {
  it("is not made in a folder that holds somebody's files", async () => {
    await writeFile(join(folder, 'thesis.txt'), 'draft');
    await expect(aStack({ dir: folder })).rejects.toThrow(
      `${folder} contains something other than a local stack`,
    );
    expect(await readdir(folder)).toEqual(['thesis.txt']);
  });
});
