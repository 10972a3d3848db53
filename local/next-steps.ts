import { dirname, extname, join } from 'node:path';
import type { Config } from '../src/config/config.ts';
import type { Targets } from './targets.ts';

/** Where people find the servers. */
export interface Addresses {
  readonly cluster: Omit<Targets['cluster'], 'kubeConfig'>;
  readonly temporal: Targets['temporal'];
}

/** Asked before a given cluster is used. */
export function questionAboutCluster({ reconciliation, roleBinding }: Config, server: string): string {
  const { controllers, namespaces } = reconciliation;
  const where = namespaces.length === 0 ? 'in all namespaces' : `in ${namespaces.join(', ')}`;
  const binds = controllers.includes('namespace-role-binding')
    ? `, where namespace-role-binding gives groups the ClusterRole ${roleBinding.clusterRole}`
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

/** How the operator of the stack runs. */
export interface Local {
  /** Its main module. */
  readonly program: string;
  readonly roleBindingPrefix: string;
}

/** Commands to try, as lines for the terminal. */
export function nextSteps({ cluster, temporal }: Addresses, { program, roleBindingPrefix }: Local): string[] {
  return [
    '',
    'All samples have converged. The local stack runs until Ctrl-C; try in another terminal:',
    '',
    ...shellPreparation(cluster, program),
    '  # without its annotation, the Pod loses its label',
    '  kubectl annotate pod my-nginx padok.fr/add-pod-name-label-',
    '  kubectl get pod my-nginx --show-labels',
    '',
    '  # the operator creates a deleted RoleBinding again',
    `  kubectl delete rolebinding ${roleBindingPrefix}team-1 --namespace team-1`,
    `  kubectl wait --for=create rolebinding/${roleBindingPrefix}team-1 --namespace team-1`,
    '',
    '  # a new namespace gets a RoleBinding of its own',
    '  kubectl create namespace team-2',
    `  kubectl wait --for=create rolebinding/${roleBindingPrefix}team-2 --namespace team-2`,
    '',
    '  # three Pods become five',
    '  kubectl scale podset podset-sample --replicas=5',
    "  kubectl wait podset podset-sample --for=jsonpath='{.status.readyReplicas}'=5",
    '  kubectl get pods --selector app=podset-sample',
    '',
    '  # a quota stops it: ask why, and kill the operator; the next one continues with the next attempt',
    '  kubectl create quota pods --hard=pods=8',
    '  kubectl scale podset podset-sample --replicas=10',
    '  kubectl-durable why podset/podset-sample',
    `  pkill -KILL -f ${shellWord(`${program} run`)}`,
    '  kubectl-durable history podset/podset-sample',
    '  kubectl delete quota pods',
    '  kubectl-durable why --all-namespaces',
    '',
    '  # what was built, and on which node; a delete first removes the binary there',
    '  kubectl get xxx xxx-sample --output wide',
    "  kubectl get xxx xxx-sample --output jsonpath='{.status.artifacts}'",
    '  kubectl delete xxx xxx-sample',
    '',
    ...(temporal.uiUrl === undefined
      ? ['Each change is a run in the Temporal UI.']
      : ['Each change is a run in the Temporal UI:', `  ${workflowsPage(temporal)}`]),
    'docs/reading-the-temporal-ui.md says how to read it.',
  ];
}

function shellPreparation({ kubectl, kubeconfigFile }: Addresses['cluster'], program: string): string[] {
  const ask = join(dirname(program), 'ask', `main${extname(program)}`);
  return [
    ...(kubeconfigFile === undefined ? [] : [`  export KUBECONFIG=${shellWord(kubeconfigFile)}`]),
    ...(kubectl === 'kubectl' ? [] : [`  alias kubectl=${shellWord(kubectl)}`]),
    `  alias kubectl-durable=${shellWord(`${shellWord(process.execPath)} ${shellWord(ask)}`)}`,
    '',
  ];
}

/** For a given cluster. */
export function howToRemoveSamples(kubeconfigFile: string | undefined): string {
  const kubeconfig = kubeconfigFile === undefined ? '' : `KUBECONFIG=${shellWord(kubeconfigFile)} `;
  return `the custom resource definitions and the samples stay on the cluster; to remove the samples, run this while an operator is running (it has to remove what was built): ${kubeconfig}kubectl delete -f deploy/samples`;
}

/** Quoted for the shell if necessary. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
