import type { KubernetesObject } from '../../contract/object.ts';
import { fieldsOf, listOf, textOf } from './fields.ts';
import {
  ATTEMPT_ANNOTATION,
  BINARIES_ANNOTATION,
  BINARY_NAME_ANNOTATION,
  BUILD_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  JOB_PURPOSES,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NODE_ANNOTATION,
  PURPOSE_LABEL,
  SPEC_HASH_ANNOTATION,
  type JobPurpose,
} from './names.ts';

export type JobState = 'active' | 'succeeded' | 'failed';

/** What counts of a Job of ours. */
export interface JobView {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Of the build that it is for. */
  readonly buildUid: string;
  /** The name of that build. */
  readonly buildName: string;
  /** It goes with its build, as garbage: nobody has taken its owner reference away. */
  readonly owned: boolean;
  readonly purpose: JobPurpose;
  readonly state: JobState;
  /** Deletion was asked for; it goes when its Pods are gone. */
  readonly deleting: boolean;
  /** Of the spec that it builds. */
  readonly hash: string;
  readonly binary: string;
  /** What it cleans, where it is a cleanup Job. */
  readonly node: string;
  readonly binaries: readonly string[];
  readonly attempt: number;
  /** RFC 3339. */
  readonly createdAt: string;
  /** RFC 3339: when it ended, or empty. */
  readonly endedAt: string;
  /** `reason` of its condition Failed: `DeadlineExceeded`, `BackoffLimitExceeded`. */
  readonly failure: string;
  /** The server's words for it. */
  readonly failureMessage: string;
}

/** Undefined where it is none of ours: it lacks our label, or the UID or purpose that all of ours carry. */
export function jobView({ metadata, ...rest }: KubernetesObject): JobView | undefined {
  const { labels = {}, annotations = {} } = metadata;
  const buildUid = labels[BUILD_UID_LABEL];
  const purpose = purposeIn(labels);
  if (labels[MANAGED_BY_LABEL] !== MANAGED_BY || buildUid === undefined || purpose === undefined)
    return undefined;
  const status = fieldsOf(rest['status']);
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    buildUid,
    buildName: annotations[BUILD_NAME_ANNOTATION] ?? '',
    owned: metadata.ownerReferences?.some(({ uid }) => uid === buildUid) ?? false,
    purpose,
    deleting: metadata.deletionTimestamp !== undefined,
    hash: annotations[SPEC_HASH_ANNOTATION] ?? '',
    binary: annotations[BINARY_NAME_ANNOTATION] ?? '',
    node: annotations[NODE_ANNOTATION] ?? '',
    binaries: (annotations[BINARIES_ANNOTATION] ?? '').split(',').filter((name) => name !== ''),
    attempt: Number(annotations[ATTEMPT_ANNOTATION] ?? '1') || 1,
    createdAt: metadata.creationTimestamp ?? '',
    ...endOf(status),
  };
}

export function purposeIn(labels: Readonly<Record<string, string>>): JobPurpose | undefined {
  return JOB_PURPOSES.find((purpose) => purpose === labels[PURPOSE_LABEL]);
}

/** SuccessCriteriaMet and FailureTarget come while Pods are still going: only what follows them is the end. */
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
