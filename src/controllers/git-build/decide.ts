import type { Circumstances } from '../../contract/control.ts';
import { converged, stalled, waitFor, warning, type DecisionEvent } from '../../contract/decision.ts';
import { unknownUntil } from '../../contract/unknown-attempt.ts';
import { unreachable } from '../../contract/unreachable.ts';
import { rfc3339 } from '../condition.ts';
import {
  knownTrouble,
  othersRunning,
  said,
  showLogs,
  troubleBefore,
  troubleIn,
  type BuildCause,
} from './causes.ts';
import { cleanAway } from './cleanup.ts';
import { decideDeletion } from './deletion.ts';
import { failureOf, reasonOfFailure } from './failure.ts';
import {
  awaitCreate,
  createWhenPossible,
  isUnfinishedBuild,
  JOB_RECHECK_MS,
  retire,
  RETIRING_MS,
  type Retirement,
} from './job-rules.ts';
import { cleanupJobName } from './jobs.ts';
import {
  createUnknownForMs,
  type BuildDecision,
  type BuildStep,
  type Facts,
  type Observation,
  type RuleDecision,
} from './observation.ts';
import { reportRefusedStep } from './refusals.ts';
import { awaitEnd } from './running-job.ts';
import type { BuildSpec } from './resource.ts';
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
import { hasOurFinalizer, type BuildView, type JobView, type PodView } from './views.ts';

/** The status until the Job of the spec is created. The outcome of a create is unknown only under a status without a startTime. */
const BEFORE_JOB = { phase: 'Pending', reason: 'Pending', startTime: null, completionTime: null } as const;

/**
 * The next step of a build, or why there is none. What the watcher shows only decides whether a run is needed: each step
 * is decided from what it has read.
 *
 * @param nowMs milliseconds since the epoch
 */
export function decideBuild(
  observation: Observation,
  nowMs: number,
  circumstances?: Circumstances,
): BuildDecision {
  const { build } = observation;
  if (build === 'gone') return converged('the resource is gone');
  const facts: Facts = { ...observation, build, nowMs, unknownUntilMs: unknownUntil(circumstances?.unknown) };
  const decision = checkNamespace(facts) ?? decideExisting(facts);
  return reportRefusedStep(facts, decision) ?? decision;
}

/** A refusal may say that the namespace is terminating. The Namespace itself has to confirm it. */
function checkNamespace({ refusal, namespace }: Facts): RuleDecision {
  if (refusal?.because !== 'namespace-terminating' || namespace !== undefined) return undefined;
  return { do: 'observe', because: 'the namespace seems to accept no new Jobs', what: 'namespace' };
}

/** The status of a new spec whose first step is on hold. */
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

/** The spec cannot be built: delete the Job of an earlier spec, and say why in the status. */
function refuseSpec(facts: Facts, problems: readonly string[]): BuildDecision {
  const { build, jobs, pods } = facts;
  const cause = invalidSpec(build, problems.join('; '));
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
      ...said(cause, cause.reason),
      stalled: true,
      artifacts: recorded(build, pods),
      because: 'the spec is invalid',
      event: warning(cause, 'Validate'),
    }) ??
    stalled(cause)
  );
}

function invalidSpec({ namespace, name }: BuildView, message: string): BuildCause {
  const run = `kubectl edit xxx ${name} -n ${namespace}`;
  return {
    reason: 'InvalidSpec',
    message: message,
    advice: [{ run, to: 'correct the spec; that is noticed at once' }],
  };
}

function addFinalizer({ build }: Facts): RuleDecision {
  if (hasOurFinalizer(build)) return undefined;
  const { resourceVersion } = build;
  return { do: 'addFinalizer', because: 'the binary must be removed with the resource', resourceVersion };
}

/** Delete Jobs and Pods of other specs, and a cleanup that would remove what is built now. */
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
  // Anybody may delete the Job of a finished build. A cleanup Job removes what an earlier spec has left.
  if (isReported(build, 'Succeeded')) return { jobs: others, strays: [] };
  const right = jobs.find((job) => isOfSpec(job, facts));
  const cleanups = jobs.filter(
    ({ purpose, state }) => purpose === 'cleanup' && (right === undefined || state === 'active'),
  );
  const going = jobs.filter(({ deleting }) => deleting);
  return {
    jobs: [...new Set([...others, ...cleanups, ...going])],
    // Pods of the same spec write the same binary.
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

/** This generation is built. Remove what earlier ones have left on nodes. */
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
        artifacts,
        because: 'the old binary is removed',
        event: { type: 'Normal', reason: 'Cleaned', action: 'Clean', note },
      }),
  });
}

/** How the Job of the spec is doing, and how it ended. */
function followJob(facts: ValidBuild): RuleDecision {
  const job = facts.jobs.find((each) => isOfSpec(each, facts));
  const pod = facts.pods.find((each) => provesSuccess(each, job, facts));
  if (pod !== undefined) {
    const { endedAt, jobUid: occasion } = pod;
    return reportEnd(facts, succeeded(facts, { startedAt: job?.createdAt, endedAt, occasion }));
  }
  if (job === undefined) return undefined;
  switch (job.state) {
    case 'active':
      return follow(facts, job);
    case 'succeeded': {
      const { createdAt: startedAt, endedAt, uid: occasion } = job;
      return reportEnd(facts, succeeded(facts, { startedAt, endedAt, occasion }));
    }
    case 'failed':
      return decideFailed(facts, job);
    default:
      return unreachable(job.state);
  }
}

/** A Pod ends before its Job says so. Somebody may also have deleted the Job since. */
function provesSuccess(pod: PodView, job: JobView | undefined, { build, hash }: ValidBuild): boolean {
  if (pod.purpose !== 'build' || pod.phase !== 'succeeded' || pod.hash !== hash) return false;
  if (job !== undefined) return pod.jobUid === job.uid;
  const { startTime } = build.status;
  return isReported(build, 'Building') && startTime !== undefined && pod.createdAt >= startTime;
}

function follow(facts: ValidBuild, job: JobView): BuildDecision {
  const { build, pods } = facts;
  const hasStarted = pods.some(({ purpose, started }) => purpose === 'build' && started);
  // Another Job of the same name may have run elsewhere, and its Pods go with it. Its own go with it at its deadline.
  const written = pods.filter(({ jobUid, started }) => jobUid !== job.uid || started);
  const others = othersRunning(job, pods, { nowMs: facts.nowMs, namespace: build.namespace });
  const lookInMs = others !== undefined && 'lookInMs' in others ? others.lookInMs : JOB_RECHECK_MS;
  const ended = others !== undefined && 'reason' in others ? others : undefined;
  return awaitEnd(facts, job, {
    action: 'Build',
    meanwhile: {
      phase: 'Building',
      startTime: job.createdAt,
      completionTime: null,
      artifacts: recorded(build, written),
    },
    otherwise: 'Building',
    trouble: ended ?? troubleIn(job, pods, build.namespace),
    before: hasStarted ? undefined : knownTrouble(build),
    because: 'the Job is running',
    // When the outcome of a create is known, the status gets its startTime.
    recheckMs: createUnknownForMs(facts) || lookInMs,
  });
}

/** Pods that still run could write to a node. Report the end after they have ended. */
function reportEnd(facts: ValidBuild, end: Report): BuildDecision {
  if (facts.pods.some(isUnfinishedBuild))
    return recordRuns(facts, end) ?? waitFor('the Pods of an earlier Job to end', RETIRING_MS);
  const wait = awaitCreate(facts);
  return wait === undefined ? report(facts, end) : (recordRuns(facts, end) ?? wait);
}

/** Record where Pods ran before waiting: nobody knows it once they are gone. */
function recordRuns(facts: ValidBuild, { startTime }: Report): RuleDecision {
  const artifacts = recorded(facts.build, facts.pods);
  if (artifacts.length === (facts.build.status.artifacts ?? []).length) return undefined;
  return report(facts, {
    phase: 'Building',
    ...said(knownTrouble(facts.build), 'Building'),
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
    artifacts,
    ...(startedAt !== undefined && { startTime: startedAt }),
    completionTime: endedAt === '' ? rfc3339(nowMs) : endedAt,
    because: 'the Job has succeeded',
    event: { type: 'Normal', reason: 'BuildSucceeded', action: 'Build', note, occasion },
  };
}

function decideFailed(facts: ValidBuild, job: JobView): BuildDecision {
  const { build, pods, nowMs } = facts;
  // The status may still be about options that refused this spec for a while.
  if (isReported(build, 'Failed') && !isReportedInvalid(build)) {
    // What its Pod wrote may be secret: it is in the status, and stays out of the history.
    return stalled(buildFailed(build, job, reasonOfFailure(job, pods)));
  }
  const artifacts = recorded(build, pods);
  const isUnseen =
    artifacts.length === 0 && job.failure === 'DeadlineExceeded' && !wasNeverStarted(facts, job);
  const message = `${failureOf(job, pods, troubleBefore(build)?.message)}${isUnseen ? UNSEEN : ''}`;
  const cause = buildFailed(build, job, message);
  return reportEnd(facts, {
    phase: 'Failed',
    ...said(cause, cause.reason),
    stalled: true,
    startTime: job.createdAt,
    completionTime: job.endedAt || rfc3339(nowMs),
    artifacts,
    because: 'the Job has failed',
    event: warning(cause, 'Build', job.uid),
  });
}

/** Its Pods went at the deadline. */
const UNSEEN = '; its Pods are gone, and nobody saw whether they ran: a binary may be left on their nodes';

/** Something kept its Pods from running, as its status or its Pods say. */
function wasNeverStarted({ build, pods }: ValidBuild, job: JobView): boolean {
  return troubleBefore(build) !== undefined || pods.some(({ jobUid }) => jobUid === job.uid);
}

function buildFailed({ namespace }: BuildView, { name }: JobView, message: string): BuildCause {
  return {
    reason: 'BuildFailed',
    message: message,
    advice: [
      showLogs(name, namespace, 'build'),
      { run: `kubectl delete job ${name} -n ${namespace}`, to: 'build the same again' },
    ],
  };
}

/** Clear the status of the last Job: it would hide that a create is in progress. */
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
  // Durable: Temporal then knows whether an attempt has ended without a known outcome.
  return { do: 'createJob', because: 'no Job builds this spec', spec, hash, isDurable: true };
}
