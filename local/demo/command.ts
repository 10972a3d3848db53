import { Client, Connection } from '@temporalio/client';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import type { LocalRequest } from '../../src/local-stack.ts';
import { buildServers, showBuildProgress } from '../build.ts';
import { applyCustomResources } from '../custom-resources.ts';
import { bareEnvironment, killInStack, startInStack, untilReady } from '../operator.ts';
import { freePort } from '../ports.ts';
import { lastLines } from '../program-output.ts';
import { layoutOf, saveLogs } from '../stack-folder.ts';
import { startStack, type Stack } from '../stack.ts';
import { APPROVAL_OVER, play, type OperatorOnStage } from './acts.ts';
import { answerOf } from './answer.ts';
import { plainNarrator, type Narrator } from './narrator.ts';
import { PodRecord } from './pod-record.ts';
import { Shop, SHOP } from './shop.ts';

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
    if (!request.signal.aborted) await complain(error, stack);
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
    const narrator = plainNarrator((text) => process.stdout.write(text));
    await play({ shop, record, operator, narrator, signal, ask: askingFor(narrator, { ...request, env }) });
    narrator.end('All of this was checked: against Temporal, the API server and its audit log.');
  } finally {
    record.end();
    await connection.close();
    await cluster.close();
  }
}

/** Of the operator and of those who ask. Without a file named, a person's own profile would be read. */
async function environmentFor(stack: Stack): Promise<NodeJS.ProcessEnv> {
  const profiles = join(stack.dir, 'temporal.toml');
  await writeFile(profiles, '[profile.default]\n');
  return {
    ...bareEnvironment(stack.temporalAddress),
    TEMPORAL_CONFIG_FILE: profiles,
    KUBECONFIG: stack.kubeconfig,
  };
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

async function complain(error: unknown, stack: Stack | undefined): Promise<void> {
  process.stderr.write(`durable-operator: ${error instanceof Error ? error.message : String(error)}\n`);
  if (stack === undefined) return;
  process.stderr.write(
    `The last lines of the operator's log:\n${await lastLines(stack.logOf('operator'), 10)}\n`,
  );
  process.stderr.write(`All logs are in ${await saveLogs(layoutOf(stack.dir))}\n`);
}
