import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildServers, type Binaries } from '../../local/build.ts';
import { freePort, isListening } from '../../local/ports.ts';
import { outputOf } from '../../local/program-output.ts';
import { layoutOf, pidsIn } from '../../local/stack-folder.ts';
import { startStack, type Stack, type StackOptions } from '../../local/stack.ts';
import { isRunning } from '../support/processes.ts';

jest.setTimeout(120_000);

const SERVERS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok', 'temporal'];

let folder: string;
let binaries: Binaries;
const stacks: Stack[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stack-test-'));
  binaries = await buildServers();
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

describe('two stacks at once', () => {
  it('have nothing in common, and leave nothing', async () => {
    const temporal = await freePort();
    const [one, other] = await Promise.all([
      aStack({ dir: join(folder, 'one'), ports: { temporal } }),
      aStack({ dir: join(folder, 'other') }),
    ]);
    expect(one.temporalAddress).toBe(`127.0.0.1:${temporal}`);
    const ports = [...portNumbers(one), ...portNumbers(other)];
    expect(new Set(ports).size).toBe(ports.length);
    await kubectl(one, 'create', 'namespace', 'only-in-one');
    await expect(kubectl(other, 'get', 'namespace', 'only-in-one')).rejects.toThrow('NotFound');
    const pids = await pidsIn(layoutOf(one.dir));
    expect(Object.keys(pids).sort()).toEqual(SERVERS);
    await Promise.all([one.stop(), one.stop()]);
    expect(Object.values(pids).filter(isRunning)).toEqual([]);
    expect(existsSync(one.dir)).toBe(false);
  });
});

describe('a stack', () => {
  it('listens at 127.0.0.1 only', async () => {
    const stack = await aStack();
    for (const port of portNumbers(stack)) {
      expect([port, await isListening({ port, host: '127.0.0.1' })]).toEqual([port, true]);
      // This machine too, but not the address at which servers may listen.
      expect([port, await isListening({ port, host: '127.0.0.2' })]).toEqual([port, false]);
    }
  });

  it('keeps its objects when the API server is stopped and started again', async () => {
    const stack = await aStack({ parts: ['kubernetes'] });
    await kubectl(stack, 'create', 'namespace', 'made-before');
    await stack.stopServer('kube-apiserver');
    await expect(kubectl(stack, 'get', 'namespaces')).rejects.toThrow('refused');
    await stack.startServer('kube-apiserver');
    await kubectl(stack, 'get', 'namespace', 'made-before');
  });

  it('is removed when a server does not start, except for its logs', async () => {
    const etcd = join(folder, 'failing-etcd');
    await writeFile(etcd, '#!/bin/sh\necho "no space left on device" >&2; exit 7\n', { mode: 0o755 });
    const failed = await aStack({ binaries: { ...binaries, etcd } }).then(() => 'it started', String);
    expect(failed).toMatch(/etcd ended \(exit code 7\); its log is .*etcd\.log, .*\n.*no space left/);
    expect(await readdir(folder)).toEqual(['failing-etcd']);
    const log = /its log is (.*), the last lines/.exec(failed)?.[1] ?? '';
    expect(await readFile(log, 'utf8')).toContain('no space left');
    await rm(dirname(log), { recursive: true });
  });
});
