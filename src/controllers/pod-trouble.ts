import type { KubernetesObject } from '../contract/object.ts';
import { truncate } from '../contract/text.ts';
import { fieldsOf, listOf, numberOf, textOf, type Fields } from './fields.ts';

/** What keeps a Pod from running, as its status tells. */
export interface PodTrouble {
  readonly code: 'Unschedulable' | 'ImageNotPulled' | 'ContainerCannotStart' | 'CrashLooping';
  /** It follows the name of the Pod: `cannot pull the image busybox`. The same as long as the trouble is. */
  readonly text: string;
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
  const scheduled = listOf(status['conditions']).find(({ type }) => type === 'PodScheduled');
  if (scheduled?.['status'] !== 'False' || scheduled['reason'] !== 'Unschedulable') return undefined;
  const words = schedulerWords(textOf(scheduled['message']) ?? '');
  return { code: 'Unschedulable', text: `cannot be scheduled: ${words}` };
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
