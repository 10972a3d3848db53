import { inOneLine, type DecidedEvent } from '../../api/index.ts';
import { listed, obsoleteArtifacts, recorded, without } from './artifacts.ts';
import {
  jobChanged,
  knownTrouble,
  othersRunning,
  showLogs,
  troubleBefore,
  jobTroubleIn,
  type BuildCause,
} from './causes.ts';
import { cleanAway } from './cleanup.ts';
import { decideDeletion } from './deletion.ts';
import { isReported, readyReason, withRunning, type BuildView, type Facts } from './facts.ts';
import { failureOf, reasonOfFailure } from './failure.ts';
import {
  awaitCreate,
  createWhenPossible,
  isUnfinishedBuild,
  JOB_RECHECK_MS,
  RECHECK_MS,
  retire,
  RETIRING,
  toldRefusal,
  type Meanwhile,
  type Retirement,
} from './job-rules.ts';
import { cleanupJobName } from './jobs.ts';
import type { Artifact, BuildSpec } from './kind.ts';
import { awaitEnd } from './running-job.ts';
import {
  inMilliseconds,
  leftMs,
  recording,
  inWholeSeconds,
  type RuleVerdict,
  type StatusChange,
  type BuildVerdict,
} from './verdict.ts';
import type { JobView, PodView } from './views.ts';

/** The status until the Job of the spec is created. */
const BEFORE_JOB: Meanwhile = {
  status: { phase: 'Pending', startTime: null, completionTime: null },
  reason: 'Pending',
};

/** So long a Job stays that something has changed. */
const CHANGED_PAUSE_MS = 30_000;

/** What the status of a build says, and what comes next. */
export function verdictOn(facts: Facts): BuildVerdict {
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

function decideBuilding(facts: ValidBuild): BuildVerdict {
  return (
    awaitUnchanged(facts) ??
    retireSuperseded(facts) ??
    decideSucceeded(facts) ??
    followJob(facts) ??
    followUnseenJob(facts) ??
    createJob(facts)
  );
}

/** Another Job in the place of one that is changed as it is created would be changed, too, again and again. */
function awaitUnchanged({ jobs, nowMs }: ValidBuild): RuleVerdict {
  const changed = jobs.find(({ purpose, hash, deleting }) => purpose === 'build' && hash === '' && !deleting);
  const pauseMs = changed === undefined ? 0 : leftMs(changed.createdAt, CHANGED_PAUSE_MS, nowMs);
  if (changed === undefined || pauseMs <= 0) return undefined;
  const cause = jobChanged(changed.name);
  return {
    status: { ...BEFORE_JOB.status, message: inOneLine(cause) },
    reason: cause.reason,
    then: (next) => next.stalled(cause, { recheckAfter: inMilliseconds(pauseMs) }),
  };
}

/**
 * The watch may lag, and not show a Job of an earlier spec. As long as the spec was never changed, each Job of this build has the name of the
 * one that is to be created: the create fails if there is one.
 */
function followUnseenJob(facts: ValidBuild): RuleVerdict {
  if (facts.build.generation === 1) return undefined;
  const seen = { ...facts, ...withRunning(facts) };
  return retireSuperseded(seen) ?? followJob(seen);
}

/** The spec cannot be built: delete the Job of an earlier spec, and say why in the status. */
function refuseSpec(facts: Facts, problems: readonly string[]): BuildVerdict {
  const { build, jobs, pods } = facts;
  const cause = invalidSpec(build, problems.join('; '));
  const builds = jobs.filter(({ purpose }) => purpose === 'build');
  return (
    retire(facts, {
      ...BEFORE_JOB,
      jobs: builds.filter(({ state, deleting }) => state === 'active' || deleting),
      strays: pods.filter(isUnfinishedBuild),
      because: 'the spec is no longer valid',
      isReplaced: true,
    }) ?? {
      status: { phase: 'Failed', message: inOneLine(cause), artifacts: recorded(build, pods) },
      reason: 'InvalidSpec',
      then: (next) => next.stalled(cause, { action: 'Validate' }),
    }
  );
}

function invalidSpec({ namespace, name }: BuildView, message: string): BuildCause {
  const run = `kubectl edit xxx ${name} -n ${namespace}`;
  const advice = [{ run, to: 'correct the spec; that is noticed at once' }];
  return { reason: 'InvalidSpec', message, advice };
}

/** Delete Jobs and Pods of other specs, and a cleanup that would remove what is built now. */
function retireSuperseded(facts: ValidBuild): RuleVerdict {
  return retire(facts, {
    ...BEFORE_JOB,
    ...supersededIn(facts),
    because: 'the spec has changed, or its Job is being deleted',
    isReplaced: true,
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

/** This generation is built. Remove what earlier ones have left on nodes. */
function decideSucceeded(facts: ValidBuild): RuleVerdict {
  const { build, spec } = facts;
  if (!isReported(build, 'Succeeded')) return undefined;
  const obsolete = obsoleteArtifacts(build);
  if (obsolete.length === 0) return built(facts);
  const artifacts = without(build.status.artifacts ?? [], obsolete);
  const message = `Removed ${listed(obsolete)}, left there by an earlier spec`;
  const event = { reason: 'Cleaned', action: 'Clean', message };
  return cleanAway(facts, {
    artifacts: obsolete,
    jobName: cleanupJobName(spec.jobName),
    phase: 'Succeeded',
    finish: () => recording(built(facts), { artifacts }, { event }),
    otherwise: () => awaitNamespace(facts, { status: { phase: 'Succeeded' }, reason: 'Built' }),
  });
}

function built({ spec }: ValidBuild): BuildVerdict {
  const then: BuildVerdict['then'] = (next) => next.converged(`${spec.binaryName} is built`);
  return { status: { phase: 'Succeeded' }, reason: 'Built', then };
}

function awaitNamespace({ build }: Facts, meanwhile: Meanwhile): BuildVerdict {
  const { namespace } = build;
  const what = `namespace ${namespace} to be deleted; it accepts no new Jobs`;
  const message = `namespace ${namespace} is being deleted, and accepts no new Jobs`;
  const cause: BuildCause = { reason: 'NamespaceTerminating', message, advice: [] };
  return {
    ...{ status: { ...meanwhile.status, message }, reason: cause.reason },
    then: (next) => next.wait(what, { recheckAfter: inMilliseconds(RECHECK_MS), cause }),
  };
}

/** How the Job of the spec is doing, and how it ended. */
function followJob(facts: ValidBuild): RuleVerdict {
  const job = facts.jobs.find((each) => isOfSpec(each, facts));
  const pod = facts.pods.find((each) => provesSuccess(each, job, facts));
  // The watch has shown this Pod, and thereby what came before it.
  if (pod !== undefined) return succeed(facts, { startedAt: job?.createdAt, endedAt: pod.endedAt });
  if (job === undefined) return undefined;
  switch (job.state) {
    case 'active':
      return follow(facts, job);
    case 'succeeded':
      return succeed({ ...facts, ...withRunning(facts) }, { startedAt: job.createdAt, endedAt: job.endedAt });
    case 'failed':
      return decideFailed(facts, job);
  }
}

/** A Pod ends before its Job says so. Somebody may also have deleted the Job since. */
function provesSuccess(pod: PodView, job: JobView | undefined, { build, hash }: ValidBuild): boolean {
  if (pod.purpose !== 'build' || pod.phase !== 'succeeded' || pod.hash !== hash) return false;
  if (job !== undefined) return pod.jobUid === job.uid;
  const { startTime } = build.status;
  return isReported(build, 'Building') && startTime !== undefined && pod.createdAt >= startTime;
}

function follow(facts: ValidBuild, job: JobView): BuildVerdict {
  const { build, pods, nowMs, createUnknownForMs } = facts;
  const { namespace } = build;
  const hasStarted = pods.some(({ purpose, started }) => purpose === 'build' && started);
  // Another Job of the same name may have run elsewhere, and its Pods go with it. Its own go with it at its deadline.
  // One that is taken away, such as with its node, may have started without a word.
  const written = pods.filter(({ jobUid, started, going }) => jobUid !== job.uid || started || going);
  const others = othersRunning(job, pods, { nowMs, namespace });
  const lookInMs = others !== undefined && 'lookInMs' in others ? others.lookInMs : JOB_RECHECK_MS;
  const ended = others !== undefined && 'reason' in others ? others : undefined;
  return awaitEnd(facts, job, {
    ...building(job.createdAt, recorded(build, written)),
    action: 'Build',
    trouble: ended ?? jobTroubleIn(job, pods, namespace),
    before: hasStarted ? undefined : knownTrouble(build),
    recheckMs: createUnknownForMs === 0 ? lookInMs : createUnknownForMs,
  });
}

function building(startedAt: string | undefined, artifacts: readonly Artifact[]): Meanwhile {
  const status: StatusChange = { phase: 'Building', completionTime: null, artifacts };
  return {
    status: { ...status, ...(startedAt !== undefined && { startTime: startedAt }) },
    reason: 'Building',
  };
}

/** Pods that still run could write to a node, and so could a Job that may yet be created: the end is reported after theirs. */
function unlessOver(facts: ValidBuild, startedAt: string | undefined): RuleVerdict {
  const meanwhile = building(startedAt, recorded(facts.build, facts.pods));
  if (!facts.pods.some(isUnfinishedBuild)) return awaitCreate(facts, meanwhile);
  const what = 'the Pods of an earlier Job to end';
  return { ...meanwhile, then: (next) => next.wait(what, { recheckAfter: RETIRING }) };
}

interface Success {
  readonly startedAt: string | undefined;
  /** RFC 3339, or empty. */
  readonly endedAt: string;
}

function succeed(facts: ValidBuild, { startedAt, endedAt }: Success): BuildVerdict {
  const { build, spec, pods, nowMs } = facts;
  const unended = unlessOver(facts, startedAt);
  if (unended !== undefined) return unended;
  const artifacts = recorded(build, pods);
  const message = `Job ${spec.jobName} built ${spec.binaryName}: ${listed(artifacts)}`;
  const status: StatusChange = {
    ...{ phase: 'Succeeded', artifacts, completionTime: endedAt || inWholeSeconds(nowMs) },
    ...(startedAt !== undefined && { startTime: startedAt }),
  };
  const isLast = obsoleteArtifacts({ spec: build.spec, status: { artifacts: [...artifacts] } }).length === 0;
  const what = 'what an earlier spec has left to be removed';
  return {
    ...{ status, reason: 'Built', record: ['phase', 'artifacts', 'completionTime'] },
    event: { reason: 'BuildSucceeded', action: 'Build', message },
    then: isLast ? built(facts).then : (next) => next.wait(what, { recheckAfter: RETIRING }),
  };
}

function decideFailed(facts: ValidBuild, job: JobView): BuildVerdict {
  const { build, nowMs } = facts;
  // What its Pod wrote may be secret: it is in the status, and stays out of the history.
  const stalled = buildFailed(build, job, reasonOfFailure(job, facts.pods));
  const then: BuildVerdict['then'] = (next) => next.stalled(stalled);
  // The status may still be about options that refused this spec for a while.
  if (isReported(build, 'Failed') && readyReason(build) !== 'InvalidSpec') {
    const { message = '' } = build.status;
    return { status: { phase: 'Failed', message }, reason: 'BuildFailed', then };
  }
  // Its Pods may be gone before the watch has shown them.
  const seen = { ...facts, ...withRunning(facts) };
  const unended = unlessOver(seen, job.createdAt);
  if (unended !== undefined) return unended;
  const { pods } = seen;
  const artifacts = recorded(build, pods);
  const isUnseen =
    artifacts.length === 0 && job.failure === 'DeadlineExceeded' && !wasNeverStarted(seen, job);
  const cause = buildFailed(
    build,
    job,
    `${failureOf(job, pods, troubleBefore(build)?.message)}${isUnseen ? UNSEEN : ''}`,
  );
  const message = inOneLine(cause);
  return {
    status: {
      ...{ phase: 'Failed', message, artifacts, startTime: job.createdAt },
      completionTime: job.endedAt || inWholeSeconds(nowMs),
    },
    reason: 'BuildFailed',
    record: ['phase', 'message', 'artifacts', 'completionTime'],
    event: warningOf(cause, 'Build'),
    then,
  };
}

function warningOf(cause: BuildCause, action: string): DecidedEvent {
  return { type: 'Warning', reason: cause.reason, action, message: inOneLine(cause) };
}

/** Its Pods went at the deadline. */
const UNSEEN = '; its Pods are gone, and nobody saw whether they ran: a binary may be left on their nodes';

/** Something kept its Pods from running, as its status or its Pods say. */
function wasNeverStarted({ build, pods }: Facts, job: JobView): boolean {
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

/** The status of the last Job goes first: of this generation, nothing is built. */
function createJob(facts: ValidBuild): BuildVerdict {
  const { build, pods, spec, hash } = facts;
  const status = { ...BEFORE_JOB.status, artifacts: recorded(build, pods) };
  const meanwhile = { ...BEFORE_JOB, status };
  const { phase, completionTime } = build.status;
  const isOfLast = completionTime !== undefined || (phase !== undefined && phase !== 'Pending');
  const verdict = createWhenPossible(facts, {
    ...{ ...meanwhile, jobName: spec.jobName, holder: 'holder' },
    otherwise: () => awaitNamespace(facts, meanwhile),
    create: () => ({
      ...meanwhile,
      status: { ...status, ...toldRefusal(facts, 'createJob') },
      then: (next) => next.do.createJob('no Job builds this spec', { hash }),
    }),
  });
  return isOfLast ? { ...verdict, record: ['phase', 'artifacts'] } : verdict;
}
