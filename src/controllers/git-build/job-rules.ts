import { stalled, waitFor, warning, type DecisionEvent, type Deletion } from '../../contract/decision.ts';
import { nameTaken, said, straysCause, type BuildCause } from './causes.ts';
import {
  createUnknownForMs,
  knownOf,
  type BuildDecision,
  type DeleteJobStep,
  type Facts,
  type RuleDecision,
} from './observation.ts';
import { reportedRefusal } from './refusals.ts';
import { recorded, reportIfNew, type Report, type StatusChange } from './status.ts';
import type { JobView, PodView } from './views.ts';

/*
 * What building and cleaning up have in common: deleting Jobs, and creating one.
 */

/** The watcher shows the end of a Job. The run checks again after so long, in case it does not. */
export const JOB_RECHECK_MS = 300_000;
/** The watcher does not show Jobs of others. */
export const RECHECK_MS = 60_000;
/** Pods of a Job that is being deleted may still write to their node. */
export const RETIRING_MS = 10_000;
/** The garbage collector deletes what an earlier resource has left within seconds. */
const LEFTOVER_MS = 2_000;

/** Nobody knows the outcome of a create: its Job could still build after a cleanup, or after a reported end. */
export function awaitCreate(facts: Facts): RuleDecision {
  if (facts.build.status.startTime !== undefined) return undefined;
  const leftMs = createUnknownForMs(facts);
  return leftMs > 0 ? waitFor('a Job whose creation may still be in progress', leftMs) : undefined;
}

/** Jobs that have to go first, and Pods that run without their Job. */
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
 * Deletes Jobs, and waits until none of their Pods can write to a node any more. First it records where the Pods ran, which
 * nobody knows once they are gone.
 */
export function retire(facts: Facts, retirement: Retirement): RuleDecision {
  const { jobs, strays, status, because } = retirement;
  if (jobs.length === 0 && strays.length === 0) return undefined;
  const { build, pods } = facts;
  const names = [...new Set(jobs.map(({ name }) => name))].join(', ');
  const cause = names === '' ? straysCause(strays, build.namespace) : undefined;
  const message = `Job ${names} is being deleted`;
  const artifacts = recorded(build, pods);
  // A refusal stays in the status until the Job is deleted. Otherwise each attempt would write the status twice.
  const refused = jobs.some(({ deleting }) => !deleting) ? reportedRefusal(build) : undefined;
  const told = refused ?? (cause === undefined ? { message } : said(cause, status.reason));
  return (
    reportIfNew(facts, { ...status, ...told, artifacts, because }) ??
    deleteFirst(retirement) ??
    (cause !== undefined
      ? waitFor('Pods without their Job to end', RETIRING_MS, cause)
      : waitFor(`Job ${build.namespace}/${names} and its Pods to be deleted`, RETIRING_MS))
  );
}

/** In the foreground: a Job goes after its Pods. */
function deleteFirst({ jobs, because, eventOf }: Retirement): RuleDecision {
  const job = jobs.find(({ deleting }) => !deleting);
  const event = job && eventOf?.(job);
  return job && deleteJob(job, { propagation: 'Foreground', because, ...(event && { event }) });
}

export function deleteJob(
  job: JobView,
  how: Pick<DeleteJobStep, 'propagation' | 'because' | 'event'>,
): DeleteJobStep {
  return { do: 'deleteJob', job, ...how, ...(job.purpose === 'build' && { deletes: deletionOf(job) }) };
}

/** Deleting a cleanup Job needs no approval: the cleanup itself was approved. */
function deletionOf({ name, uid }: JobView): Deletion {
  return { what: 'Job', count: 1, objects: () => [{ name, uid }] };
}

/** A Job to create once nothing prevents it. */
export interface Creation {
  readonly jobName: string;
  /** What the status says meanwhile. */
  readonly phase: 'Pending' | 'Cleaning' | 'Succeeded';
  readonly create: () => BuildDecision;
}

export function createWhenPossible(facts: Facts, creation: Creation): BuildDecision {
  return resolveName(facts, creation) ?? waitForNamespace(facts) ?? creation.create();
}

function waitForNamespace({ build, namespace }: Facts): RuleDecision {
  if (namespace !== 'terminating') return undefined;
  return waitFor(`namespace ${build.namespace} to be deleted; it accepts no new Jobs`, RECHECK_MS);
}

/**
 * A Job of that name that belongs to somebody else is left alone, unless an earlier resource of the same name left it
 * behind. The watcher does not show such Jobs, so the name is looked up.
 */
function resolveName(facts: Facts, { jobName, phase }: Creation): RuleDecision {
  const { build, names } = facts;
  const holder = knownOf(names, jobName);
  if (holder === undefined)
    return { do: 'observe', because: `Job ${jobName} is not there`, what: 'name', jobName };
  if (holder === 'free') return undefined;
  if (typeof holder === 'object') {
    if (holder.buildUid === build.uid) return undefined;
    if (holder.buildName === build.name) return retireLeftover(holder);
  }
  const cause = nameTaken(jobName, build.namespace, holder === 'altered' ? holder : 'other');
  return stallWith(facts, {
    cause,
    phase,
    because: 'another Job has this name',
    event: warning(cause, 'CreateJob'),
    recheckMs: RECHECK_MS,
  });
}

/** What the status says of a Job besides. */
export type Meanwhile = Pick<Report, 'phase' | 'startTime' | 'completionTime' | 'artifacts'>;

interface Stall extends Meanwhile, Pick<Report, 'message'> {
  /** Also the message, unless there is one. */
  readonly cause: BuildCause;
  /** Why the status has to say so. */
  readonly because: string;
  readonly event: DecisionEvent;
  /** The run checks again after so long. */
  readonly recheckMs: number;
}

/** Once the status says so, the run is stalled as well. */
export function stallWith(facts: Facts, { cause, recheckMs, ...report }: Stall): BuildDecision {
  const told = { ...said(cause, cause.reason), stalled: true };
  return reportIfNew(facts, { ...told, ...report }) ?? stalled(cause, { recheckMs });
}

function retireLeftover(job: JobView): BuildDecision {
  const because = 'an earlier resource of the same name left it behind';
  return job.deleting
    ? waitFor(`Job ${job.name} of an earlier resource of this name to be deleted`, LEFTOVER_MS)
    : deleteJob(job, { propagation: 'Foreground', because });
}

export function isUnfinishedBuild({ purpose, phase }: PodView): boolean {
  return purpose === 'build' && phase === 'unfinished';
}
