import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { outputOf } from '../../local/program-output.ts';
import { layoutOf, pidsIn } from '../../local/stack-folder.ts';
import { PROGRAM } from '../support/built.ts';
import { eventually } from '../../testing/eventually.ts';
import { isRunning } from '../support/processes.ts';
import { testStack } from '../support/stack.ts';

jest.setTimeout(240_000);

let home: string;
let dir: string;
const started: LocalRun[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'local-test-'));
  dir = join(home, 'stack');
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((run) => run.endedBy('SIGKILL')));
  await rm(home, { recursive: true });
});

/** The command in a process of its own. */
interface LocalRun {
  /** Everything it has written. */
  readonly lines: readonly string[];
  readonly ended: Promise<number | null>;
  endedBy(signal: NodeJS.Signals): Promise<number | null>;
  /** Resolves once a line has this in it. @throws where the process ends before */
  said(text: string): Promise<string>;
}

function local(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): LocalRun {
  const child = spawn(
    process.execPath,
    [PROGRAM, 'dev', '--samples', 'deploy/samples', '--dir', dir, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    },
  );
  const lines = linesOf(child);
  const ended = once(child, 'close').then(() => child.exitCode);
  const run: LocalRun = {
    lines,
    ended,
    endedBy(signal) {
      child.kill(signal);
      return ended;
    },
    said: (text) => eventually(() => lineWith(text, { child, lines }), 120_000),
  };
  started.push(run);
  return run;
}

function linesOf(child: ChildProcess): string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) throw new Error('its output is not read');
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  return lines;
}

function lineWith(text: string, { child, lines }: { child: ChildProcess; lines: string[] }) {
  const found = lines.find((line) => line.includes(text));
  if (found === undefined && child.exitCode !== null) return `it ended: ${lines.join('\n')}`;
  return found;
}

function processes(): Promise<Readonly<Record<string, number>>> {
  return pidsIn(layoutOf(dir));
}

/** All of them, with the operator: when the samples have converged, they may end at once. */
function processesWithOperator(): Promise<Readonly<Record<string, number>>> {
  return eventually(async () => {
    const all = await processes();
    return all['operator'] !== undefined && all;
  }, 120_000);
}

async function theOperator(): Promise<number> {
  const { operator } = await processes();
  if (operator === undefined) throw new Error('there is no operator');
  return operator;
}

async function expectNothingLeft(before: Readonly<Record<string, number>>): Promise<void> {
  await eventually(() => !Object.values(before).some(isRunning), 30_000);
  await eventually(() => !existsSync(dir), 30_000);
  expect(await readdir(home)).toEqual([]);
}

function kubectl(kubeconfig: string, ...args: string[]): ReturnType<typeof outputOf> {
  return outputOf(testStack().kubectl, ['--kubeconfig', kubeconfig, ...args]);
}

describe('dev --exit-when-converged', () => {
  it('ends with 0 once the samples have converged, says where things are, and leaves nothing', async () => {
    const run = local(['--exit-when-converged']);
    const ours = await processesWithOperator();
    expect(await run.ended).toBe(0);
    const said = run.lines.join('\n');
    expect(said).toMatch(/Temporal UI +http:\/\/127\.0\.0\.1:\d+\/namespaces\/default\/workflows/);
    expect(said).toContain(join(dir, 'admin.kubeconfig'));
    expect(said).toMatch(/Pod default\/my-nginx: converged .* added label padok\.fr\/pod-name=my-nginx/);
    expect(said).toMatch(/Namespace team-1: converged .* created RoleBinding ad-kubernetes-team-1/);
    expect(said).toMatch(/PodSet default\/podset-sample: converged/);
    expect(said).toMatch(/Xxx default\/xxx-sample: converged/);
    const applied = run.lines.findIndex((line) => line.includes('applied the custom resource definitions'));
    expect(applied).toBeGreaterThan(-1);
    expect(applied).toBeLessThan(run.lines.indexOf('the operator is ready'));
    await expectNothingLeft(ours);
  });
});

describe('dev', () => {
  it('keeps running until SIGINT, and leaves nothing', async () => {
    const run = local();
    await run.said('Ctrl-C');
    await refusesASecondStart();
    await startsAKilledOperatorAgain(run);
    const ours = await processesWithOperator();
    await saysWhenTheOperatorFails(run);
    expect(await run.endedBy('SIGINT')).toBe(0);
    await expectNothingLeft(ours);
  });

  async function refusesASecondStart(): Promise<void> {
    const second = local();
    expect(await second.ended).toBe(1);
    expect(second.lines.join('\n')).toContain(`a local stack is running in ${dir}; stop it with Ctrl-C`);
  }

  async function startsAKilledOperatorAgain(run: LocalRun): Promise<void> {
    const kubeconfig = join(dir, 'admin.kubeconfig');
    process.kill(await theOperator(), 'SIGKILL');
    await run.said('the operator ended; starting it again');
    await kubectl(kubeconfig, 'scale', 'podset', 'podset-sample', '--replicas=5');
    const five = '--for=jsonpath={.status.readyReplicas}=5';
    const waited = await kubectl(kubeconfig, 'wait', 'podset', 'podset-sample', five, '--timeout=120s');
    expect(waited.output).toContain('condition met');
  }

  /** With the last lines of its log; it waits for a change of the code then. */
  async function saysWhenTheOperatorFails(run: LocalRun): Promise<void> {
    process.kill(await theOperator(), 'SIGABRT');
    await run.said('It is started again when a file changes');
    const log = run.lines.indexOf('operator ended (SIGABRT); the last lines of its log:');
    expect(run.lines[log + 1]).toMatch(/^\{"level":"info",.*"msg":/);
  }

  it('leaves no process when it is killed', async () => {
    const run = local();
    await run.said('the operator is ready');
    const ours = await processesWithOperator();
    await run.endedBy('SIGKILL');
    await eventually(() => !Object.values(ours).some(isRunning), 30_000);
  });
});

describe('dev with servers that were given', () => {
  it('starts none, uses those, and leaves the samples on the cluster', async () => {
    const { kubeconfig, temporalAddress } = testStack();
    const given = { KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: temporalAddress };
    const run = local(['--task-queue', 'given-servers'], given);
    await run.said('Ctrl-C');
    const ours = await processes();
    expect(Object.keys(ours)).toEqual(['operator']);
    // Only an operator lets it go: it has a finalizer.
    await kubectl(kubeconfig, 'delete', 'xxx', 'xxx-sample');
    expect(await run.endedBy('SIGTERM')).toBe(0);
    expect(run.lines).toContain(
      'applied the custom resource definitions podsets.batch.tutorial.kubebuilder.io, xxxes.test.inspur.com',
    );
    expect(run.lines.join('\n')).toContain(`using your Temporal server, ${temporalAddress}`);
    expect(run.lines.at(-1)).toContain('kubectl delete -f deploy/samples');
    const namespace = await kubectl(kubeconfig, 'get', 'namespace', 'team-1', '-o', 'name');
    expect(namespace.output).toBe('namespace/team-1\n');
    await expectNothingLeft(ours);
    const samples = fileURLToPath(new URL('../../deploy/samples', import.meta.url));
    await kubectl(kubeconfig, 'delete', '--ignore-not-found', '-f', samples);
  });
});
