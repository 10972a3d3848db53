import type { ReasonRow } from '../condition.ts';

/** Every reason that a condition of an Xxx may have; docs/conditions.md lists them. */
export const BUILD_REASONS = [
  {
    type: 'Ready',
    status: 'True',
    reason: 'Built',
    meaning: 'The binary of this spec is built.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'CleanupStuck',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: the node of its cleanup is not ready.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'CleanupFailed',
    meaning: 'The binary of this spec is built, but that of an earlier spec could not be removed.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'JobNameTaken',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: a Job with the name of its cleanup exists that does not belong to the resource.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'Overridden',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: something changes the Job of its cleanup.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'ImageNotPulled',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: the image of its cleanup cannot be pulled.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'Unschedulable',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: no node takes the Pod of its cleanup.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'ContainerCannotStart',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: the container of its cleanup cannot be started.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'QuotaExceeded',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: a quota allows no Job for its cleanup.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'PodsRefused',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: the API server refuses the Pods of its cleanup.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'PodSecurity',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: the PodSecurity level of the namespace does not allow the Pods of its cleanup.',
  },
  {
    type: 'Ready',
    status: 'True',
    reason: 'Refused',
    meaning:
      'The binary of this spec is built, but that of an earlier spec stays: the API server refuses to create or to delete a Job.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Pending',
    meaning: 'The Job has not been created yet.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Building',
    meaning: 'The Job is running.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'ImageNotPulled',
    meaning: 'A Job is there, but the image of its Pod cannot be pulled.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Unschedulable',
    meaning: 'A Job is there, but no node takes its Pod.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'ContainerCannotStart',
    meaning: 'A Job is there, but the container of its Pod cannot be started.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'PodsRefused',
    meaning: 'A Job is there, but the API server refuses its Pods.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'StrayPods',
    meaning: 'Pods of an earlier Job still run, although their Job is gone. They may write to their node.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'BuildFailed',
    meaning: 'The Job failed.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'InvalidSpec',
    meaning: 'The spec has a value that the operator does not accept.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'JobNameTaken',
    meaning: 'A Job with this name exists that does not belong to the resource.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'QuotaExceeded',
    meaning: 'A quota allows no Job.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'PodSecurity',
    meaning: 'The PodSecurity level of the namespace does not allow the Pods of a Job.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Refused',
    meaning:
      'The API server refuses the next step, such as to create or delete a Job, or to change the finalizers.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Overridden',
    meaning: 'See the condition `Stalled`.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Cleaning',
    meaning: 'The resource is being deleted, and its binary is being removed from the nodes.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'CleanupStuck',
    meaning: 'The resource is being deleted, and the node of its cleanup is not ready.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'CleanupFailed',
    meaning: 'The resource is being deleted, and a binary could not be removed from a node.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'BuildFailed',
    meaning: 'The Job failed. Change the spec, or delete the Job to build again.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'InvalidSpec',
    meaning: 'The spec has a value that the operator does not accept. Change the spec.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'JobNameTaken',
    meaning: 'Another Job has this name. Delete that Job, or choose another `jobName`.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'PodsRefused',
    meaning:
      'The API server refuses the Pods of a Job. The message has its words. The Job tries again within a minute.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'QuotaExceeded',
    meaning:
      'A quota allows no Job. The message has the words of the API server. It is retried with backoff.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'PodSecurity',
    meaning:
      'The PodSecurity level of the namespace does not allow the Pods of a Job. The message has the words of the API server. It is retried with backoff.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'Refused',
    meaning:
      'The API server refuses a step, such as to create or delete a Job. The message has its words. It is retried with backoff.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'Overridden',
    meaning:
      'The API server accepts what the operator writes, but a webhook, an admission policy or another client changes it. The message says what.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'CleanupStuck',
    meaning:
      'The node of a cleanup is not ready. Bring it back, or delete the Node if the machine is gone for good.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'CleanupFailed',
    meaning: 'A binary could not be removed from a node. The cleanup is retried with backoff.',
  },
  {
    type: 'Stalled',
    status: 'False',
    reason: 'InProgress',
    meaning: 'Nobody has to do anything.',
  },
] as const satisfies readonly ReasonRow[];

export type BuildReason = (typeof BUILD_REASONS)[number]['reason'];
