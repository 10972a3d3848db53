import { waitFor, type DecisionEvent, type Deletion } from '../../contract/decision.ts';
import {
  knownOf,
  requireLiveChildren,
  type BuildDecision,
  type Facts,
  type NameHolder,
  type RuleDecision,
} from './observation.ts';
import type { BuildReason } from './reasons.ts';
import { refusedJob, wordsFor } from './refusals.ts';
import { recorded, reportIfNew, type StatusChange } from './status.ts';
import type { JobView, PodView } from './views.ts';

/*
 * What building and cleaning up have in common: to get rid of Jobs, and to create one.
 */

/** The watcher shows the end of a Job; this is for what it does not show, such as a Job that is not the operator's. */
export const RECHECK_MS = 60_000;
/** While Pods of a Job that is being deleted may still write to their node. */
export const RETIRING_MS = 10_000;
/** The garbage collector deletes within seconds what an earlier resource has left. */
const LEFTOVER_MS = 2_000;

/** Jobs that have to go before anything else is done, and Pods that run without their Job. */
export interface Retirement {
  readonly jobs: readonly JobView[];
  readonly strays: readonly PodView[];
  /** What the status says meanwhile. */
  readonly status: Pick<StatusChange, 'phase' | 'reason' | 'startTime' | 'completionTime'>;
  readonly because: string;
  /** Recorded for each Job that is deleted. */
  readonly eventOf?: (job: JobView) => DecisionEvent;
}

/**
 * Deletes Jobs, and waits until nothing of them can write to a node any more. Where their Pods ran is recorded before,
 * and again for as long as there are Pods: it is lost with them.
 */
export function retire(facts: Facts, retirement: Retirement): RuleDecision {
  const { jobs, strays, status, because } = retirement;
  if (jobs.length === 0 && strays.length === 0) return undefined;
  const { build, pods } = facts;
  const names = [...new Set(jobs.map(({ name }) => name))].join(', ');
  const message = names === '' ? straysMessage(strays) : `Job ${names} is being deleted`;
  const artifacts = recorded(build, pods);
  // What the server refuses stays in the status until it is done: else that would be written before each attempt.
  const refused = jobs.some(({ deleting }) => !deleting) ? refusedJob(build) : undefined;
  const said = refused ?? { message };
  return (
    reportIfNew(facts, { ...status, ...said, artifacts, because }) ??
    deleteFirst(facts, retirement) ??
    (names === ''
      ? waitFor('Pods without their Job to end', RETIRING_MS)
      : waitFor(`Job ${build.namespace}/${names} and its Pods to be deleted`, RETIRING_MS))
  );
}

/** In the foreground: a Job goes after its Pods. */
function deleteFirst(facts: Facts, { jobs, because, eventOf }: Retirement): RuleDecision {
  const job = jobs.find(({ deleting }) => !deleting);
  if (job === undefined) return undefined;
  return deleteJob(facts, job, { propagation: 'Foreground', because, event: eventOf?.(job) });
}

interface HowToDelete {
  readonly propagation: 'Foreground' | 'Background';
  readonly because: string;
  readonly event?: DecisionEvent | undefined;
}

export function deleteJob(facts: Facts, job: JobView, { event, ...how }: HowToDelete): BuildDecision {
  return (
    requireLiveChildren(facts, how.because) ?? {
      do: 'deleteJob',
      job,
      ...how,
      ...(event && { event }),
      ...(job.purpose === 'build' && { deletes: deletionOf(job) }),
    }
  );
}

/** A cleanup Job goes with the cleanup, which was approved. */
function deletionOf({ name, uid }: JobView): Deletion {
  return { what: 'Job', count: 1, names: () => [name], of: `Job ${uid}` };
}

/** The operator may not delete Pods. */
function straysMessage(strays: readonly PodView[]): string {
  const names = strays.map(({ name }) => name).join(', ');
  return `Pods are still running without their Job: ${names}; delete them, or wait for their deadline`;
}

/** A Job to create, once nothing is in the way. */
export interface Creation {
  readonly jobName: string;
  /** What the status says meanwhile. */
  readonly phase: 'Pending' | 'Cleaning' | 'Succeeded';
  readonly create: () => BuildDecision;
}

export function createWhenPossible(facts: Facts, creation: Creation): BuildDecision {
  return (
    requireLiveChildren(facts, `Job ${creation.jobName} is not there`) ??
    resolveName(facts, creation) ??
    reportRefusal(facts, creation) ??
    creation.create()
  );
}

/**
 * A Job of that name that is not this build's is left alone, unless an earlier resource of the same name left it behind.
 * The watcher does not show when it goes: its name is looked up, instead of trying to create ours again and again.
 */
function resolveName(facts: Facts, { jobName, phase }: Creation): RuleDecision {
  const { build, names } = facts;
  const holder = knownOf(names, jobName);
  if (holder === undefined) return wasTaken(facts) ? lookUp(jobName) : undefined;
  if (holder === 'free') return undefined;
  if (typeof holder === 'object') {
    if (holder.buildUid === build.uid) return undefined;
    if (holder.buildName === build.name) return retireLeftover(facts, holder);
  }
  const { reason, message } = whyTaken(`Job ${build.namespace}/${jobName}`, holder);
  const event = { type: 'Warning', reason, action: 'CreateJob', note: message } as const;
  const because = 'another Job has this name';
  return (
    reportIfNew(facts, { ...during(phase), reason, message, stalled: true, because, event }) ??
    waitFor(`the Job name ${jobName} to become free`, RECHECK_MS)
  );
}

function whyTaken(job: string, holder: NameHolder) {
  if (holder !== 'altered') {
    const message = `${job} does not belong to this resource, so it is left alone: delete it, or change spec.jobName`;
    return { reason: 'JobNameTaken', message } as const;
  }
  const message = `${job} was created for this resource, but a webhook or an admission policy changed its labels: find what changes them, then delete the Job`;
  return { reason: 'Overridden', message } as const;
}

/** What was built stays Ready, whatever becomes of the cleanup that an earlier spec needs. */
export function during<P extends StatusChange['phase']>(
  phase: P,
): { readonly phase: P; readonly ready: boolean } {
  return { phase, ready: phase === 'Succeeded' };
}

/** What the server refused to delete may be the Job that an earlier resource left behind. */
function wasTaken({ build }: Facts): boolean {
  return build.status.conditions?.some(({ reason }) => TAKEN.has(reason)) ?? false;
}

const TAKEN: ReadonlySet<string> = new Set<BuildReason>(['JobNameTaken', 'JobDeleteRefused', 'Overridden']);

function lookUp(jobName: string): BuildDecision {
  return { do: 'observe', because: 'another Job had the name', what: 'name', jobName };
}

function retireLeftover(facts: Facts, job: JobView): BuildDecision {
  const because = 'an earlier resource of the same name left it behind';
  return job.deleting
    ? waitFor(`Job ${job.name} of an earlier resource of this name to be deleted`, LEFTOVER_MS)
    : deleteJob(facts, job, { propagation: 'Foreground', because });
}

/** Where the status says it already, the Job is created again, and fails with backoff as long as it is refused. */
function reportRefusal(facts: Facts, { phase }: Creation): RuleDecision {
  const { build, refusal, namespace } = facts;
  if (namespace === 'terminating') {
    return waitFor(`namespace ${build.namespace} to be deleted; it accepts no new Jobs`, RECHECK_MS);
  }
  switch (refusal?.because) {
    case undefined:
    case 'namespace-terminating':
      return undefined;
    case 'refused':
    case 'overridden':
    case 'access-denied':
      return reportIfNew(facts, {
        ...during(phase),
        reason: refusal.because === 'overridden' ? 'Overridden' : 'JobRefused',
        message: wordsFor(build, refusal.message),
        stalled: true,
        because: 'the API server refuses the Job',
      });
  }
}

/** What keeps Pods from starting; empty where nothing does. */
export function troubleOf(pods: readonly PodView[], purpose: PodView['purpose']): string {
  const texts = pods.flatMap((pod) => (pod.purpose === purpose && pod.trouble ? [pod.trouble.text] : []));
  return [...new Set(texts)].sort().join('; ');
}

export function isUnfinishedBuild({ purpose, phase }: PodView): boolean {
  return purpose === 'build' && phase === 'unfinished';
}

/** Whether a Pod of the Job has been seen to end. The watch of Pods is ordered: those before it have been seen, too. */
export function showsEndOf(pods: readonly PodView[], job: JobView): boolean {
  return pods.some(({ jobUid, phase }) => jobUid === job.uid && phase !== 'unfinished');
}
