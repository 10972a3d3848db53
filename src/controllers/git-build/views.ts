import type { KubernetesObject } from '../../contract/object.ts';
import { truncate } from '../../contract/text.ts';
import type { Control } from '../../contract/control.ts';
import { conditionsIn, generationIn } from '../condition.ts';
import { controlWithStatusOf } from '../control/annotations.ts';
import { fieldsOf, listOf, numberOf, textOf, type Fields } from '../fields.ts';
import { isObjectName, MANAGED_BY, MANAGED_BY_LABEL, NAME_MAX } from '../kinds.ts';
import { troubleIn, type PodTrouble } from '../../api/pod-trouble.ts';
import {
  BINARIES_ANNOTATION,
  BINARIES_MAX,
  BINARY_NAME_ANNOTATION,
  BUILD_FINALIZER,
  BUILD_UID_LABEL,
  buildNameIn,
  BUILDS,
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

/*
 * What is kept of a build, its Jobs and their Pods. Times are RFC 3339. What an object does not have is an empty text.
 */

export interface BuildView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly deleting: boolean;
  readonly deletedAt: string;
  /** Only those that decisions need: ours, and the one that asks to orphan what the build owns. */
  readonly finalizers: readonly string[];
  /** Whether it has any besides ours: they may be long, so the view does not keep them. */
  readonly hasOtherFinalizers?: true;
  readonly skipCleanup: boolean;
  readonly spec: CheckedSpec;
  /** Only what is well-formed: somebody may have written it by hand. */
  readonly status: Partial<BuildStatus>;
  readonly control?: Control;
}

export function buildView(object: KubernetesObject, options: SpecOptions): BuildView {
  const { metadata } = object;
  const { namespace = '', name, uid, resourceVersion, generation = 0, deletionTimestamp } = metadata;
  const { finalizers = [], annotations } = metadata;
  return {
    ...{ namespace, name, uid, resourceVersion, generation },
    deleting: deletionTimestamp !== undefined,
    deletedAt: deletionTimestamp ?? '',
    finalizers: [BUILD_FINALIZER, ORPHAN_FINALIZER].filter((each) => finalizers.includes(each)),
    ...(finalizers.some((each) => each !== BUILD_FINALIZER) && { hasOtherFinalizers: true }),
    skipCleanup: annotations?.[SKIP_CLEANUP_ANNOTATION] === 'true',
    spec: checkSpec(object['spec'], options),
    status: statusIn(object['status']),
    control: controlWithStatusOf(object),
  };
}

export function hasOurFinalizer({ finalizers }: Pick<BuildView, 'finalizers'>): boolean {
  return finalizers.includes(BUILD_FINALIZER);
}

function statusIn(raw: unknown): Partial<BuildStatus> {
  const fields = fieldsOf(raw);
  const phase = BUILDS.status.shape.phase.safeParse(fields['phase']).data;
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
    const { node = '', binary = '' } = { node: textOf(fields['node']), binary: textOf(fields['binary']) };
    return isObjectName(node) && isBinaryName(binary) ? [{ node, binary }] : [];
  });
}

export type JobState = 'active' | 'succeeded' | 'failed';

export type JobView = NonNullable<ReturnType<typeof jobView>>;

/** Undefined if it is not ours: it lacks our label, or the UID or purpose that all of ours carry. */
export function jobView({ metadata, ...rest }: KubernetesObject) {
  const { name, uid, resourceVersion, labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const its = belongingIn(labels);
  if (labels[MANAGED_BY_LABEL] !== MANAGED_BY || its === undefined) return undefined;
  return {
    ...{ kind: 'job' as const, name, uid, resourceVersion },
    ...its,
    buildName: buildNameIn(annotations) ?? '',
    /** The garbage collector deletes it after its build. */
    owned: ownerReferences.some((owner) => owner.uid === its.buildUid),
    /** In the foreground, it goes after its Pods. */
    deleting: metadata.deletionTimestamp !== undefined,
    /** Of the spec that it builds. */
    hash: truncate(annotations[SPEC_HASH_ANNOTATION] ?? '', NAME_MAX),
    /** What a cleanup cleans. */
    node: truncate(annotations[NODE_ANNOTATION] ?? '', NAME_MAX),
    binaries: binariesIn(annotations[BINARIES_ANNOTATION]),
    createdAt: metadata.creationTimestamp ?? '',
    ...suspensionOf({ metadata, ...rest }),
    ...endOf(fieldsOf(rest['status'])),
  };
}

/** Who has suspended it, where that can be told; else an empty text. Absent: it is not suspended. */
function suspensionOf({ metadata, ...rest }: KubernetesObject): { readonly suspendedBy?: string } {
  if (fieldsOf(rest['spec'])['suspend'] !== true) return {};
  if (metadata.labels?.[KUEUE_LABEL] !== undefined) return { suspendedBy: 'Kueue' };
  const owner = listOf(fieldsOf(metadata)['managedFields']).find(
    (each) => fieldsOf(fieldsOf(each['fieldsV1'])['f:spec'])['f:suspend'] !== undefined,
  );
  return { suspendedBy: truncate(textOf(owner?.['manager']) ?? '', NAME_MAX) };
}

/** Its webhook suspends what is in a queue, as if the creator had. */
const KUEUE_LABEL = 'kueue.x-k8s.io/queue-name';

/** Our cleanup Jobs have no more. Somebody else may write 256 KiB of them. */
function binariesIn(text = ''): readonly string[] {
  const names = truncate(text, BINARIES_MAX * NAME_MAX).split(',', BINARIES_MAX);
  return names.filter((name) => name !== '');
}

interface Belonging {
  readonly buildUid: string;
  readonly purpose: JobPurpose;
}

function belongingIn(labels: Readonly<Record<string, string>>): Belonging | undefined {
  const buildUid = labels[BUILD_UID_LABEL];
  const purpose = JOB_PURPOSES.find((each) => each === labels[PURPOSE_LABEL]);
  return buildUid === undefined || purpose === undefined ? undefined : { buildUid, purpose };
}

/** SuccessCriteriaMet and FailureTarget are not the end: Pods may still run. */
function endOf(status: Fields) {
  const conditions = listOf(status['conditions']).filter((each) => each['status'] === 'True');
  const failed = conditions.find((each) => each['type'] === 'Failed');
  const complete = conditions.find((each) => each['type'] === 'Complete');
  const state: JobState = failed ? 'failed' : complete ? 'succeeded' : 'active';
  return {
    state,
    endedAt: textOf((failed ?? complete)?.['lastTransitionTime']) ?? '',
    /** `DeadlineExceeded`, `BackoffLimitExceeded`. */
    failure: textOf(failed?.['reason']) ?? '',
    failureMessage: textOf(failed?.['message']) ?? '',
  };
}

export interface PodView extends Belonging {
  readonly kind: 'pod';
  readonly name: string;
  readonly uid: string;
  /** Of its Job. A label has it, which an orphan deletion does not remove. */
  readonly jobUid: string;
  readonly hash: string;
  readonly binary: string;
  /** Where it was scheduled. */
  readonly node: string;
  readonly phase: 'unfinished' | 'succeeded' | 'failed';
  /** Whether its container has run, or may have: the one that builds, or cleans. Others may have been added to the Pod. */
  readonly started: boolean;
  /** Of its container; undefined: that has not ended. */
  readonly exitCode?: number;
  /** Its container has ended, but these still run. */
  readonly running?: readonly string[];
  readonly trouble?: PodTrouble;
  readonly termination?: Termination;
  readonly createdAt: string;
  /** When its container ended. */
  readonly endedAt: string;
}

/** How a container failed. */
export interface Termination {
  /** One that was added to the Pod. Absent: its own. */
  readonly container?: string;
  /** -1: it is not known. */
  readonly exitCode: number;
  /** `Error`, `OOMKilled` … */
  readonly reason: string;
  /** The last lines that it wrote. */
  readonly lastLines: string;
}

export type BuildChild = JobView | PodView;

/** Undefined if it is not ours. */
export function podView(pod: KubernetesObject): PodView | undefined {
  const { name, uid, labels = {}, annotations = {}, creationTimestamp = '' } = pod.metadata;
  const its = belongingIn(labels);
  if (its === undefined) return undefined;
  const status = fieldsOf(pod['status']);
  const node = truncate(textOf(fieldsOf(pod['spec'])['nodeName']) ?? '', NAME_MAX);
  const binary = annotations[BINARY_NAME_ANNOTATION] ?? '';
  const phase = PHASES.get(status['phase']) ?? 'unfinished';
  const all = listOf(status['containerStatuses']);
  const own = all.filter((each) => each['name'] === its.purpose);
  const containers = own.length === 0 ? all : own;
  const trouble = phase === 'unfinished' ? troubleIn(pod) : undefined;
  const [terminated] = containers.flatMap(endedIn);
  const termination = phase === 'failed' ? terminationIn(status, terminated, all) : undefined;
  const exitCode = own.length === 0 ? undefined : numberOf(terminated?.['exitCode']);
  const running = phase === 'unfinished' && exitCode !== undefined ? all.flatMap(runningIn) : [];
  return {
    ...{ kind: 'pod', name, uid, ...its },
    jobUid: labels[CONTROLLER_UID_LABEL] ?? '',
    hash: truncate(annotations[SPEC_HASH_ANNOTATION] ?? '', NAME_MAX),
    // Anybody may have written it. An invalid name would not be read back from the status.
    binary: isBinaryName(binary) ? binary : '',
    ...{ node, phase },
    started: node !== '' && hasStarted(status, containers, own.length > 0),
    ...(exitCode !== undefined && { exitCode }),
    ...(running.length > 0 && { running }),
    ...(trouble && { trouble }),
    ...(termination && { termination }),
    createdAt: creationTimestamp,
    endedAt: textOf(terminated?.['finishedAt']) ?? '',
  };
}

/** Source: kubernetes/pkg/apis/batch/types.go, `ControllerUidLabel`. */
const CONTROLLER_UID_LABEL = 'batch.kubernetes.io/controller-uid';

const PHASES = new Map<unknown, PodView['phase']>([
  ['Succeeded', 'succeeded'],
  ['Failed', 'failed'],
]);

/** If a Pod failed without a status of its containers, they may have run. */
function hasStarted({ phase }: Fields, containers: readonly Fields[], isOwnKnown: boolean): boolean {
  if (!isOwnKnown && (phase === 'Running' || phase === 'Succeeded')) return true;
  if (phase === 'Failed' && containers.length === 0) return true;
  return containers.some(hasRun);
}

function endedIn(container: Fields): readonly Fields[] {
  const { terminated } = fieldsOf(container['state']);
  return terminated === undefined ? [] : [{ ...fieldsOf(terminated), name: container['name'] }];
}

const NAMES_MAX = 10;

function runningIn(container: Fields, index: number): readonly string[] {
  const isRunning = fieldsOf(container['state'])['running'] !== undefined;
  return isRunning && index < NAMES_MAX ? [truncate(textOf(container['name']) ?? '', NAME_MAX)] : [];
}

function hasRun(container: Fields): boolean {
  const { running, terminated } = fieldsOf(container['state']);
  const before = fieldsOf(container['lastState'])['terminated'];
  const isKnown = [running, terminated, before].some((each) => each !== undefined);
  return isKnown || (numberOf(container['restartCount']) ?? 0) > 0;
}

/** Its own container's, unless only another one has failed. */
function terminationIn(
  status: Fields,
  own: Fields | undefined,
  all: readonly Fields[],
): Termination | undefined {
  const failed = all.flatMap(endedIn).find(({ exitCode }) => exitCode !== 0);
  const isAnothers = own?.['exitCode'] === 0 && failed !== undefined;
  const terminated = isAnothers ? failed : own;
  const { exitCode, reason, message } = terminated ?? status;
  const words = { reason: textOf(reason) ?? '', lastLines: textOf(message) ?? '' };
  if (terminated === undefined && words.reason === '' && words.lastLines === '') return undefined;
  const container = isAnothers ? { container: truncate(textOf(failed['name']) ?? '', NAME_MAX) } : {};
  return { exitCode: numberOf(exitCode) ?? -1, ...words, ...container };
}
