import type { Control } from '../../contract/control.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { conditionsIn, generationIn } from '../condition.ts';
import { controlWithStatusOf } from '../control/annotations.ts';
import { fieldsOf, listOf, numberOf, textOf, type Fields } from '../fields.ts';
import { troubleIn, type PodTrouble } from '../pod-trouble.ts';
import { isObjectName, MANAGED_BY, MANAGED_BY_LABEL, NAME_MAX } from '../kinds.ts';
import { startOf } from '../../contract/text.ts';
import {
  BINARIES_ANNOTATION,
  BINARIES_MAX,
  BINARY_NAME_ANNOTATION,
  BUILD_FINALIZER,
  BUILD_PHASES,
  BUILD_UID_LABEL,
  buildNameIn,
  JOB_PURPOSES,
  NODE_ANNOTATION,
  ORPHAN_FINALIZER,
  PURPOSE_LABEL,
  SKIP_CLEANUP_ANNOTATION,
  SPEC_HASH_ANNOTATION,
  type Artifact,
  type BuildStatus,
  type JobPurpose,
} from './resource.ts';
import { checkSpec, isBinaryName, isJobName, type CheckedSpec, type SpecOptions } from './spec.ts';

/** What is kept of a build. */
export interface BuildView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deleting: boolean;
  /** RFC 3339: when its deletion was requested, or empty. */
  readonly deletedAt: string;
  /** Only those that decisions need: ours, and the one that asks to orphan what the build owns. */
  readonly finalizers: readonly string[];
  /** Whether it has any besides ours: they may be long, so the view does not keep them. */
  readonly hasOtherFinalizers?: true;
  readonly skipCleanup: boolean;
  readonly spec: CheckedSpec;
  /** Only what is well-formed: somebody may have written it by hand. Empty if there is none yet. */
  readonly status: Partial<BuildStatus>;
  readonly control?: Control;
}

export function buildView(object: KubernetesObject, options: SpecOptions): BuildView {
  const { metadata, ...rest } = object;
  const { finalizers = [] } = metadata;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
    deletedAt: metadata.deletionTimestamp ?? '',
    finalizers: [BUILD_FINALIZER, ORPHAN_FINALIZER].filter((each) => finalizers.includes(each)),
    ...(finalizers.some((each) => each !== BUILD_FINALIZER) && { hasOtherFinalizers: true }),
    skipCleanup: metadata.annotations?.[SKIP_CLEANUP_ANNOTATION] === 'true',
    spec: checkSpec(rest['spec'], options),
    status: statusIn(rest['status']),
    control: controlWithStatusOf(object),
  };
}

export function hasOurFinalizer({ finalizers }: Pick<BuildView, 'finalizers'>): boolean {
  return finalizers.includes(BUILD_FINALIZER);
}

function statusIn(raw: unknown): Partial<BuildStatus> {
  const fields = fieldsOf(raw);
  const phase = BUILD_PHASES.find((each) => each === fields['phase']);
  const observedGeneration = generationIn(fields['observedGeneration']);
  const jobName = textOf(fields['jobName']);
  const texts = ['binaryName', 'startTime', 'completionTime', 'message', 'workflowId'] as const;
  return {
    ...(phase && { phase }),
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...(jobName !== undefined && isJobName(jobName) && { jobName }),
    ...Object.fromEntries(
      texts.flatMap((name) => (typeof fields[name] === 'string' ? [[name, fields[name]]] : [])),
    ),
    ...('artifacts' in fields && { artifacts: artifactsIn(fields['artifacts']) }),
    ...('conditions' in fields && { conditions: conditionsIn(fields['conditions']) }),
  };
}

/** Only names of files are passed to a cleanup Job, and only names of nodes are cleaned. */
function artifactsIn(raw: unknown): readonly Artifact[] {
  return listOf(raw).flatMap((fields) => {
    const { node, binary } = { node: textOf(fields['node']), binary: textOf(fields['binary']) };
    return node !== undefined && isObjectName(node) && binary !== undefined && isBinaryName(binary)
      ? [{ node, binary }]
      : [];
  });
}

export type JobState = 'active' | 'succeeded' | 'failed';

/** What is kept of a Job of ours. */
export interface JobView {
  readonly kind: 'job';
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Of the build that it is for. */
  readonly buildUid: string;
  /** The name of that build. */
  readonly buildName: string;
  /** It has an owner reference: the garbage collector deletes it after its build. */
  readonly owned: boolean;
  readonly purpose: JobPurpose;
  readonly state: JobState;
  /** Deletion was requested. In the foreground, it goes after its Pods. */
  readonly deleting: boolean;
  /** Of the spec that it builds. */
  readonly hash: string;
  /** Of a cleanup Job: what it cleans. */
  readonly node: string;
  readonly binaries: readonly string[];
  /** RFC 3339. */
  readonly createdAt: string;
  /** RFC 3339: when it ended, or empty. */
  readonly endedAt: string;
  /** `reason` of its condition Failed: `DeadlineExceeded`, `BackoffLimitExceeded`. */
  readonly failure: string;
  /** The message of that condition. */
  readonly failureMessage: string;
}

/** Undefined if it is not ours: it lacks our label, or the UID or purpose that all of ours carry. */
export function jobView({ metadata, ...rest }: KubernetesObject): JobView | undefined {
  const { labels = {}, annotations = {} } = metadata;
  const buildUid = labels[BUILD_UID_LABEL];
  const purpose = purposeIn(labels);
  if (labels[MANAGED_BY_LABEL] !== MANAGED_BY || buildUid === undefined || purpose === undefined)
    return undefined;
  const status = fieldsOf(rest['status']);
  return {
    kind: 'job',
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    buildUid,
    buildName: buildNameIn(annotations) ?? '',
    owned: metadata.ownerReferences?.some(({ uid }) => uid === buildUid) ?? false,
    purpose,
    deleting: metadata.deletionTimestamp !== undefined,
    hash: startOf(annotations[SPEC_HASH_ANNOTATION] ?? '', NAME_MAX),
    node: startOf(annotations[NODE_ANNOTATION] ?? '', NAME_MAX),
    binaries: binariesIn(annotations[BINARIES_ANNOTATION]),
    createdAt: metadata.creationTimestamp ?? '',
    ...endOf(status),
  };
}

/** Our cleanup Jobs have no more. Somebody else may write 256 KiB of them. */
function binariesIn(text = ''): readonly string[] {
  const names = startOf(text, BINARIES_MAX * NAME_MAX).split(',', BINARIES_MAX);
  return names.filter((name) => name !== '');
}

function purposeIn(labels: Readonly<Record<string, string>>): JobPurpose | undefined {
  return JOB_PURPOSES.find((purpose) => purpose === labels[PURPOSE_LABEL]);
}

/** SuccessCriteriaMet and FailureTarget are not the end: Pods may still run. */
function endOf(status: Readonly<Record<string, unknown>>) {
  const conditions = listOf(status['conditions']).filter((each) => each['status'] === 'True');
  const failed = conditions.find((each) => each['type'] === 'Failed');
  const complete = conditions.find((each) => each['type'] === 'Complete');
  const end = failed ?? complete ?? {};
  const state: JobState = failed !== undefined ? 'failed' : complete !== undefined ? 'succeeded' : 'active';
  return {
    state,
    endedAt: textOf(end['lastTransitionTime']) ?? '',
    failure: textOf(failed?.['reason']) ?? '',
    failureMessage: textOf(failed?.['message']) ?? '',
  };
}

/** How a container failed. */
export interface Termination {
  readonly exitCode: number;
  /** `Error`, `OOMKilled` … */
  readonly reason: string;
  /** The last lines that it wrote. */
  readonly lastLines: string;
}

/** What is kept of a Pod of a Job of ours. */
export interface PodView {
  readonly kind: 'pod';
  readonly name: string;
  readonly uid: string;
  readonly buildUid: string;
  readonly purpose: JobPurpose;
  /** Of its Job, or empty. A label has it, which an orphan deletion does not remove. */
  readonly jobUid: string;
  readonly hash: string;
  readonly binary: string;
  /** Where it was scheduled, or empty. */
  readonly node: string;
  readonly phase: 'unfinished' | 'succeeded' | 'failed';
  /** Whether a container of it has run, or may have. */
  readonly started: boolean;
  readonly trouble?: PodTrouble;
  readonly termination?: Termination;
  /** RFC 3339. */
  readonly createdAt: string;
  /** RFC 3339: when its container ended, or empty. */
  readonly endedAt: string;
}

/** Undefined if it is not ours. */
export function podView(pod: KubernetesObject): PodView | undefined {
  const { metadata, ...rest } = pod;
  const { labels = {}, annotations = {} } = metadata;
  const buildUid = labels[BUILD_UID_LABEL];
  const purpose = purposeIn(labels);
  if (buildUid === undefined || purpose === undefined) return undefined;
  const status = fieldsOf(rest['status']);
  const node = startOf(textOf(fieldsOf(rest['spec'])['nodeName']) ?? '', NAME_MAX);
  const phase = phaseIn(status);
  const containers = listOf(status['containerStatuses']);
  const trouble = phase === 'unfinished' ? troubleIn(pod) : undefined;
  const terminated = containers.map((each) => fieldsOf(fieldsOf(each['state'])['terminated'])).find(hasEnded);
  const termination = phase === 'failed' ? terminationIn(status, terminated) : undefined;
  return {
    kind: 'pod',
    name: metadata.name,
    uid: metadata.uid,
    buildUid,
    purpose,
    jobUid: labels[CONTROLLER_UID_LABEL] ?? '',
    hash: startOf(annotations[SPEC_HASH_ANNOTATION] ?? '', NAME_MAX),
    binary: binaryIn(annotations[BINARY_NAME_ANNOTATION]),
    node,
    phase,
    started: node !== '' && hasStarted(status, containers),
    ...(trouble && { trouble }),
    ...(termination && { termination }),
    createdAt: metadata.creationTimestamp ?? '',
    endedAt: textOf(terminated?.['finishedAt']) ?? '',
  };
}

/** Anybody may have written it. An invalid name would not be read back from the status. */
function binaryIn(text = ''): string {
  return isBinaryName(text) ? text : '';
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

/** If a Pod failed without a status of its containers, they may have run. */
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

/** Source: kubernetes/pkg/apis/batch/types.go, `ControllerUidLabel`. */
const CONTROLLER_UID_LABEL = 'batch.kubernetes.io/controller-uid';

export type BuildChild = JobView | PodView;
