import { Client } from '@temporalio/client';
import { chosenControllers } from '../config/controllers.ts';
import { aborted } from '../aborted.ts';
import type { Config } from '../config.ts';
import { createKubernetesClient, type KubernetesClient } from '../kubernetes/client.ts';
import { dataConverterFor } from '../temporal/data-converter.ts';
import { applyCustomResources, type CustomResources } from './custom-resources.ts';
import type { UnexpectedExit } from './guarded-servers.ts';
import { lastLines } from './last-lines.ts';
import { liveTable } from './live-table.ts';
import { howToRemoveSamples, nextSteps, whereThingsAre } from './next-steps.ts';
import { startOperator, stopOperator } from './operator-process.ts';
import { preferFreePort } from './ports.ts';
import { runSamples } from './sample-run.ts';
import { saveLogs } from './stack-folder.ts';
import { layoutOf } from './stack-layout.ts';
import { connectTo, startSurroundings, type Surroundings } from './surroundings.ts';

/** Something of ours ended by itself. */
class EndedByItself extends Error {
  readonly program: string;

  constructor({ name, how }: UnexpectedExit) {
    super(`${name} ended (${how})`);
    this.name = 'EndedByItself';
    this.program = name;
  }
}

/**
 * The command `local`: servers, the operator, the samples; then it stays until the signal. Says on stdout
 * what goes on, and on stderr what went wrong. Leaves neither processes nor files.
 *
 * @returns the program's exit code: 0 where it was asked to end, or the samples converged and that was all
 */
export async function runLocal(config: Config, signal: AbortSignal): Promise<number> {
  let surroundings: Surroundings | undefined;
  try {
    surroundings = await startSurroundings({ config, output: process.stdout, say, signal });
    await stay(config, surroundings, signal);
    return 0;
  } catch (error) {
    if (signal.aborted) return config.local.exitWhenConverged ? 1 : 0;
    await complain(error, surroundings);
    return 1;
  } finally {
    if (surroundings !== undefined) await end(surroundings, config);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function stay(config: Config, surroundings: Surroundings, asked: AbortSignal): Promise<void> {
  const broken = new AbortController();
  surroundings.stack.onUnexpectedExit((exit) => broken.abort(new EndedByItself(exit)));
  const signal = AbortSignal.any([asked, broken.signal]);
  try {
    await serve(config, surroundings, signal);
  } catch (error) {
    // What was under way says only that it was aborted.
    broken.signal.throwIfAborted();
    throw error;
  }
}

async function serve(config: Config, surroundings: Surroundings, signal: AbortSignal): Promise<void> {
  const cluster = createKubernetesClient(surroundings.cluster.kubeConfig);
  try {
    await defineCustomResources(cluster, signal);
    await operate(config, surroundings, signal);
    await converge(config, { surroundings, cluster }, signal);
  } finally {
    await cluster.close();
  }
  if (config.local.exitWhenConverged) return;
  nextSteps(surroundings, config.roleBinding.prefix).forEach(say);
  await aborted(signal);
  signal.throwIfAborted();
}

async function defineCustomResources(cluster: KubernetesClient, signal: AbortSignal): Promise<void> {
  say(CUSTOM_RESOURCES_WORDS[await applyCustomResources(cluster, signal)]);
}

const CUSTOM_RESOURCES_WORDS: Readonly<Record<CustomResources, string>> = {
  applied: 'applied the custom resource definitions of PodSet and Xxx (deploy/crd)',
  'there already':
    'the custom resource definitions of PodSet and Xxx are there already; you may not apply them',
};

async function operate(config: Config, surroundings: Surroundings, signal: AbortSignal): Promise<void> {
  const { healthAddress, metrics } = config;
  const healthPort = await preferFreePort(healthAddress === 'off' ? USUAL_HEALTH_PORT : healthAddress.port);
  const metricsPort = metrics.address === 'off' ? undefined : await preferFreePort(metrics.address.port);
  await startOperator({ config, surroundings, healthPort, metricsPort, signal });
  say('the operator is ready');
  whereThingsAre(surroundings).forEach(say);
}

const USUAL_HEALTH_PORT = 9098;

interface Connected {
  readonly surroundings: Surroundings;
  readonly cluster: KubernetesClient;
}

async function converge(
  config: Config,
  { surroundings, cluster }: Connected,
  signal: AbortSignal,
): Promise<void> {
  const dataConverter = await dataConverterFor(config.payloadKeys);
  const connection = await connectTo(surroundings, config);
  const temporal = new Client({ connection, namespace: config.temporal.namespace, dataConverter });
  const controllers = chosenControllers(config);
  try {
    await runSamples({ cluster, temporal, controllers, table: liveTable(process.stdout), say, signal });
  } finally {
    await connection.close();
  }
}

async function complain(error: unknown, surroundings: Surroundings | undefined): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`durable-operator: ${message}\n`);
  if (surroundings === undefined) return;
  const { stack } = surroundings;
  const program = error instanceof EndedByItself ? error.program : 'operator';
  process.stderr.write(`The last lines of its log:\n${await lastLines(stack.logOf(program), 10)}\n`);
  process.stderr.write(`All logs are in ${await saveLogs(layoutOf(stack.dir))}\n`);
}

async function end(surroundings: Surroundings, { local }: Config): Promise<void> {
  const { stack, cluster } = surroundings;
  say('');
  await stopOperator(surroundings);
  await stack.stop();
  say(`stopped everything, and removed ${stack.dir}`);
  if (local.kubernetesGiven) say(howToRemoveSamples(cluster.kubeconfigFile));
}
