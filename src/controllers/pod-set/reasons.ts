import { reasons } from '../condition.ts';

/** Every reason that a condition of a PodSet may have; docs/conditions.md lists them. */
export const POD_SET_REASONS = [
  ...reasons('Ready', 'True', {
    PodsReady: 'All desired Pods exist and are Ready.',
  }),
  ...reasons('Ready', 'False', {
    PodsMissing: 'Some Pods have not been created yet.',
    PodsSurplus: 'There are more Pods than `spec.replicas`.',
    PodsStarting:
      'All desired Pods exist. Some are not Ready yet, for less than 60 seconds and without a known problem.',
    ContainerCannotStart: 'A container of a Pod cannot be started.',
    ImageNotPulled: 'The image of a Pod cannot be pulled.',
    CrashLooping: 'A container of a Pod ends again and again. The message says how.',
    Unschedulable: 'No node suits a Pod. The message says what the nodes lack.',
    SchedulingGated: 'A Pod waits until its scheduling gates are removed. The message names them.',
    NodeNotReady:
      'A Pod has not been Ready for 60 seconds, and its node is not ready. The message names the node, and since when.',
    PodsNotReady: 'A Pod has not been Ready for 60 seconds.',
    PodsFailed: 'Pods failed. They are replaced after a pause that grows each time.',
    CreateFailed: 'Pods are missing, and the API server refuses to create them.',
    Overridden: 'Pods are missing, because something changes the Pods that the operator creates.',
    InvalidSpec: 'The spec has a value that the operator does not accept.',
  }),
  ...reasons('Stalled', 'True', {
    CreateFailed:
      'The API server refuses to create Pods. The message has its words. It is retried with backoff.',
    DeleteFailed: 'The API server refuses to delete Pods. It is retried with backoff.',
    AdoptFailed:
      'The API server refuses the adoption of Pods. It is retried with backoff; until then, no Pods are created or deleted.',
    ReleaseFailed:
      'The API server refuses the release of Pods that lost the labels. It is retried with backoff; until then, no Pods are created or deleted.',
    Overridden:
      'The API server accepts what the operator writes to Pods, but a webhook, a policy or another client changes it. The message names the field. It is retried with backoff, first as a dry run.',
    InvalidSpec: 'The spec has a value that the operator does not accept. Change the spec.',
  }),
  ...reasons('Stalled', 'False', {
    NotStalled: 'Nobody has to do anything.',
  }),
];

export type PodSetReason = (typeof POD_SET_REASONS)[number]['reason'];
