import type { Condition } from '../../api/index.ts';

type Row<Reason extends string> = Pick<Condition, 'type' | 'status'> & {
  readonly reason: Reason;
  /** For people. */
  readonly meaning: string;
};

function reasons<Reason extends string>(
  type: string,
  status: Condition['status'],
  meanings: Readonly<Record<Reason, string>>,
): readonly Row<Reason>[] {
  return (Object.entries(meanings) as [Reason, string][]).map(([reason, meaning]) => ({
    ...{ type, status, reason, meaning },
  }));
}

const STAYS = 'The binary of this spec is built, but that of an earlier spec stays';

/** Every reason that a condition of an Xxx may have; docs/conditions.md lists them. */
export const BUILD_REASONS = [
  ...reasons('Ready', 'True', {
    Built: 'The binary of this spec is built.',
    CleanupStuck: `${STAYS}: the node of its cleanup is not ready.`,
    JobNameTaken: `${STAYS}: a Job with the name of its cleanup exists that does not belong to the resource.`,
    Overridden: `${STAYS}: something changes the Job of its cleanup.`,
    ImageNotPulled: `${STAYS}: the image of its cleanup cannot be pulled.`,
    Unschedulable: `${STAYS}: no node takes the Pod of its cleanup.`,
    SchedulingGated: `${STAYS}: the Pod of its cleanup waits for a scheduling gate.`,
    Suspended: `${STAYS}: something has suspended the Job of its cleanup.`,
    ContainerCannotStart: `${STAYS}: the container of its cleanup cannot be started.`,
    QuotaExceeded: `${STAYS}: a quota allows no Job for its cleanup.`,
    PodsRefused: `${STAYS}: the API server refuses the Pods of its cleanup.`,
    PodSecurity: `${STAYS}: the PodSecurity level of the namespace does not allow the Pods of its cleanup.`,
    WebhookUnavailable: `${STAYS}: a webhook that has to allow its cleanup does not answer.`,
    Refused: `${STAYS}: the API server refuses to create or to delete a Job.`,
    NamespaceTerminating: `${STAYS}: the API server accepts no new Jobs in the namespace, which seems to be being deleted.`,
    CleanupFailed: 'The binary of this spec is built, but that of an earlier spec could not be removed.',
  }),
  ...reasons('Ready', 'False', {
    Pending: 'The Job has not been created yet.',
    Building: 'The Job is running.',
    ImageNotPulled: 'A Job is there, but the image of its Pod cannot be pulled.',
    Unschedulable: 'A Job is there, but no node takes its Pod.',
    SchedulingGated: 'A Job is there, but its Pod waits for a scheduling gate. The message names it.',
    Suspended:
      'A Job is there, but something has suspended it. The message says who, where that can be told.',
    ContainerRunning:
      'The build has ended, but another container of its Pod still runs, so that its Job goes on. The message names it.',
    ContainerCannotStart: 'A Job is there, but the container of its Pod cannot be started.',
    PodsRefused: 'A Job is there, but the API server refuses its Pods.',
    StrayPods: 'Pods of an earlier Job still run, although their Job is gone. They may write to their node.',
    BuildFailed: 'The Job failed.',
    InvalidSpec: 'The spec has a value that the operator does not accept.',
    JobNameTaken: 'A Job with this name exists that does not belong to the resource.',
    QuotaExceeded: 'A quota allows no Job. It is retried with backoff.',
    PodSecurity: 'The PodSecurity level of the namespace does not allow the Pods of a Job.',
    NamespaceTerminating:
      'The namespace of the resource seems to be being deleted: the API server accepts no new Jobs in it.',
    WebhookUnavailable: 'A webhook that has to allow the next step does not answer.',
    Refused:
      'The API server refuses the next step, such as to create or delete a Job, or to change the finalizers.',
    Overridden: 'See the condition `Stalled`.',
    Cleaning: 'The resource is being deleted, and its binary is being removed from the nodes.',
    CleanupStuck: 'The resource is being deleted, and the node of its cleanup is not ready.',
    CleanupFailed: 'The resource is being deleted, and a binary could not be removed from a node.',
  }),
  ...reasons('Stalled', 'True', {
    BuildFailed: 'The Job failed. Change the spec, or delete the Job to build again.',
    InvalidSpec: 'The spec has a value that the operator does not accept. Change the spec.',
    JobNameTaken: 'Another Job has this name. Delete that Job, or choose another `jobName`.',
    PodsRefused:
      'The API server refuses the Pods of a Job. The message has its words. The Job tries again within a minute.',
    QuotaExceeded:
      'A quota allows no Job. The message has the words of the API server. It is retried with backoff.',
    PodSecurity:
      'The PodSecurity level of the namespace does not allow the Pods of a Job. The message has the words of the API server. It is retried with backoff.',
    WebhookUnavailable:
      'A webhook that has to allow a step does not answer. The message names it. It is retried with backoff.',
    Refused:
      'The API server refuses a step, such as to create or delete a Job. The message has its words. It is retried with backoff.',
    NamespaceTerminating: 'The API server accepts no new Jobs in the namespace. Wait until it is gone.',
    Overridden:
      'The API server accepts what the operator writes, but a webhook, an admission policy or another client changes it. The message says what.',
    CleanupStuck:
      'The node of a cleanup is not ready. Bring it back, or delete the Node if the machine is gone for good.',
    CleanupFailed: 'A binary could not be removed from a node. The cleanup is retried with backoff.',
  }),
  ...reasons('Stalled', 'False', {
    NotStalled: 'Nobody has to do anything.',
  }),
];

export type BuildReason = (typeof BUILD_REASONS)[number]['reason'];
