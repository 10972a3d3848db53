import type { Config } from '../src/config/config.ts';
import { optionsOfController } from '../src/config/controller-options.ts';
import type { Targets } from './targets.ts';

/** Asked before a given cluster is used. */
export function questionAboutCluster(config: Config, server: string): string {
  const { controllers, namespaces } = config.reconciliation;
  const where = namespaces.length === 0 ? 'in all namespaces' : `in ${namespaces.join(', ')}`;
  const binding = optionsOfController(config, 'namespace-role-binding');
  const binds = controllers.includes('namespace-role-binding')
    ? `, where namespace-role-binding gives groups the ClusterRole ${String(Reflect.get(binding, 'roleBindingClusterRole'))}`
    : '';
  return (
    `This uses ${server}. It applies the custom resource definitions and the samples, and runs ${controllers.join(', ')} ` +
    `${where}${binds}. Continue? (To stay on this machine: unset KUBECONFIG)`
  );
}

/** Lines for the terminal. */
export function whereThingsAre({ stack, cluster, temporal }: Targets): string[] {
  return [
    '',
    `  Temporal UI  ${temporal.uiUrl === undefined ? `that of ${temporal.address}` : workflowsPage(temporal)}`,
    `  Temporal     ${temporal.address}, namespace ${temporal.namespace}`,
    `  kubeconfig   ${cluster.kubeconfigFile ?? 'the one that kubectl uses'}`,
    `  logs         ${stack.logOf('operator')}, and of the servers beside it`,
    '',
  ];
}

/** The list of runs, the newest first. */
function workflowsPage({ uiUrl, namespace }: Targets['temporal']): string {
  return `${uiUrl ?? ''}/namespaces/${namespace}/workflows`;
}

/** What people can try. */
export interface Tried {
  readonly program: string;
  readonly mainModule: string;
  /** Undefined: the one that kubectl finds. */
  readonly kubeconfigFile: string | undefined;
  /** An absolute path, or `kubectl`. */
  readonly kubectl: string;
  readonly temporalAddress: string;
  /** A kind of the program, such as `website`, and the name of a sample of it. */
  readonly sample: string | undefined;
}

/** All commands ask there by default. */
const USUAL = '127.0.0.1:7233';

/** Commands to try, as lines for the terminal. */
export function nextSteps(tried: Tried): string[] {
  const { program, mainModule, kubeconfigFile, kubectl, temporalAddress, sample = 'KIND/NAME' } = tried;
  const run = `${shellWord(process.execPath)} ${shellWord(mainModule)}`;
  return [
    '',
    'This runs until Ctrl-C, and starts the operator again when its code changes. Try in another terminal:',
    '',
    ...(kubeconfigFile === undefined ? [] : [`  export KUBECONFIG=${shellWord(kubeconfigFile)}`]),
    ...(temporalAddress === USUAL ? [] : [`  export TEMPORAL_ADDRESS=${temporalAddress}`]),
    ...(kubectl === 'kubectl' ? [] : [`  alias kubectl=${shellWord(kubectl)}`]),
    `  alias ${program}=${shellWord(run)}`,
    '',
    `  ${program} why --all-namespaces    # what is not well, and what to do`,
    `  ${program} history ${sample}    # what was done, and why`,
    `  kubectl edit ${sample}    # change it, and look again`,
    `  pkill -KILL -f ${shellWord(`${mainModule} run`)}    # the next operator goes on where this one was`,
    '',
  ];
}

/** For a given cluster. */
export function howToRemoveSamples(kubeconfigFile: string | undefined, folder: string): string {
  const kubeconfig = kubeconfigFile === undefined ? '' : `KUBECONFIG=${shellWord(kubeconfigFile)} `;
  return `the custom resource definitions and the samples stay on the cluster; to remove the samples, run this while an operator is running (it has to remove what it made): ${kubeconfig}kubectl delete -f ${shellWord(folder)}`;
}

/** Quoted for the shell if necessary. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
