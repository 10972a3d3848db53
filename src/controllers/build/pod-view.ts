import type { KubernetesObject } from '../../contract/object.ts';
import { fieldsOf, listOf, numberOf, textOf, type Fields } from './fields.ts';
import { purposeIn } from './job-view.ts';
import {
  BINARY_NAME_ANNOTATION,
  BUILD_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  SPEC_HASH_ANNOTATION,
  type JobPurpose,
} from './names.ts';

/** What keeps a Pod from starting. */
export interface Trouble {
  readonly kind: 'image' | 'unschedulable' | 'container';
  /** For people. */
  readonly text: string;
}

/** How a container ended that did not end well. */
export interface Termination {
  readonly exitCode: number;
  /** `Error`, `OOMKilled` … */
  readonly reason: string;
  /** The last lines that it wrote. */
  readonly lastLines: string;
}

/** What counts of a Pod of a Job of ours. */
export interface PodView {
  readonly name: string;
  readonly uid: string;
  readonly buildUid: string;
  /** The name of the build. */
  readonly buildName: string;
  readonly purpose: JobPurpose;
  readonly hash: string;
  readonly binary: string;
  /** Where it was put, or empty. */
  readonly node: string;
  readonly phase: 'unfinished' | 'succeeded' | 'failed';
  /** Whether a container of it ever ran, or may have: what it does, it may have done. */
  readonly started: boolean;
  readonly trouble?: Trouble;
  readonly termination?: Termination;
  /** RFC 3339: when its container ended, or empty. */
  readonly endedAt: string;
}

/** Undefined where it is none of ours. */
export function podView({ metadata, ...rest }: KubernetesObject): PodView | undefined {
  const { labels = {}, annotations = {} } = metadata;
  const buildUid = labels[BUILD_UID_LABEL];
  const purpose = purposeIn(labels);
  if (buildUid === undefined || purpose === undefined) return undefined;
  const status = fieldsOf(rest['status']);
  const node = textOf(fieldsOf(rest['spec'])['nodeName']) ?? '';
  const phase = phaseIn(status);
  const containers = listOf(status['containerStatuses']);
  const trouble = phase === 'unfinished' ? troubleIn(status, containers) : undefined;
  const terminated = containers.map((each) => fieldsOf(fieldsOf(each['state'])['terminated'])).find(hasEnded);
  const termination = phase === 'failed' ? terminationIn(status, terminated) : undefined;
  return {
    name: metadata.name,
    uid: metadata.uid,
    buildUid,
    buildName: annotations[BUILD_NAME_ANNOTATION] ?? '',
    purpose,
    hash: annotations[SPEC_HASH_ANNOTATION] ?? '',
    binary: annotations[BINARY_NAME_ANNOTATION] ?? '',
    node,
    phase,
    started: node !== '' && hasStarted(status, containers),
    ...(trouble && { trouble }),
    ...(termination && { termination }),
    endedAt: textOf(terminated?.['finishedAt']) ?? '',
  };
}

function phaseIn(status: Fields): PodView['phase'] {
  switch (status['phase']) {
    case 'Succeeded':
      return 'succeeded';
    case 'Failed':
      return 'failed';
    default:
      return 'unfinished';
  }
}

function hasEnded(terminated: Fields): boolean {
  return terminated['exitCode'] !== undefined;
}

/** Where a kubelet gave up a Pod without a word on its containers, they may have run. */
function hasStarted(status: Fields, containers: readonly Fields[]): boolean {
  const phase = status['phase'];
  if (phase === 'Running' || phase === 'Succeeded') return true;
  if (phase === 'Failed' && containers.length === 0) return true;
  return containers.some(hasRun);
}

function hasRun(container: Fields): boolean {
  const state = fieldsOf(container['state']);
  const lastState = fieldsOf(container['lastState']);
  return (
    state['running'] !== undefined ||
    state['terminated'] !== undefined ||
    lastState['terminated'] !== undefined ||
    (numberOf(container['restartCount']) ?? 0) > 0
  );
}

const IMAGE_TROUBLES = new Set<unknown>([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
]);
const CONTAINER_TROUBLES = new Set<unknown>([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

/** In words that stay the same while the trouble does: the kubelet's own go back and forth. */
function troubleIn(status: Fields, containers: readonly Fields[]): Trouble | undefined {
  for (const container of containers) {
    const reason = fieldsOf(fieldsOf(container['state'])['waiting'])['reason'];
    const image = textOf(container['image']) ?? '';
    if (IMAGE_TROUBLES.has(reason)) return { kind: 'image', text: `the image ${image} cannot be pulled` };
    if (CONTAINER_TROUBLES.has(reason)) {
      return { kind: 'container', text: `the container cannot be started: ${String(reason)}` };
    }
  }
  const scheduled = listOf(status['conditions']).find((each) => each['type'] === 'PodScheduled');
  if (scheduled?.['status'] !== 'False' || scheduled['reason'] !== 'Unschedulable') return undefined;
  const words = (textOf(scheduled['message']) ?? '').split(/\. preemption:/)[0]?.slice(0, 300) ?? '';
  return { kind: 'unschedulable', text: `no node takes its Pod: ${words}` };
}

function terminationIn(status: Fields, terminated: Fields | undefined): Termination | undefined {
  if (terminated === undefined) {
    const reason = textOf(status['reason']) ?? '';
    const lastLines = textOf(status['message']) ?? '';
    return reason === '' && lastLines === '' ? undefined : { exitCode: -1, reason, lastLines };
  }
  return {
    exitCode: numberOf(terminated['exitCode']) ?? -1,
    reason: textOf(terminated['reason']) ?? '',
    lastLines: textOf(terminated['message']) ?? '',
  };
}
