import type { ReasonRow } from '../condition.ts';

/** Every reason that a condition of a PodSet may have; docs/conditions.md lists them. */
export const POD_SET_REASONS = [
  {
    type: 'Ready',
    status: 'True',
    reason: 'PodsReady',
    meaning: 'All desired Pods exist and are Ready.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'PodsMissing',
    meaning: 'Some Pods have not been created yet.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'PodsSurplus',
    meaning: 'There are more Pods than `spec.replicas`.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'PodsStarting',
    meaning:
      'All desired Pods exist. Some are not Ready yet, for less than 60 seconds and without a known problem.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'ContainerCannotStart',
    meaning: 'A container of a Pod cannot be started.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'ImageNotPulled',
    meaning: 'The image of a Pod cannot be pulled.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'CrashLooping',
    meaning: 'A container of a Pod ends again and again. The message says how.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Unschedulable',
    meaning: 'No node suits a Pod. The message says what the nodes lack.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'PodsNotReady',
    meaning: 'A Pod has not been Ready for 60 seconds.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'PodsFailed',
    meaning: 'Pods failed. They are replaced after a pause that grows each time.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'CreateFailed',
    meaning: 'Pods are missing, and the API server refuses to create them.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'Overridden',
    meaning: 'Pods are missing, because something changes the Pods that the operator creates.',
  },
  {
    type: 'Ready',
    status: 'False',
    reason: 'InvalidSpec',
    meaning: 'The spec has a value that the operator does not accept.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'CreateFailed',
    meaning: 'The API server refuses to create Pods. The message has its words. It is retried with backoff.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'DeleteFailed',
    meaning: 'The API server refuses to delete Pods. It is retried with backoff.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'AdoptFailed',
    meaning:
      'The API server refuses the adoption of Pods. It is retried with backoff; until then, no Pods are created or deleted.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'ReleaseFailed',
    meaning:
      'The API server refuses the release of Pods that lost the labels. It is retried with backoff; until then, no Pods are created or deleted.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'Overridden',
    meaning:
      'The API server accepts what the operator writes to Pods, but a webhook, a policy or another client changes it. The message names the field. It is retried with backoff, first as a dry run.',
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'InvalidSpec',
    meaning: 'The spec has a value that the operator does not accept. Change the spec.',
  },
  {
    type: 'Stalled',
    status: 'False',
    reason: 'NotStalled',
    meaning: 'Nobody has to do anything.',
  },
] as const satisfies readonly ReasonRow[];

export type PodSetReason = (typeof POD_SET_REASONS)[number]['reason'];
