import { Client } from '@temporalio/client';
import { aborted } from '../src/aborted.ts';
import { answersYes } from '../src/ask/change/confirm.ts';
import type { Config } from '../src/config/config.ts';
import { createKubernetesClient, type KubernetesClient } from '../src/kubernetes/client.ts';
import type { LocalRequest } from '../src/local-stack.ts';
import { chosenControllers } from '../src/program/program.ts';
import { dataConverterFor } from '../src/temporal/data-converter.ts';
import { applyCustomResources, type CustomResources } from './custom-resources.ts';
import { howToRemoveSamples, nextSteps, questionAboutCluster, whereThingsAre } from './next-steps.ts';
import { OPERATOR, operatorArguments, operatorEnvironment, startInStack, untilReady } from './operator.ts';
import { preferFreePort } from './ports.ts';
import { lastLines } from './program-output.ts';
import { runSamples } from './samples.ts';
import { ServerFailed } from './servers.ts';
import { layoutOf, saveLogs } from './stack-folder.ts';
import type { Stack } from './stack.ts';
import { liveTable } from './table.ts';
import { connectTo, givenServer, startTargets, type Targets } from './targets.ts';

/**
 * The command `local`: starts the servers, the operator and the samples, and runs until the signal. Leaves neither
 * processes nor files.
 *
 * @returns the program's exit code
 */
export async function runLocal(request: LocalRequest): Promise<number> {
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
    if (signal.aborted) return config.local.exitWhenConverged ? 1 : 0;
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
async function isAgreed({ config, signal }: LocalRequest): Promise<boolean> {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  if (!config.local.kubernetesGiven || !isTerminal) return true;
  return answersYes(questionAboutCluster(config, givenServer(config)), { signal });
}

interface Running extends LocalRequest {
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
  const { config, signal, mainModule, targets } = running;
  const cluster = createKubernetesClient(targets.cluster.kubeConfig);
  try {
    say(CUSTOM_RESOURCES_MESSAGES[await applyCustomResources(cluster, signal)]);
    await startOperator(running);
    await converge(running, cluster);
  } finally {
    await cluster.close();
  }
  if (config.local.exitWhenConverged) return;
  nextSteps(targets, { program: mainModule, roleBindingPrefix: config.roleBinding.prefix }).forEach(say);
  await aborted(signal);
  signal.throwIfAborted();
}

const CUSTOM_RESOURCES_MESSAGES: Readonly<Record<CustomResources, string>> = {
  applied: 'applied the custom resource definitions of PodSet and Xxx (deploy/crd)',
  'there already':
    'the custom resource definitions of PodSet and Xxx already exist; you are not allowed to apply them',
};

async function startOperator({ program, config, signal, mainModule, targets }: Running): Promise<void> {
  const { health, metrics } = config;
  const healthPort = await preferFreePort(health.address === 'off' ? USUAL_HEALTH_PORT : health.address.port);
  const metricsPort = metrics.address === 'off' ? undefined : await preferFreePort(metrics.address.port);
  const args = operatorArguments({ program, config, healthPort, metricsPort });
  const env = await operatorEnvironment(config, targets);
  const launch = { program: mainModule, args, env, healthPort };
  startInStack(targets.stack, launch, say);
  await untilReady(launch, signal);
  say('the operator is ready');
  whereThingsAre(targets).forEach(say);
}

const USUAL_HEALTH_PORT = 9098;

async function converge(
  { program, config, signal, targets }: Running,
  cluster: KubernetesClient,
): Promise<void> {
  const dataConverter = await dataConverterFor(config.encryption.keysFile);
  const connection = await connectTo(targets, config);
  const temporal = new Client({ connection, namespace: config.temporal.namespace, dataConverter });
  const controllers = chosenControllers(program, config);
  try {
    await runSamples({ cluster, temporal, controllers, table: liveTable(process.stdout), say, signal });
  } finally {
    await connection.close();
  }
}

async function end({ stack, cluster }: Targets, { local }: Config): Promise<void> {
  say('');
  await stack.stopServer(OPERATOR);
  await stack.stop();
  say(`stopped everything, and removed ${stack.dir}`);
  if (local.kubernetesGiven) say(howToRemoveSamples(cluster.kubeconfigFile));
}

/** Prints the error on stderr, with the end of the log of the server that failed, or of the operator. Keeps all logs. */
async function reportFailure(
  { program: { name } }: LocalRequest,
  error: unknown,
  stack: Stack | undefined,
): Promise<void> {
  process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
  if (stack === undefined) return;
  const failed = error instanceof ServerFailed ? error.server : 'operator';
  process.stderr.write(`The last lines of its log:\n${await lastLines(stack.logOf(failed), 10)}\n`);
  process.stderr.write(`All logs are in ${await saveLogs(layoutOf(stack.dir))}\n`);
}
