import { dirname, extname, join } from 'node:path';
import type { Surroundings } from './surroundings.ts';

/** Where people find the servers. */
export interface Addresses {
  readonly cluster: Omit<Surroundings['cluster'], 'kubeConfig'>;
  readonly temporal: Surroundings['temporal'];
}

/** Where to look, as lines for the terminal. */
export function whereThingsAre({ stack, cluster, temporal }: Surroundings): string[] {
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
function workflowsPage({ uiUrl, namespace }: Surroundings['temporal']): string {
  return `${uiUrl ?? ''}/namespaces/${namespace}/workflows`;
}

/** How this stack's operator runs. */
export interface Local {
  /** Its main module. */
  readonly program: string;
  readonly roleBindingPrefix: string;
}

/** What a newcomer may want to try, as lines for the terminal: commands that can be pasted. */
export function nextSteps({ cluster, temporal }: Addresses, { program, roleBindingPrefix }: Local): string[] {
  return [
    '',
    'All samples have converged. The local stack runs until Ctrl-C; try in another terminal:',
    '',
    ...shellPreparation(cluster, program),
    '  # without its annotation, the pod loses its label',
    '  kubectl annotate pod my-nginx padok.fr/add-pod-name-label-',
    '  kubectl get pod my-nginx --show-labels',
    '',
    '  # deleted, the role binding is put back',
    `  kubectl delete rolebinding ${roleBindingPrefix}team-1 --namespace team-1`,
    `  kubectl wait --for=create rolebinding/${roleBindingPrefix}team-1 --namespace team-1`,
    '',
    '  # a new namespace gets one of its own',
    '  kubectl create namespace team-2',
    `  kubectl wait --for=create rolebinding/${roleBindingPrefix}team-2 --namespace team-2`,
    '',
    '  # three Pods become five',
    '  kubectl scale podset podset-sample --replicas=5',
    "  kubectl wait podset podset-sample --for=jsonpath='{.status.readyReplicas}'=5",
    '  kubectl get pods --selector app=podset-sample',
    '',
    '  # a quota keeps it from having more: ask why, kill the operator, and see that the attempts go on',
    '  kubectl create quota pods --hard=pods=8',
    '  kubectl scale podset podset-sample --replicas=10',
    '  kubectl-durable why podset/podset-sample',
    `  pkill -KILL -f ${shellWord(`${program} run`)}`,
    '  kubectl-durable history podset/podset-sample',
    '  kubectl delete quota pods',
    '  kubectl-durable get --all-namespaces',
    '',
    '  # what was built, and on which node; deleted, it goes once the binary is removed there',
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

/** What stays where the cluster is somebody's own. */
export function howToRemoveSamples(kubeconfigFile: string | undefined): string {
  const kubeconfig = kubeconfigFile === undefined ? '' : `KUBECONFIG=${shellWord(kubeconfigFile)} `;
  return `the custom resource definitions and the samples stay on the cluster; to remove the samples, run this while an operator is running (it has to remove what was built): ${kubeconfig}kubectl delete -f deploy/samples`;
}

/** As the shell reads it back. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
