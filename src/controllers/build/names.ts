import { BUILD_GROUP } from './resource.ts';

export const BUILD_FINALIZER = `job.finalizers.${BUILD_GROUP}`;
/** With the value `true`, a build that is being deleted goes without cleanup. */
export const SKIP_CLEANUP_ANNOTATION = 'durable-operator.dev/skip-cleanup';

export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
export const MANAGED_BY = 'durable-operator';
/** On Jobs and their Pods: the UID of the build. They are known by it, whatever becomes of owner references. */
export const BUILD_UID_LABEL = 'durable-operator.dev/build-uid';
/** On Jobs and their Pods: what the Job is for. */
export const PURPOSE_LABEL = 'durable-operator.dev/job';

export const BUILD_NAME_ANNOTATION = 'durable-operator.dev/build-name';
export const SPEC_HASH_ANNOTATION = 'durable-operator.dev/spec-hash';
export const BINARY_NAME_ANNOTATION = 'durable-operator.dev/binary-name';
/** On cleanup Jobs: the node. */
export const NODE_ANNOTATION = 'durable-operator.dev/node';
/** On cleanup Jobs: what is removed there, with commas. */
export const BINARIES_ANNOTATION = 'durable-operator.dev/binaries';
/** On cleanup Jobs: how often it was tried, this time included. */
export const ATTEMPT_ANNOTATION = 'durable-operator.dev/attempt';

export const JOB_PURPOSES = ['build', 'cleanup'] as const;
export type JobPurpose = (typeof JOB_PURPOSES)[number];
