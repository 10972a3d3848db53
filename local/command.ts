/*
 * The command `dev`: a control plane with simulated nodes, Temporal, the operator and its samples on this machine. In: options, and the
 * servers that a person has named. Out: commands to try. It changes no cluster of a person's without asking, and leaves neither
 * processes nor files.
 */

import { existsSync } from 'node:fs';
import { Client } from '@temporalio/client';
import { aborted } from '../src/temporal/aborted.ts';
import { answersYes } from '../src/ask/change/confirm.ts';
import { manifestsIn } from '../src/ask/plan/manifests.ts';
import type { Config } from '../src/config/config.ts';
import { createKubernetesClient, type KubernetesClient } from '../src/kubernetes/client.ts';
import type { DevRequest } from '../src/program/local-stack.ts';
import { definitionsOf } from '../src/program/generate/field-schema.ts';
import { chosenControllers } from '../src/program/program.ts';
import { dataConverterFor } from '../src/temporal/data-converter.ts';
import { applyCustomResources } from './custom-resources.ts';
import type { ManifestDocument } from './manifests.ts';
import {
  howToRemoveSamples,
  nextSteps,
  questionAboutCluster,
  whereThingsAre,
  type Tried,
} from './next-steps.ts';
import { OPERATOR, operatorArguments, operatorEnvironment, StackOperator } from './operator.ts';
import { preferFreePort } from './ports.ts';
import { lastLines, outputOf } from './program-output.ts';
import { whenFilesChange } from './restart.ts';
import { NotConverged, runSamples } from './samples.ts';
import { ServerFailed } from './servers.ts';
import { layoutOf, saveLogs } from './stack-folder.ts';
import type { Stack } from './stack.ts';
import { liveTable } from './table.ts';
import { connectTo, givenServer, startTargets, type Targets } from './targets.ts';

/**
 * The command `dev`: starts the servers, the operator and the samples, and runs until the signal. Leaves neither
 * processes nor files.
 *
 * @returns the program's exit code
 */
export async function runDev(request: DevRequest): Promise<number> {
  const { config, signal } = request;
  let targets: Targets | undefined;
  try {
    if (!(await isAgreed(request))) {
      say('nothing was done');
      return 1;
    }
    targets = await startTargets({ config, say, signal });
    await stay({ ...request, targets });
    return 0;
  } catch (error) {
    if (signal.aborted) return config.dev.exitWhenConverged ? 1 : 0;
    await reportFailure(request, error, targets?.stack);
    return 1;
  } finally {
    if (targets !== undefined) await end(targets, config);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** KUBECONFIG may be set for other reasons, so a person at a terminal has to agree to the use of that cluster. */
async function isAgreed({ config, signal }: DevRequest): Promise<boolean> {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  if (!config.dev.kubernetesGiven || !isTerminal) return true;
  return answersYes(questionAboutCluster(config, givenServer(config)), { signal });
}

interface Running extends DevRequest {
  readonly targets: Targets;
}

async function stay(running: Running): Promise<void> {
  const { over } = running.targets.stack;
  const signal = AbortSignal.any([running.signal, over]);
  try {
    await serve({ ...running, signal });
  } catch (error) {
    // Its reason names the server that failed.
    over.throwIfAborted();
    throw error;
  }
}

async function serve(running: Running): Promise<void> {
  const { program, config, signal, mainModule } = running;
  const cluster = createKubernetesClient(running.targets.cluster.kubeConfig);
  try {
    await applyDefinitions({ cluster, definitions: definitionsOf(program), signal });
    const operator = await startOperator(running);
    if (config.dev.exitWhenConverged) {
      await converge(running, cluster);
      return;
    }
    const restart = () => restartOperator({ ...running, cluster, operator });
    whenFilesChange(mainModule, restart, signal);
    const sample = await converge(running, cluster).catch(sayNotConverged);
    nextSteps(triedOn(running, sample)).forEach(say);
    await aborted(signal);
  } finally {
    await cluster.close();
  }
  signal.throwIfAborted();
}

interface Definitions {
  readonly cluster: KubernetesClient;
  readonly definitions: readonly ManifestDocument[];
  readonly signal: AbortSignal;
}

async function applyDefinitions({ cluster, definitions, signal }: Definitions): Promise<void> {
  const applied = await applyCustomResources(cluster, definitions, { signal, say });
  const names = definitions.map(({ metadata }) => metadata.name).join(', ');
  if (applied === 'applied') say(`applied the custom resource definitions ${names}`);
  else say(`the custom resource definitions ${names} already exist; you are not allowed to apply them`);
}

async function startOperator(running: Running): Promise<StackOperator> {
  const { program, config, signal, mainModule, targets } = running;
  const { health, metrics } = config;
  const healthPort = await preferFreePort(health.address === 'off' ? USUAL_HEALTH_PORT : health.address.port);
  const metricsPort = metrics.address === 'off' ? undefined : await preferFreePort(metrics.address.port);
  const args = operatorArguments({ program, config, healthPort, metricsPort });
  const env = await operatorEnvironment(config, targets);
  const launch = { program: mainModule, args, env, healthPort, inspect: config.dev.inspect };
  const operator = new StackOperator({ stack: targets.stack, launch, say, signal });
  await operator.start();
  say('the operator is ready');
  whereThingsAre(targets).forEach(say);
  return operator;
}

const USUAL_HEALTH_PORT = 9098;

interface Restarting extends Running {
  readonly cluster: KubernetesClient;
  readonly operator: StackOperator;
}

async function restartOperator({ cluster, operator, mainModule, signal }: Restarting): Promise<void> {
  const began = performance.now();
  say('a file has changed; starting the operator again');
  if (!(await operator.restart())) return;
  say(`the operator is ready, after ${Math.round(performance.now() - began)} ms`);
  await applyChangedDefinitions({ cluster, mainModule, signal });
}

type Changed = Pick<Restarting, 'cluster' | 'mainModule' | 'signal'>;

/** The kinds may have changed with the code, which only a new process has. */
async function applyChangedDefinitions({ cluster, mainModule, signal }: Changed): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', mainModule, 'generate', '--crds'];
  const { outcome, output } = await outputOf(process.execPath, args);
  try {
    if (outcome !== 'succeeded') throw new Error(`the kinds cannot be read: ${output}`);
    await applyCustomResources(cluster, manifestsIn(output, 'generate --crds'), { signal, say });
  } catch (error) {
    if (!signal.aborted) say(error instanceof Error ? error.message : String(error));
  }
}

/** Its author may be about to correct it. */
function sayNotConverged(error: unknown): undefined {
  if (!(error instanceof NotConverged)) throw error;
  say(error.message);
}

function triedOn({ program, mainModule, targets }: Running, sample: string | undefined): Tried {
  const { cluster, temporal } = targets;
  return { program: program.name, mainModule, ...cluster, temporalAddress: temporal.address, sample };
}

async function converge(
  { program, config, signal, targets }: Running,
  cluster: KubernetesClient,
): Promise<string | undefined> {
  const dataConverter = await dataConverterFor(config.encryption.keysFile);
  const connection = await connectTo(targets, config);
  const temporal = new Client({ connection, namespace: config.temporal.namespace, dataConverter });
  const controllers = chosenControllers(program, config);
  const folder = existsSync(config.dev.samples) ? config.dev.samples : undefined;
  try {
    const table = liveTable(process.stdout);
    return await runSamples({ folder, cluster, temporal, controllers, table, say, signal });
  } finally {
    await connection.close();
  }
}

async function end({ stack, cluster }: Targets, { dev }: Config): Promise<void> {
  say('');
  await stack.stopServer(OPERATOR);
  await stack.stop();
  say(`stopped everything, and removed ${stack.dir}`);
  if (dev.kubernetesGiven) say(howToRemoveSamples(cluster.kubeconfigFile, dev.samples));
}

/** Prints the error on stderr, with the end of the log of the server that failed, or of the operator. Keeps all logs. */
async function reportFailure(
  { program: { name } }: DevRequest,
  error: unknown,
  stack: Stack | undefined,
): Promise<void> {
  process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
  if (stack === undefined) return;
  const failed = error instanceof ServerFailed ? error.server : 'operator';
  process.stderr.write(`The last lines of its log:\n${await lastLines(stack.logOf(failed), 10)}\n`);
  process.stderr.write(`All logs are in ${await saveLogs(layoutOf(stack.dir))}\n`);
}
