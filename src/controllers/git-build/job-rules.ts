import { inOneLine } from '../../api/index.ts';
import { recorded } from './artifacts.ts';
import { nameTaken, straysCause, type BuildCause } from './causes.ts';
import { readyReason, type Facts, type NameHolder } from './facts.ts';
import {
  inMilliseconds,
  type BuildSteps,
  type JobDeletion,
  type RuleVerdict,
  type StatusChange,
  type BuildVerdict,
} from './verdict.ts';
import type { JobView, PodView } from './views.ts';

/*
 * What building and cleaning up have in common: deleting Jobs, and creating one.
 */

/** The watcher shows the end of a Job. The run checks again after so long, in case it does not. */
export const JOB_RECHECK_MS = 300_000;
/** The watcher does not show Jobs of others. */
export const RECHECK_MS = 60_000;
/** Pods of a Job that is being deleted may still write to their node. */
export const RETIRING = '10s';
/** The garbage collector deletes what an earlier resource has left within seconds. */
const LEFTOVER = '2s';

/** What the status says meanwhile, and the reason of its condition. */
export type Meanwhile = Pick<BuildVerdict, 'status' | 'reason'>;

/** Nobody knows the outcome of a create: its Job could still build after a cleanup, or after a reported end. */
export function awaitCreate({ createUnknownForMs }: Facts, meanwhile: Meanwhile): RuleVerdict {
  if (createUnknownForMs === 0) return undefined;
  const what = 'a Job whose creation may still be in progress';
  const recheckAfter = inMilliseconds(createUnknownForMs);
  return { ...meanwhile, then: (next) => next.wait(what, { recheckAfter }) };
}

/** Jobs that have to go first, and Pods that run without their Job. */
export interface Retirement extends Meanwhile {
  readonly jobs: readonly JobView[];
  readonly strays: readonly PodView[];
  readonly because: string;
  /** Another one takes their place. */
  readonly isReplaced?: true;
}

/**
 * Deletes Jobs, and waits until none of their Pods can write to a node any more. First it records where the Pods ran, which
 * nobody knows once they are gone.
 */
export function retire(facts: Facts, retirement: Retirement): RuleVerdict {
  const { jobs, strays, reason, because, isReplaced } = retirement;
  if (jobs.length === 0 && strays.length === 0) return undefined;
  const { build, pods } = facts;
  const { namespace } = build;
  const names = [...new Set(jobs.map(({ name }) => name))].join(', ');
  const cause = names === '' ? straysCause(strays, namespace) : undefined;
  const message = cause ? inOneLine(cause) : `Job ${names} is being deleted`;
  const status = { ...retirement.status, message, artifacts: recorded(build, pods) };
  const first = jobs.find(({ deleting }) => !deleting);
  return {
    ...{ status, reason, record: ['artifacts'] },
    then(next) {
      // In the foreground: a Job goes after its Pods.
      if (first)
        return next.do.deleteJob(because, deletionOf(first, 'Foreground', isReplaced && { isReplaced }));
      if (cause) return next.wait('Pods without their Job to end', { recheckAfter: RETIRING, cause });
      return next.wait(`Job ${namespace}/${names} and its Pods to be deleted`, { recheckAfter: RETIRING });
    },
  };
}

export function deletionOf(
  { name, uid, purpose }: JobView,
  propagation: JobDeletion['propagation'],
  more: Pick<JobDeletion, 'resourceVersion' | 'isReplaced'> = {},
): JobDeletion {
  return { name, uid, purpose, propagation, ...more };
}

/** A Job to create once nothing prevents it. */
export interface Creation extends Meanwhile {
  readonly jobName: string;
  readonly holder: 'holder' | 'cleanupHolder';
  /** In a namespace that accepts no new Jobs. */
  readonly otherwise: () => BuildVerdict;
  readonly create: () => BuildVerdict;
}

/** The status says why the step is refused that is to be done. */
export function toldRefusal({ refused }: Facts, step: keyof BuildSteps): Pick<StatusChange, 'message'> {
  return refused?.step === step ? { message: inOneLine(refused.cause) } : {};
}

/** What the server has refused before, as the status says it, is looked at first. */
export function createWhenPossible(facts: Facts, creation: Creation): BuildVerdict {
  const said = readyReason(facts.build);
  const isTaken = said === 'JobNameTaken' || said === 'Overridden';
  const taken = isTaken ? resolveName(facts, creation, facts.lookups[creation.holder]) : undefined;
  if (taken !== undefined) return taken;
  const isEnding = said === 'NamespaceTerminating' && facts.lookups.namespace === 'terminating';
  return isEnding ? creation.otherwise() : creation.create();
}

/**
 * A Job of that name that belongs to somebody else is left alone, unless an earlier resource of the same name left it
 * behind. The watcher does not show such Jobs.
 */
function resolveName(
  { build }: Facts,
  { jobName, status, reason }: Creation,
  holder: NameHolder = 'free',
): RuleVerdict {
  if (holder === 'free') return undefined;
  if (typeof holder === 'object') {
    if (holder.buildUid === build.uid) return undefined;
    if (holder.buildName === build.name)
      return { status, reason: 'JobNameTaken', then: (next) => retireLeftover(holder, next) };
  }
  const cause = nameTaken(jobName, build.namespace, holder === 'altered' ? holder : 'other');
  return stallWith({ status, reason }, { cause, action: 'CreateJob', recheckMs: RECHECK_MS });
}

interface Stall {
  readonly cause: BuildCause;
  /** What was tried. */
  readonly action: string;
  /** The run checks again after so long. */
  readonly recheckMs: number;
}

export function stallWith({ status, reason }: Meanwhile, { cause, action, recheckMs }: Stall): BuildVerdict {
  const recheckAfter = inMilliseconds(recheckMs);
  return {
    ...{ status: { ...status, message: inOneLine(cause) }, reason },
    then: (next) => next.stalled(cause, { recheckAfter, action }),
  };
}

function retireLeftover(job: JobView, next: Parameters<BuildVerdict['then']>[0]) {
  const because = 'an earlier resource of the same name left it behind';
  const { resourceVersion } = job;
  const whose = `Job ${job.name} of an earlier resource of this name`;
  const cause: BuildCause = { reason: 'JobNameTaken', message: `${whose} is being deleted`, advice: [] };
  return job.deleting
    ? next.wait(`${whose} to be deleted`, { recheckAfter: LEFTOVER, cause })
    : next.do.deleteJob(because, deletionOf(job, 'Foreground', { resourceVersion }));
}

export function isUnfinishedBuild({ purpose, phase }: PodView): boolean {
  return purpose === 'build' && phase === 'unfinished';
}
