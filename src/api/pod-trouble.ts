import type { Advice, Cause } from './cause.ts';
import type { KubernetesObject } from './object.ts';
import { truncate } from './text.ts';
import { unreachable } from './unreachable.ts';
import { fieldsOf, listOf, numberOf, textOf, type Fields } from './fields.ts';

/** The worst first: there, waiting helps least. */
export const POD_TROUBLES = [
  'ContainerCannotStart',
  'ImageNotPulled',
  'CrashLooping',
  'Unschedulable',
  'SchedulingGated',
  'NodeNotReady',
] as const;
export type PodTroubleCode = (typeof POD_TROUBLES)[number];

/** What keeps a Pod from running, as its status tells. */
export interface PodTrouble {
  readonly code: Exclude<PodTroubleCode, 'NodeNotReady'>;
  /** It follows the name of the Pod: `cannot pull the image busybox`. The same as long as the trouble is. */
  readonly text: string;
}

/** What else is known of a Pod. */
export interface PodSurroundings {
  /** The one that the Pod is on. Default: it is not known. */
  readonly node?: KubernetesObject | undefined;
}

/**
 * Why a Pod does not get ready, and what to do: its reason is `ImageNotPulled`, `CrashLooping`, `ContainerCannotStart`, `Unschedulable`,
 * `SchedulingGated`, or, with its node, `NodeNotReady`. The words stay the same as long as the trouble does.
 *
 * @param pod the whole object
 * @returns undefined where it is Ready, has finished, is being deleted, or says nothing
 * @example
 * const trouble = podTrouble(pod);
 * if (trouble) return next.stalled(trouble);
 */
export function podTrouble(pod: KubernetesObject, { node }: PodSurroundings = {}): Cause | undefined {
  if (!isUnready(pod)) return undefined;
  const { name, namespace = 'default' } = pod.metadata;
  const trouble = troubleIn(pod) ?? (node && troubleOfNode(node));
  if (trouble === undefined) return undefined;
  const { code, text } = trouble;
  const onNode = code === 'NodeNotReady' && node ? [describeNode(node.metadata.name)] : [];
  return {
    reason: code,
    message: `Pod ${name} ${text}`,
    advice: [...onNode, ...podAdvice(code, `${name} -n ${namespace}`)],
  };
}

/** Whether a Pod is to get ready, and is not. */
export function isUnready({ metadata, ...pod }: KubernetesObject): boolean {
  const { phase, conditions } = fieldsOf(pod['status']);
  const isOver = phase === 'Succeeded' || phase === 'Failed' || metadata.deletionTimestamp !== undefined;
  return !isOver && conditionIn(conditions, 'Ready')?.['status'] !== 'True';
}

/** @returns undefined where it is ready */
export function troubleOfNode({ metadata: { name }, ...node }: KubernetesObject) {
  const ready = conditionIn(fieldsOf(node['status'])['conditions'], 'Ready');
  if (ready?.['status'] === 'True') return undefined;
  const since = textOf(ready?.['lastTransitionTime']);
  const how = since === undefined ? '' : ` since ${since}`;
  return { code: 'NodeNotReady' as const, text: `is on node ${name}, which is not ready${how}` };
}

export function describeNode(name: string): Advice {
  return { run: `kubectl describe node ${name}`, to: 'show the state of the node' };
}

function conditionIn(conditions: unknown, type: string): Fields | undefined {
  return listOf(conditions).find((each) => each['type'] === type);
}

/** @param pod its name and namespace, as kubectl takes them: `web-1 -n shop` */
export function podAdvice(code: PodTroubleCode, pod: string): readonly Advice[] {
  const describe = { run: `kubectl describe pod ${pod}`, to: 'show the Events of the Pod' };
  switch (code) {
    case 'ContainerCannotStart':
    case 'NodeNotReady':
      return [describe];
    case 'ImageNotPulled':
      return ['check that the image exists, and that the nodes reach its registry', describe];
    case 'CrashLooping':
      return [{ run: `kubectl logs ${pod} --previous`, to: 'show what it wrote before it ended' }, describe];
    case 'Unschedulable':
      return [
        'add a node that suits it, or make room on one',
        describe,
        { run: 'kubectl get nodes', to: 'show which nodes there are' },
      ];
    case 'SchedulingGated':
      return ['see which controller has to remove the gate', describe];
    default:
      return unreachable(code);
  }
}

/** Sources: kubernetes/pkg/kubelet/images/types.go, kubernetes/pkg/kubelet/kuberuntime. */
const IMAGE_REASONS = new Set<unknown>([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
const START_REASONS = new Set<unknown>([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);
const WORDS_MAX = 300;

/** @param pod one that is not Ready, and not finished */
export function troubleIn(pod: KubernetesObject): PodTrouble | undefined {
  const status = fieldsOf(pod['status']);
  const containers = [...listOf(status['initContainerStatuses']), ...listOf(status['containerStatuses'])];
  for (const container of containers) {
    const trouble = troubleOf(container);
    if (trouble !== undefined) return trouble;
  }
  const scheduled = conditionIn(status['conditions'], 'PodScheduled');
  if (scheduled?.['status'] === 'False' && scheduled['reason'] === 'SchedulingGated') return gatedBy(pod);
  if (scheduled?.['status'] !== 'False' || scheduled['reason'] !== 'Unschedulable') return undefined;
  const words = schedulerWords(textOf(scheduled['message']) ?? '');
  return { code: 'Unschedulable', text: `cannot be scheduled: ${words}` };
}

function gatedBy(pod: KubernetesObject): PodTrouble {
  const gates = listOf(fieldsOf(pod['spec'])['schedulingGates']).map(({ name }) => shortened(name));
  return { code: 'SchedulingGated', text: `waits for its scheduling gate ${gates.join(', ')} to be removed` };
}

/** The kubelet's words about an image change back and forth, so they are left out. */
function troubleOf(container: Fields): PodTrouble | undefined {
  const name = shortened(container['name']);
  const waiting = fieldsOf(fieldsOf(container['state'])['waiting']);
  const { reason } = waiting;
  if (IMAGE_REASONS.has(reason))
    return { code: 'ImageNotPulled', text: `cannot pull the image ${shortened(container['image'])}` };
  const ended = endOf(container);
  // The kubelet alternates between these while it tries to start one whose command does not exist.
  const problem = ended?.['reason'] === 'StartError' ? 'RunContainerError' : reason;
  if (START_REASONS.has(problem)) {
    const words = problem === 'CreateContainerConfigError' ? `: ${shortened(waiting['message'])}` : '';
    return {
      code: 'ContainerCannotStart',
      text: `cannot start the container ${name}: ${String(problem)}${words}`,
    };
  }
  if (ended === undefined) return undefined;
  const how = `exit code ${numberOf(ended['exitCode']) ?? 'unknown'} (${shortened(ended['reason'])})`;
  return { code: 'CrashLooping', text: `cannot keep the container ${name} running: it ended with ${how}` };
}

/** How a container ended that is restarted again and again; undefined for any other. */
function endOf(container: Fields): Fields | undefined {
  const { waiting, terminated } = fieldsOf(container['state']);
  if (fieldsOf(waiting)['reason'] === 'CrashLoopBackOff')
    return fieldsOf(fieldsOf(container['lastState'])['terminated']);
  const isCrash = terminated !== undefined && fieldsOf(terminated)['exitCode'] !== 0;
  return isCrash && (numberOf(container['restartCount']) ?? 0) > 0 ? fieldsOf(terminated) : undefined;
}

/**
 * The reasons alone: how many nodes have each, and thereby their order, changes with the cluster.
 * Source: kubernetes/pkg/scheduler/framework/types.go, `FitError.Error`.
 */
function schedulerWords(message: string): string {
  const [words = ''] = message.split(/\.(?: |$)/);
  const [, reasons] = /^\d+\/\d+ nodes are available: (.*)$/s.exec(words) ?? [];
  if (reasons === undefined) return shortened(words);
  const each = reasons.split(/, (?=\d+ )/).map((reason) => reason.replace(/^\d+ /, ''));
  return shortened(`no node is suitable: ${each.sort().join(', ')}`);
}

function shortened(value: unknown): string {
  return truncate(textOf(value) ?? '', WORDS_MAX);
}
