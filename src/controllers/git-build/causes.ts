import type { Advice, Cause } from '../../api/index.ts';
import type { BuildView } from './facts.ts';
import { SKIP_CLEANUP_ANNOTATION, SPEC_HASH_ANNOTATION, type JobPurpose } from './kind.ts';
import type { BuildReason } from './reasons.ts';
import { leftMs } from './verdict.ts';
import type { JobView, PodView } from './views.ts';

/*
 * What is wrong with a build, where the status and the decision both say so.
 */

export interface BuildCause extends Cause {
  /** The reason of the conditions, too. */
  readonly reason: BuildReason;
}

/** The most serious first. */
const TROUBLES = [
  'ContainerCannotStart',
  'ImageNotPulled',
  'Unschedulable',
  'SchedulingGated',
] as const satisfies readonly BuildReason[];

/** What keeps Pods of a Job from starting; undefined if nothing does. */
export function jobTroubleIn(
  job: JobView,
  pods: readonly PodView[],
  namespace: string,
): BuildCause | undefined {
  if (job.suspendedBy !== undefined) return suspended(job, job.suspendedBy, namespace);
  const own = pods.filter(({ purpose }) => purpose === job.purpose);
  const reason = TROUBLES.find((each) => own.some(({ trouble }) => trouble?.code === each));
  if (reason === undefined) return undefined;
  const texts = own.flatMap(({ trouble }) => (trouble ? [`its Pod ${trouble.text}`] : []));
  const message = [...new Set(texts)].sort().join('; ');
  const advice = [...(reason === 'ImageNotPulled' ? [PROVIDE_IMAGE] : []), describePods(job, namespace)];
  return { reason: reason, message: message, advice };
}

function suspended({ name }: JobView, by: string, namespace: string): BuildCause {
  const workloads = { run: `kubectl get workloads -n ${namespace}`, to: 'show its place in the queue' };
  return {
    reason: 'Suspended',
    message: `Job ${namespace}/${name} is suspended${by === '' ? '' : ` by ${by}`}, so it has no Pods`,
    advice: [
      'wait until it is resumed, or see what has suspended it, such as a queue or a policy',
      ...(by === 'Kueue' ? [workloads] : []),
      {
        run: `kubectl get job ${name} -n ${namespace} -o yaml --show-managed-fields`,
        to: 'show who wrote it',
      },
    ],
  };
}

/** A container that was added to a Pod may end a moment after that of the build. */
const OTHERS_END_MS = 30_000;

/** The container of the Job has ended, and the Pod goes on. @returns when to look again, where it may end by itself */
export function othersRunning(
  job: JobView,
  pods: readonly PodView[],
  { nowMs, namespace }: { readonly nowMs: number; readonly namespace: string },
): BuildCause | { readonly lookInMs: number } | undefined {
  const pod = pods.find(({ jobUid, running }) => jobUid === job.uid && running !== undefined);
  if (pod?.running === undefined) return undefined;
  const lookInMs = leftMs(pod.endedAt, OTHERS_END_MS, nowMs);
  if (lookInMs > 0) return { lookInMs };
  const names = pod.running.join(', ');
  return {
    reason: 'ContainerRunning',
    message: `the ${job.purpose} has ended, but in its Pod ${pod.name} still runs ${names}, so that its Job goes on`,
    advice: [
      `keep ${names} out of the Pods of builds, or have it end with them: as an init container with restartPolicy Always`,
      describePods(job, namespace),
    ],
  };
}

const PROVIDE_IMAGE = "make the image available to the nodes, or change the operator's --build-image";

/** What the status says of the Pods of the running Job. It is still the cause after they are gone. */
export function knownTrouble(build: BuildView): BuildCause | undefined {
  return reportedAs(TROUBLES, build);
}

/** What kept a Job that has failed from running. */
export function troubleBefore(build: BuildView): BuildCause | undefined {
  return reportedAs([...TROUBLES, 'PodsRefused'], build);
}

function reportedAs(
  codes: readonly BuildReason[],
  { status, conditions }: BuildView,
): BuildCause | undefined {
  if (status.phase !== 'Building') return undefined;
  const ready = conditions.find(({ type }) => type === 'Ready');
  const reason = codes.find((each) => each === ready?.reason);
  return ready && reason && { reason, message: ready.message, advice: [] };
}

function describePods({ name }: JobView, namespace: string): Advice {
  return {
    run: `kubectl describe pods -n ${namespace} -l job-name=${name}`,
    to: 'show its Pods and their Events',
  };
}

/** @param container of the Job: others may have been added to its Pod */
export function showLogs(job: string, namespace: string, container: JobPurpose): Advice {
  return { run: `kubectl logs -n ${namespace} job/${job} -c ${container}`, to: 'show what it wrote' };
}

/** Out of a cleanup that cannot succeed, where it holds up a deletion. */
export function wayOut({ deleting, namespace, name }: BuildView): readonly Advice[] {
  const run = `kubectl annotate xxx ${name} -n ${namespace} ${SKIP_CLEANUP_ANNOTATION}=true`;
  return deleting ? [{ run, to: 'leave the binary on the node, and remove the finalizer' }] : [];
}

/** Pods that run without their Job. The operator has no permission to delete Pods. */
export function straysCause(strays: readonly PodView[], namespace: string): BuildCause {
  const names = strays.map(({ name }) => name);
  return {
    reason: 'StrayPods',
    message: `Pods are still running without their Job: ${names.join(', ')}`,
    advice: [
      'delete them, or wait for their deadline',
      { run: `kubectl delete pod ${names.join(' ')} -n ${namespace}`, to: 'delete them' },
    ],
  };
}

/** A Job without what each of ours says. */
export function jobChanged(jobName: string): BuildCause {
  return {
    reason: 'Overridden',
    message: `something takes annotation ${SPEC_HASH_ANNOTATION} away from Job ${jobName} as it is created`,
    advice: [
      'exempt the Jobs of the operator from what changes them; another Job is created every 30 s',
      {
        run: 'kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies',
        to: 'show what may change objects as they are written',
      },
    ],
  };
}

export function nameTaken(jobName: string, namespace: string, holder: 'altered' | 'other'): BuildCause {
  const job = `Job ${namespace}/${jobName}`;
  const commands = [
    { run: `kubectl get job ${jobName} -n ${namespace} -o yaml`, to: 'see whose Job has the name' },
    { run: `kubectl delete job ${jobName} -n ${namespace}`, to: 'delete that Job' },
  ];
  return holder === 'altered'
    ? {
        reason: 'Overridden',
        message: `${job} was created for this resource, but a webhook or an admission policy changed its labels`,
        advice: ['find what changes them, then delete the Job', ...commands],
      }
    : {
        reason: 'JobNameTaken',
        message: `${job} does not belong to this resource, so it is left alone`,
        advice: ['change spec.jobName, or delete that Job', ...commands],
      };
}
