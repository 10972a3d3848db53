import { Client } from '@temporalio/client';
import { aborted } from '../src/aborted.ts';
import type { Config } from '../src/config/config.ts';
import { chosenControllers } from '../src/config/controllers.ts';
import { createKubernetesClient, type KubernetesClient } from '../src/kubernetes/client.ts';
import type { LocalRequest } from '../src/local-stack.ts';
import { dataConverterFor } from '../src/temporal/data-converter.ts';
import { isAgreed, personHere } from './agreement.ts';
import { applyCustomResources, type CustomResources } from './custom-resources.ts';
import { reportFailure } from './failure.ts';
import { howToRemoveSamples, nextSteps, whereThingsAre } from './next-steps.ts';
import { operatorArguments, operatorEnvironment, startInStack, stopInStack, untilReady } from './operator.ts';
import { preferFreePort } from './ports.ts';
import { runSamples } from './samples.ts';
import { connectTo, givenServer, startSurroundings, type Surroundings } from './surroundings.ts';
import { liveTable } from './table.ts';

/**
 * The command `local`: servers, the operator, the samples; then it stays until the signal. Says on stdout
 * what goes on, and on stderr what went wrong. Leaves neither processes nor files.
 *
 * @returns the program's exit code: 0 where it was asked to end, or the samples converged and that was all
 */
export async function runLocal(request: LocalRequest): Promise<number> {
  const { config, signal } = request;
  let surroundings: Surroundings | undefined;
  try {
    if (!(await isAgreed(config, () => givenServer(config), personHere(signal)))) {
      say('nothing was done');
      return 1;
    }
    surroundings = await startSurroundings({ config, output: process.stdout, say, signal });
    await stay({ ...request, surroundings });
    return 0;
  } catch (error) {
    if (signal.aborted) return config.local.exitWhenConverged ? 1 : 0;
    await reportFailure(error, surroundings?.stack);
    return 1;
  } finally {
    if (surroundings !== undefined) await end(surroundings, config);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What was asked for, once its servers run. */
interface Running extends LocalRequest {
  readonly surroundings: Surroundings;
}

async function stay(running: Running): Promise<void> {
  const { over } = running.surroundings.stack;
  const signal = AbortSignal.any([running.signal, over]);
  try {
    await serve({ ...running, signal });
  } catch (error) {
    // What was interrupted says only that it was aborted.
    over.throwIfAborted();
    throw error;
  }
}

async function serve(running: Running): Promise<void> {
  const { config, signal, program, surroundings } = running;
  const cluster = createKubernetesClient(surroundings.cluster.kubeConfig);
  try {
    say(CUSTOM_RESOURCES_WORDS[await applyCustomResources(cluster, signal)]);
    await operate(running);
    await converge(running, cluster);
  } finally {
    await cluster.close();
  }
  if (config.local.exitWhenConverged) return;
  nextSteps(surroundings, { program, roleBindingPrefix: config.roleBinding.prefix }).forEach(say);
  await aborted(signal);
  signal.throwIfAborted();
}

const CUSTOM_RESOURCES_WORDS: Readonly<Record<CustomResources, string>> = {
  applied: 'applied the custom resource definitions of PodSet and Xxx (deploy/crd)',
  'there already':
    'the custom resource definitions of PodSet and Xxx already exist; you are not allowed to apply them',
};

async function operate({ config, signal, program, surroundings }: Running): Promise<void> {
  const { health, metrics } = config;
  const healthPort = await preferFreePort(health.address === 'off' ? USUAL_HEALTH_PORT : health.address.port);
  const metricsPort = metrics.address === 'off' ? undefined : await preferFreePort(metrics.address.port);
  const args = operatorArguments({ config, healthPort, metricsPort });
  const env = await operatorEnvironment(config, surroundings);
  const launch = { program, args, env, healthPort };
  const start = (): Promise<void> =>
    startInStack(surroundings.stack, launch, () => {
      say('somebody ended the operator; it is started again, as a Deployment would do');
      // Where that fails, the stack is over, which says why.
      void start().catch(() => undefined);
    });
  await start();
  await untilReady(launch, signal);
  say('the operator is ready');
  whereThingsAre(surroundings).forEach(say);
}

const USUAL_HEALTH_PORT = 9098;

async function converge(running: Running, cluster: KubernetesClient): Promise<void> {
  const { config, signal, surroundings } = running;
  const dataConverter = await dataConverterFor(config.encryption.keysFile);
  const connection = await connectTo(surroundings, config);
  const temporal = new Client({ connection, namespace: config.temporal.namespace, dataConverter });
  const controllers = chosenControllers(config);
  try {
    await runSamples({ cluster, temporal, controllers, table: liveTable(process.stdout), say, signal });
  } finally {
    await connection.close();
  }
}

async function end(surroundings: Surroundings, { local }: Config): Promise<void> {
  const { stack, cluster } = surroundings;
  say('');
  await stopInStack(stack);
  await stack.stop();
  say(`stopped everything, and removed ${stack.dir}`);
  if (local.kubernetesGiven) say(howToRemoveSamples(cluster.kubeconfigFile));
}
