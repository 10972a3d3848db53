import { inOneLine, type Advice, type Cause } from '../../contract/cause.ts';
import type { PodTrouble } from '../../api/pod-trouble.ts';
import { type BuildReason } from './reasons.ts';
import { SKIP_CLEANUP_ANNOTATION } from './resource.ts';
import type { BuildView, JobView, PodView } from './views.ts';

/*
 * What is wrong with a build, where the status and the decision both say so.
 */

export interface BuildCause extends Cause {
  /** The reason of the conditions, too. */
  readonly reason: BuildReason;
}

/** What the conditions say: the cause, or that the work goes on. */
export function said(cause: BuildCause | undefined, otherwise: BuildReason) {
  return cause === undefined
    ? { reason: otherwise, message: '' }
    : { reason: cause.reason, message: inOneLine(cause) };
}

/** The most serious first. */
const TROUBLES = ['ContainerCannotStart', 'ImageNotPulled', 'Unschedulable'] as const satisfies readonly (
  PodTrouble['code'] | BuildReason
)[];

/** What keeps Pods of a Job from starting; undefined if nothing does. */
export function troubleIn(job: JobView, pods: readonly PodView[], namespace: string): BuildCause | undefined {
  const own = pods.filter(({ purpose }) => purpose === job.purpose);
  const reason = TROUBLES.find((each) => own.some(({ trouble }) => trouble?.code === each));
  if (reason === undefined) return undefined;
  const texts = own.flatMap(({ trouble }) => (trouble ? [`its Pod ${trouble.text}`] : []));
  const message = [...new Set(texts)].sort().join('; ');
  const advice = [...(reason === 'ImageNotPulled' ? [PROVIDE_IMAGE] : []), describePods(job, namespace)];
  return { reason: reason, message: message, advice };
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

function reportedAs(codes: readonly BuildReason[], { status }: BuildView): BuildCause | undefined {
  if (status.phase !== 'Building') return undefined;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const reason = codes.find((each) => each === ready?.reason);
  return ready && reason && { reason: reason, message: ready.message, advice: [] };
}

function describePods({ name }: JobView, namespace: string): Advice {
  return {
    run: `kubectl describe pods -n ${namespace} -l job-name=${name}`,
    to: 'show its Pods and their Events',
  };
}

export function showLogs(job: string, namespace: string): Advice {
  return { run: `kubectl logs -n ${namespace} job/${job}`, to: 'show what it wrote' };
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
