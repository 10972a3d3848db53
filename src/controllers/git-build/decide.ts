import { converged, stalled, waitFor, type DecisionEvent } from '../../contract/decision.ts';
import { unreachable } from '../../contract/unreachable.ts';
import { rfc3339 } from '../condition.ts';
import { cleanAway } from './cleanup.ts';
import { decideDeletion } from './deletion.ts';
import { failureOf } from './failure.ts';
import {
  createWhenPossible,
  isUnfinishedBuild,
  retire,
  RETIRING_MS,
  showsEndOf,
  troubleOf,
  type Retirement,
} from './job-rules.ts';
import { cleanupJobName } from './jobs.ts';
import {
  requireLiveChildren,
  requireNamespace,
  type BuildDecision,
  type BuildStep,
  type Facts,
  type Observation,
  type RuleDecision,
} from './observation.ts';
import { reportRefusedStep } from './refusals.ts';
import { BUILD_FINALIZER, type BuildSpec } from './resource.ts';
import {
  isReported,
  isReportedInvalid,
  listed,
  obsoleteArtifacts,
  recorded,
  report,
  reportIfNew,
  without,
  type Report,
} from './status.ts';
import { hasOurFinalizer, type JobView, type PodView } from './views.ts';

/** The watcher shows the end of a Job; this is for when it does not. */
const JOB_RECHECK_MS = 300_000;

/** The status while the Job of the spec is not created yet: no create is in progress under a status with a startTime. */
const BEFORE_JOB = { phase: 'Pending', reason: 'Pending', startTime: null, completionTime: null } as const;

/**
 * The next step of a build, or why there is none. The watcher asks it of what it has seen, the step activities of what
 * they have read.
 *
 * @param nowMs milliseconds since the epoch
 */
export function decideBuild(observation: Observation, nowMs: number): BuildDecision {
  const { build } = observation;
  if (build === 'gone') return converged('the resource is gone');
  const facts: Facts = { ...observation, build, nowMs };
  if (facts.children === 'outdated')
    return requireLiveChildren(facts, 'the Jobs have changed') ?? decideExisting(facts);
  const decision = requireNamespace(facts) ?? decideExisting(facts);
  return reportRefusedStep(facts, decision) ?? decision;
}

/** A spec that nothing is done for yet, since its first step is held back. */
export function buildStatusStep({ build, ...seen }: Observation, nowMs: number): BuildStep | undefined {
  if (build === 'gone' || build.deleting || build.status.observedGeneration === build.generation)
    return undefined;
  const artifacts = recorded(build, seen.pods);
  return report({ ...seen, build, nowMs }, { ...BEFORE_JOB, artifacts, because: 'the spec is new' });
}

function decideExisting(facts: Facts): BuildDecision {
  const { spec, deleting } = facts.build;
  if (deleting) return decideDeletion(facts);
  if (!spec.ok) return refuseSpec(facts, spec.problems);
  return decideBuilding({ ...facts, spec: spec.spec, hash: spec.hash });
}

/** A build that is to be there, with a valid spec. */
interface ValidBuild extends Facts {
  readonly spec: BuildSpec;
  readonly hash: string;
}

function decideBuilding(facts: ValidBuild): BuildDecision {
  return (
    addFinalizer(facts) ??
    retireSuperseded(facts) ??
    decideSucceeded(facts) ??
    followJob(facts) ??
    createWhenPossible(facts, {
      jobName: facts.spec.jobName,
      phase: 'Pending',
      create: () => forgetLastJob(facts) ?? createJob(facts),
    })
  );
}

/** A spec that cannot be built: the Job of an earlier one goes, and the status says why. */
function refuseSpec(facts: Facts, problems: readonly string[]): BuildDecision {
  const { build, jobs, pods } = facts;
  const message = problems.join('; ');
  const event = { type: 'Warning', reason: 'InvalidSpec', action: 'Validate', note: message } as const;
  const builds = jobs.filter(({ purpose }) => purpose === 'build');
  return (
    retire(facts, {
      jobs: builds.filter(({ state, deleting }) => state === 'active' || deleting),
      strays: pods.filter(isUnfinishedBuild),
      status: BEFORE_JOB,
      because: 'the spec is no longer valid',
      eventOf: replaced,
    }) ??
    reportIfNew(facts, {
      phase: 'Failed',
      reason: 'InvalidSpec',
      message,
      stalled: true,
      artifacts: recorded(build, pods),
      because: 'the spec is invalid',
      event,
    }) ??
    stalled(message)
  );
}

function addFinalizer({ build }: Facts): RuleDecision {
  if (hasOurFinalizer(build)) return undefined;
  const { resourceVersion, finalizers } = build;
  return {
    do: 'addFinalizer',
    because: 'the binary must be removed with the resource',
    resourceVersion,
    finalizers: [...finalizers, BUILD_FINALIZER],
  };
}

/** Jobs and Pods of other specs, and a cleanup that would remove what is to be built now. */
function retireSuperseded(facts: ValidBuild): RuleDecision {
  return retire(facts, {
    ...supersededIn(facts),
    status: BEFORE_JOB,
    because: 'the spec has changed, or its Job is being deleted',
    eventOf: replaced,
  });
}

function supersededIn(facts: ValidBuild): Pick<Retirement, 'jobs' | 'strays'> {
  const { build, jobs, pods, hash } = facts;
  const others = jobs.filter((job) => job.purpose === 'build' && !isOfSpec(job, facts));
  // Its Job may go, and be deleted by anybody; and a cleanup is of what an earlier spec has left.
  if (isReported(build, 'Succeeded')) return { jobs: others, strays: [] };
  const right = jobs.find((job) => isOfSpec(job, facts));
  const cleanups = jobs.filter(
    ({ purpose, state }) => purpose === 'cleanup' && (right === undefined || state === 'active'),
  );
  const going = jobs.filter(({ deleting }) => deleting);
  return {
    jobs: [...new Set([...others, ...cleanups, ...going])],
    // Those of the same spec put there what is to be there.
    strays: pods.filter((pod) => isUnfinishedBuild(pod) && pod.hash !== hash),
  };
}

function isOfSpec(job: JobView, { hash, spec }: ValidBuild): boolean {
  return job.purpose === 'build' && job.hash === hash && job.name === spec.jobName;
}

function replaced({ name, uid }: JobView): DecisionEvent {
  const note = `deleted Job ${name} because the spec has changed`;
  return { type: 'Normal', reason: 'JobReplaced', action: 'Replace', note, occasion: uid };
}

/** This very generation was built. What earlier ones have left on nodes is removed. */
function decideSucceeded(facts: ValidBuild): RuleDecision {
  const { build, spec } = facts;
  if (!isReported(build, 'Succeeded')) return undefined;
  const obsolete = obsoleteArtifacts(build);
  if (obsolete.length === 0) return converged(`${spec.binaryName} is built`);
  const artifacts = without(build.status.artifacts ?? [], obsolete);
  const note = `Removed ${listed(obsolete)}, left there by an earlier spec`;
  return cleanAway(facts, {
    artifacts: obsolete,
    jobName: cleanupJobName(spec.jobName),
    phase: 'Succeeded',
    finish: () =>
      report(facts, {
        phase: 'Succeeded',
        reason: 'Built',
        ready: true,
        artifacts,
        because: 'the old binary is removed',
        event: { type: 'Normal', reason: 'Cleaned', action: 'Clean', note },
      }),
  });
}

/** How the Job of the spec is doing, and how it ended. */
function followJob(facts: ValidBuild): RuleDecision {
  const { jobs, pods } = facts;
  const job = jobs.find((each) => isOfSpec(each, facts));
  if (job !== undefined && isBeforeStatus(job, facts)) {
    return requireLiveChildren(facts, `Job ${job.name} may have been deleted`);
  }
  const pod = pods.find((each) => provesSuccess(each, job, facts));
  if (pod !== undefined) {
    const { endedAt, jobUid: occasion } = pod;
    // A Job that the watcher does not show yet may have taken the place of the Pod's.
    const observe =
      job === undefined ? requireLiveChildren(facts, 'a Pod has succeeded whose Job is gone') : undefined;
    return observe ?? reportEnd(facts, succeeded(facts, { startedAt: job?.createdAt, endedAt, occasion }));
  }
  if (job === undefined) return undefined;
  switch (job.state) {
    case 'active':
      return follow(facts, job);
    case 'succeeded': {
      const { createdAt: startedAt, endedAt, uid: occasion } = job;
      const success = succeeded(facts, { startedAt, endedAt, occasion });
      // Where it ran, its Pod says.
      return requireLiveChildren(facts, `Job ${job.name} has succeeded`) ?? reportEnd(facts, success);
    }
    case 'failed':
      return decideFailed(facts, job);
    default:
      return unreachable(job.state);
  }
}

/** The watcher still shows a Job that somebody has deleted, although the status is of the one after it. */
function isBeforeStatus({ createdAt }: JobView, { build, children }: ValidBuild): boolean {
  const { startTime } = build.status;
  return children === 'watched' && startTime !== undefined && createdAt < startTime;
}

/** A Pod may have ended before its Job says so; and its Job may be gone by now, deleted by somebody. */
function provesSuccess(pod: PodView, job: JobView | undefined, { build, hash }: ValidBuild): boolean {
  if (pod.purpose !== 'build' || pod.phase !== 'succeeded' || pod.hash !== hash) return false;
  if (job !== undefined) return pod.jobUid === job.uid;
  const { startTime } = build.status;
  return isReported(build, 'Building') && startTime !== undefined && pod.createdAt >= startTime;
}

function follow(facts: ValidBuild, job: JobView): BuildDecision {
  const { build, pods } = facts;
  const hasStarted = pods.some(({ purpose, started }) => purpose === 'build' && started);
  return (
    reportIfNew(facts, {
      phase: 'Building',
      reason: 'Building',
      startTime: job.createdAt,
      completionTime: null,
      message: troubleOf(pods, 'build') || (hasStarted ? '' : knownTrouble(facts)),
      because: 'the Job is running',
    }) ?? waitFor(`Job ${build.namespace}/${job.name} to end`, JOB_RECHECK_MS)
  );
}

/** What was reported of the running Job; its Pods may be gone by now, and why it fails is still that. */
function knownTrouble({ build: { status } }: Facts): string {
  return status.phase === 'Building' ? (status.message ?? '') : '';
}

/** A Pod that still runs, without its Job, could write to a node yet: the end is reported when all have ended. */
function reportEnd(facts: ValidBuild, end: Report): BuildDecision {
  if (!facts.pods.some(isUnfinishedBuild)) return report(facts, end);
  return recordRuns(facts, end) ?? waitFor('the Pods of an earlier Job to end', RETIRING_MS);
}

/** Before the wait: where a Pod ran, nobody knows once it is gone, which its Job may be, too, by then. */
function recordRuns(facts: ValidBuild, { startTime }: Report): RuleDecision {
  const artifacts = recorded(facts.build, facts.pods);
  if (artifacts.length === (facts.build.status.artifacts ?? []).length) return undefined;
  return report(facts, {
    phase: 'Building',
    reason: 'Building',
    message: knownTrouble(facts),
    artifacts,
    ...(startTime !== undefined && { startTime }),
    because: 'a Pod of it has run',
  });
}

interface Success {
  readonly startedAt: string | undefined;
  /** RFC 3339, or empty. */
  readonly endedAt: string;
  readonly occasion: string;
}

function succeeded(facts: ValidBuild, { startedAt, endedAt, occasion }: Success): Report {
  const { build, spec, pods, nowMs } = facts;
  const artifacts = recorded(build, pods);
  const note = `Job ${spec.jobName} built ${spec.binaryName}: ${listed(artifacts)}`;
  return {
    phase: 'Succeeded',
    reason: 'Built',
    ready: true,
    artifacts,
    ...(startedAt !== undefined && { startTime: startedAt }),
    completionTime: endedAt === '' ? rfc3339(nowMs) : endedAt,
    because: 'the Job has succeeded',
    event: { type: 'Normal', reason: 'BuildSucceeded', action: 'Build', note, occasion },
  };
}

function decideFailed(facts: ValidBuild, job: JobView): BuildDecision {
  const { build, pods, nowMs } = facts;
  const { reason, message } = failureOf(job, pods, knownTrouble(facts));
  // Its spec may have been refused meanwhile, by options that have changed again.
  if (isReported(build, 'Failed') && !isReportedInvalid(build)) {
    return stalled(`Job ${job.name} failed: ${reason}; change the spec, or delete Job ${job.name}`);
  }
  const observe = showsEndOf(pods, job)
    ? undefined
    : requireLiveChildren(facts, `Job ${job.name} has failed`);
  const event = { reason: 'BuildFailed', action: 'Build', note: message, occasion: job.uid };
  return (
    observe ??
    reportEnd(facts, {
      phase: 'Failed',
      reason: 'BuildFailed',
      message,
      stalled: true,
      startTime: job.createdAt,
      completionTime: job.endedAt || rfc3339(nowMs),
      artifacts: recorded(build, pods),
      because: 'the Job has failed',
      event: { type: 'Warning', ...event },
    })
  );
}

/** A status about the last Job would hide that a create is in progress. */
function forgetLastJob(facts: ValidBuild): RuleDecision {
  const { build, pods } = facts;
  const { startTime, completionTime, artifacts: known = [] } = build.status;
  const artifacts = recorded(build, pods);
  if (startTime === undefined && completionTime === undefined && artifacts.length === known.length) {
    return undefined;
  }
  return report(facts, { ...BEFORE_JOB, artifacts, because: 'the last Job is gone' });
}

function createJob({ spec, hash }: ValidBuild): BuildDecision {
  return { do: 'createJob', because: 'no Job builds this spec', spec, hash };
}
