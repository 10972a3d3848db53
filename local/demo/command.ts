import { Client, Connection } from '@temporalio/client';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createKubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import type { LocalRequest } from '../../src/local-stack.ts';
import { buildServers } from '../build.ts';
import { showBuildProgress } from '../build-progress.ts';
import { applyCustomResources } from '../custom-resources.ts';
import { reportFailure } from '../failure.ts';
import { bareEnvironment, killInStack, startInStack, untilReady, withoutProfiles } from '../operator.ts';
import { freePort } from '../ports.ts';
import { startStack, type Stack } from '../stack.ts';
import { APPROVAL_OVER, play, type OperatorOnStage } from './acts.ts';
import { answerOf } from './answer.ts';
import { allOf, plainNarrator, type Narrator } from './narrator.ts';
import { PodRecord } from './pod-record.ts';
import { changesOf, Recording } from './recording.ts';
import { Shop, SHOP } from './shop.ts';
import { SMALLEST, splitScreen } from './split-screen.ts';

/**
 * The command `demo`: shows on a stack of its own what the operator survives, and checks it. Leaves neither processes nor
 * files.
 *
 * @returns the program's exit code: 1 where something was not as it is shown
 */
export async function runDemo(request: LocalRequest): Promise<number> {
  let stack: Stack | undefined;
  try {
    stack = await startServers(request.signal);
    await perform(request, stack);
    return 0;
  } catch (error) {
    if (!request.signal.aborted) await reportFailure(error, stack);
    return 1;
  } finally {
    await stack?.stop();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function startServers(signal: AbortSignal): Promise<Stack> {
  const binaries = await buildServers({ onProgress: showBuildProgress(process.stdout), signal });
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-demo-'));
  return startStack({ dir, binaries, audit: true, onProgress: say, signal });
}

async function perform(request: LocalRequest, stack: Stack): Promise<void> {
  const signal = AbortSignal.any([request.signal, stack.over]);
  const cluster = createKubernetesClient(loadKubeConfig({ kubeconfig: stack.kubeconfig, env: {} }));
  const connection = await Connection.connect({ address: stack.temporalAddress });
  const record = new PodRecord();
  try {
    await applyCustomResources(cluster, signal);
    const shop = new Shop({ cluster, temporal: new Client({ connection }), auditLog: stack.auditLog });
    await shop.open();
    await record.begin(cluster, SHOP);
    const env = await environmentFor(stack);
    const operator = operatorOn(stack, { program: request.program, env, signal });
    await operator.start();
    const { narrator, save, readingMs } = narration(request.config.demo.record);
    const ask = askingFor(narrator, { ...request, env });
    const giveTimeToRead = () => pause(readingMs, undefined, { signal });
    await play({ shop, record, operator, narrator, signal, ask, giveTimeToRead });
    narrator.end('All of this was checked, against Temporal and the API server.');
    await save();
  } finally {
    record.end();
    await connection.close();
    await cluster.close();
  }
}

interface Narration {
  readonly narrator: Narrator;
  /** How long there is to read an answer. */
  readonly readingMs: number;
  readonly save: () => Promise<void>;
}

const READING_MS = 3_000;

/** On a terminal that is large enough, a split screen; else lines. A recording is always a split screen. */
function narration(file: string | undefined): Narration {
  const onTerminal = terminalNarrator(process.stdout);
  const narrator = onTerminal ?? plainNarrator((text) => process.stdout.write(text));
  const readingMs = onTerminal === undefined && file === undefined ? 0 : READING_MS;
  if (file === undefined) return { narrator, readingMs, save: () => Promise.resolve() };
  const recording = new Recording(RECORDED);
  const recorded = splitScreen(RECORDED, (frame) => recording.add(frame));
  return { narrator: allOf([narrator, recorded]), readingMs, save: () => recording.save(file) };
}

const RECORDED = { columns: 104, rows: 32 };

function terminalNarrator(output: NodeJS.WriteStream): Narrator | undefined {
  const { isTTY, columns, rows } = output;
  if (!isTTY || columns < SMALLEST.columns || rows < SMALLEST.rows) return undefined;
  let before: readonly string[] = [];
  return splitScreen({ columns, rows: rows - 1 }, ({ lines }) => {
    output.write(`${changesOf(before, lines)}\n`);
    before = lines;
  });
}

/** Of the operator and of those who ask. */
async function environmentFor(stack: Stack): Promise<NodeJS.ProcessEnv> {
  const environment = bareEnvironment(stack.temporalAddress);
  return { ...environment, ...(await withoutProfiles(stack)), KUBECONFIG: stack.kubeconfig };
}

interface Operated {
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

function operatorOn(stack: Stack, { program, env, signal }: Operated): OperatorOnStage {
  return {
    kill: () => killInStack(stack),
    async start() {
      const healthPort = await freePort();
      const launch = { program, args: operatorArguments(stack), env, healthPort };
      await startInStack(stack, launch);
      await untilReady(launch, signal);
    },
  };
}

function operatorArguments({ kubeconfig }: Stack): string[] {
  const chosen = ['--controllers', 'pod-set', '--require-approval-over', String(APPROVAL_OVER)];
  return ['run', '--kubeconfig', kubeconfig, ...chosen, '--metrics-addr', '0', '--log-format', 'json'];
}

function askingFor(narrator: Narrator, { program, env }: Pick<Operated, 'program' | 'env'>) {
  return async (...args: readonly string[]): Promise<string> => {
    const question = [...args, '--namespace', SHOP];
    const output = await answerOf(program, { args: question, env });
    narrator.answered(`kubectl durable ${[...args, '-n', SHOP].join(' ')}`, output);
    return output;
  };
}
