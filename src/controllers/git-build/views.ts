import { MANAGED_BY_LABEL, podTrouble, truncate, type KubernetesObject } from '../../api/index.ts';
import {
  BINARIES_ANNOTATION,
  BINARIES_MAX,
  BINARY_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  buildNameIn,
  JOB_PURPOSES,
  BUILD_MANAGER,
  OBJECT_NAME_MAX,
  NODE_ANNOTATION,
  PURPOSE_LABEL,
  SPEC_HASH_ANNOTATION,
  type JobPurpose,
} from './kind.ts';
import { isBinaryName } from './spec.ts';

/*
 * What is kept of the Jobs of a build, and of their Pods. Times are RFC 3339. What an object does not have is an empty text.
 */

export type JobState = 'active' | 'succeeded' | 'failed';

export type JobView = NonNullable<ReturnType<typeof jobView>>;

/** Undefined if it is not ours: it lacks our label, or the UID or purpose that all of ours carry. */
export function jobView({ metadata, ...rest }: KubernetesObject) {
  const { name, uid, resourceVersion, labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const its = belongingIn(labels);
  if (labels[MANAGED_BY_LABEL] !== BUILD_MANAGER || its === undefined) return undefined;
  return {
    ...{ kind: 'job' as const, name, uid, resourceVersion },
    ...its,
    buildName: buildNameIn(annotations) ?? '',
    /** The garbage collector deletes it after its build. */
    owned: ownerReferences.some((owner) => owner.uid === its.buildUid),
    /** In the foreground, it goes after its Pods. */
    deleting: metadata.deletionTimestamp !== undefined,
    /** Of the spec that it builds. */
    hash: truncate(annotations[SPEC_HASH_ANNOTATION] ?? '', OBJECT_NAME_MAX),
    /** What a cleanup cleans. */
    node: truncate(annotations[NODE_ANNOTATION] ?? '', OBJECT_NAME_MAX),
    binaries: binariesIn(annotations[BINARIES_ANNOTATION]),
    createdAt: metadata.creationTimestamp ?? '',
    ...suspensionOf({ metadata, ...rest }),
    ...endOf(rest['status'] ?? {}),
  };
}

/** Source: batch/v1, JobStatus. */
interface JobStatus {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
    readonly lastTransitionTime?: string;
  }[];
}

interface FieldsOfManager {
  readonly manager?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: { readonly 'f:suspend'?: object } };
}

/** Who has suspended it, where that can be told; else an empty text. Absent: it is not suspended. */
function suspensionOf({ metadata, ...rest }: KubernetesObject): { readonly suspendedBy?: string } {
  if (((rest['spec'] ?? {}) as { readonly suspend?: boolean }).suspend !== true) return {};
  if (metadata.labels?.[KUEUE_LABEL] !== undefined) return { suspendedBy: 'Kueue' };
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly FieldsOfManager[] };
  const owner = managedFields.find(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:suspend'] !== undefined);
  return { suspendedBy: truncate(owner?.manager ?? '', OBJECT_NAME_MAX) };
}

/** Its webhook suspends what is in a queue, as if the creator had. */
const KUEUE_LABEL = 'kueue.x-k8s.io/queue-name';

/** Our cleanup Jobs have no more. Somebody else may write 256 KiB of them. */
function binariesIn(text = ''): readonly string[] {
  const names = truncate(text, BINARIES_MAX * OBJECT_NAME_MAX).split(',', BINARIES_MAX);
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
function endOf({ conditions = [] }: JobStatus) {
  const found = (type: string) => conditions.find((each) => each.type === type && each.status === 'True');
  const failed = found('Failed');
  const complete = found('Complete');
  const state: JobState = failed ? 'failed' : complete ? 'succeeded' : 'active';
  return {
    state,
    endedAt: (failed ?? complete)?.lastTransitionTime ?? '',
    /** `DeadlineExceeded`, `BackoffLimitExceeded`. */
    failure: failed?.reason ?? '',
    failureMessage: failed?.message ?? '',
  };
}

/** What keeps a Pod from running. */
export interface BuildPodTrouble {
  /** A reason of `podTrouble`. */
  readonly code: string;
  /** It follows the name of the Pod: `cannot pull the image golang:1.13`. */
  readonly text: string;
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
  /** It is being deleted. */
  readonly going?: true;
  /** Of its container; undefined: that has not ended. */
  readonly exitCode?: number;
  /** Its container has ended, but these still run. */
  readonly running?: readonly string[];
  readonly trouble?: BuildPodTrouble;
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

/** Source: core/v1, ContainerState. */
interface ContainerState {
  readonly running?: object;
  readonly terminated?: Ended;
}

interface Ended {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly finishedAt?: string;
}

interface ContainerStatus {
  readonly name?: string;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
}

/** Undefined if it is not ours. */
export function podView(pod: KubernetesObject): PodView | undefined {
  const { name, uid, labels = {}, annotations = {}, creationTimestamp = '' } = pod.metadata;
  const its = belongingIn(labels);
  if (its === undefined) return undefined;
  const status = (pod['status'] ?? {}) as PodStatus;
  const { nodeName = '' } = (pod['spec'] ?? {}) as { readonly nodeName?: string };
  const node = truncate(nodeName, OBJECT_NAME_MAX);
  const binary = annotations[BINARY_NAME_ANNOTATION] ?? '';
  const phase = PHASES.get(status.phase) ?? 'unfinished';
  const all = status.containerStatuses ?? [];
  const own = all.filter((each) => each.name === its.purpose);
  const containers = own.length === 0 ? all : own;
  const trouble = phase === 'unfinished' ? jobTroubleIn(pod) : undefined;
  const [ended] = containers.flatMap(({ state }) => state?.terminated ?? []);
  const termination = phase === 'failed' ? terminationIn(status, ended) : undefined;
  const exitCode = own.length === 0 ? undefined : ended?.exitCode;
  const running = phase === 'unfinished' && exitCode !== undefined ? runningIn(all) : [];
  return {
    ...{ kind: 'pod', name, uid, ...its },
    jobUid: labels[CONTROLLER_UID_LABEL] ?? '',
    hash: truncate(annotations[SPEC_HASH_ANNOTATION] ?? '', OBJECT_NAME_MAX),
    // Anybody may have written it. An invalid name would not be read back from the status.
    binary: isBinaryName(binary) ? binary : '',
    ...{ node, phase },
    started: node !== '' && hasStarted(status, containers, own.length > 0),
    ...(pod.metadata.deletionTimestamp !== undefined && { going: true as const }),
    ...(exitCode !== undefined && { exitCode }),
    ...(running.length > 0 && { running }),
    ...(trouble && { trouble }),
    ...(termination && { termination }),
    createdAt: creationTimestamp,
    endedAt: ended?.finishedAt ?? '',
  };
}

/** Source: kubernetes/pkg/apis/batch/types.go, `ControllerUidLabel`. */
const CONTROLLER_UID_LABEL = 'batch.kubernetes.io/controller-uid';

const PHASES = new Map<string | undefined, PodView['phase']>([
  ['Succeeded', 'succeeded'],
  ['Failed', 'failed'],
]);

/** One that is being deleted has not run, either, where something keeps it from that. */
function jobTroubleIn({ metadata, ...pod }: KubernetesObject): BuildPodTrouble | undefined {
  const kept = { ...metadata, deletionTimestamp: undefined } as unknown as typeof metadata;
  const cause = podTrouble({ ...pod, metadata: kept });
  return cause && { code: cause.reason, text: cause.message.slice(`Pod ${metadata.name} `.length) };
}

/** If a Pod failed without a status of its containers, they may have run. */
function hasStarted(
  { phase }: PodStatus,
  containers: readonly ContainerStatus[],
  isOwnKnown: boolean,
): boolean {
  if (!isOwnKnown && (phase === 'Running' || phase === 'Succeeded')) return true;
  if (phase === 'Failed' && containers.length === 0) return true;
  return containers.some(hasRun);
}

const NAMES_MAX = 10;

function runningIn(containers: readonly ContainerStatus[]): readonly string[] {
  const running = containers.slice(0, NAMES_MAX).filter(({ state }) => state?.running !== undefined);
  return running.map(({ name = '' }) => truncate(name, OBJECT_NAME_MAX));
}

function hasRun({ state, lastState, restartCount = 0 }: ContainerStatus): boolean {
  const known = [state?.running, state?.terminated, lastState?.terminated];
  return known.some((each) => each !== undefined) || restartCount > 0;
}

/** Its own container's, unless only another one has failed. */
function terminationIn(status: PodStatus, own: Ended | undefined): Termination | undefined {
  const failed = status.containerStatuses?.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const another = own?.exitCode === 0 ? failed : undefined;
  const ended: Ended = another?.state?.terminated ?? own ?? status;
  const words = { reason: ended.reason ?? '', lastLines: ended.message ?? '' };
  if (own === undefined && words.reason === '' && words.lastLines === '') return undefined;
  const container = another ? { container: truncate(another.name ?? '', OBJECT_NAME_MAX) } : {};
  return { exitCode: ended.exitCode ?? -1, ...words, ...container };
}
