import { unreachable } from '../../contract/unreachable.ts';
import { isUnfinishedBuild, listed, obsoleteArtifacts, recorded, straysMessage } from './artifacts.ts';
import { hasOurFinalizer, type BuildView } from './build-view.ts';
import { cleanAway } from './clean.ts';
import { decideDeletion } from './deletion.ts';
import { followJob, succeeded } from './follow.ts';
import { refuseSpec } from './invalid-spec.ts';
import { cleanupJobName } from './jobs.ts';
import type { JobView } from './job-view.ts';
import {
  isReported,
  isRight,
  NET_MS,
  ORPHAN_NET_MS,
  writeIfNew,
  writeStatus,
  type Decision,
  type Known,
  type Wanted,
} from './known.ts';
import { BUILD_FINALIZER } from './names.ts';
import { awaitLeftover, reportRefusal, takenName } from './obstacles.ts';
import type { Observation, Step } from './observation.ts';
import { BEFORE_JOB, deleteFirst } from './retire.ts';
import type { SeenBuild } from './seen.ts';
import { cleaningPatch, rfc3339, without } from './status.ts';

/**
 * The next step of a build, from what is known so far. Pure: the same observation at the same time gives the same
 * step.
 *
 * @param nowMs milliseconds since the epoch
 */
export function decideBuild(observation: Observation, nowMs: number): Step {
  const { build, seen } = observation;
  if (build === undefined) return firstStep(seen, nowMs);
  if (build === 'gone') return { do: 'converged', did: 'the resource is gone' };
  const known = { ...observation, build };
  return build.deleting ? decideDeletion(known, nowMs) : decideLiving(known, nowMs);
}

/** What the watcher saw is acted on only by a write that fails where it is not so any more. */
function firstStep(seen: SeenBuild | undefined, nowMs: number): Step {
  if (seen === undefined) return { do: 'look', at: 'build' };
  const { resourceVersion, generation } = seen;
  switch (seen.step) {
    case 'look':
      return { do: 'look', at: 'build' };
    case 'add-finalizer':
      return { do: 'add-finalizer', resourceVersion, finalizers: [BUILD_FINALIZER] };
    case 'start-cleaning':
      return { do: 'write-status', resourceVersion, status: cleaningPatch(generation, nowMs) };
    default:
      return unreachable(seen.step);
  }
}

function decideLiving(known: Known, nowMs: number): Step {
  const { build } = known;
  const { spec } = build;
  if (!spec.ok) return settled(build) ?? refuseSpec(known, spec.problems, nowMs);
  const wanted: Wanted = { ...known, spec: spec.spec, hash: spec.hash, nowMs };
  return (
    addFinalizer(wanted) ??
    settled(build) ??
    cleanObsolete(wanted) ??
    reportSuccess(wanted) ??
    lookAround(wanted) ??
    retireUnwanted(wanted, unwantedFor(wanted)) ??
    followJob(wanted) ??
    resolveName(wanted) ??
    forgetLastJob(wanted) ??
    createBuild(wanted)
  );
}

/** Whether this very generation was built, and nothing of earlier ones is left on a node. */
export function isSettled(build: BuildView): boolean {
  return hasOurFinalizer(build) && isReported(build, 'Succeeded') && obsoleteArtifacts(build).length === 0;
}

function settled(build: BuildView): Decision {
  if (!isSettled(build)) return undefined;
  return { do: 'converged', did: `${build.status.binaryName ?? 'the binary'} is built` };
}

function addFinalizer({ build }: Wanted): Decision {
  if (hasOurFinalizer(build)) return undefined;
  const { resourceVersion, finalizers } = build;
  return { do: 'add-finalizer', resourceVersion, finalizers: [...finalizers, BUILD_FINALIZER] };
}

function cleanObsolete(wanted: Wanted): Decision {
  const { build, spec, nowMs } = wanted;
  if (!isReported(build, 'Succeeded')) return undefined;
  const obsolete = obsoleteArtifacts(build);
  if (obsolete.length === 0) return undefined;
  const artifacts = without(build.status.artifacts ?? [], obsolete);
  return cleanAway(wanted, {
    artifacts: obsolete,
    jobName: cleanupJobName(spec.jobName),
    phase: 'Succeeded',
    nowMs,
    finish: () =>
      writeStatus(build, { phase: 'Succeeded', reason: 'Built', ready: true, artifacts }, nowMs, {
        type: 'Normal',
        reason: 'Cleaned',
        action: 'Clean',
        note: `Removed ${listed(obsolete)}, which another spec had put there`,
      }),
  });
}

/** A Pod that succeeded proves it, whatever has become of its Job. */
function reportSuccess(wanted: Wanted): Decision {
  const { build, hash, pods, jobs, nowMs } = wanted;
  if (!isReported(build, 'Building')) return undefined;
  if (pods === undefined) return { do: 'look', at: 'pods' };
  if (jobs !== undefined || pods.some(isUnfinishedBuild)) return undefined;
  const pod = pods.find(
    (each) => each.purpose === 'build' && each.phase === 'succeeded' && each.hash === hash,
  );
  return pod && succeeded(wanted, pods, { endedAt: pod.endedAt || rfc3339(nowMs), occasion: pod.uid });
}

/** Jobs first: a Job that is gone then creates no Pod that the look at the Pods would miss. */
function lookAround({ fresh, jobs, pods }: Wanted): Decision {
  if (fresh === true) return undefined;
  if (jobs === undefined) return { do: 'look', at: 'jobs' };
  return pods === undefined ? { do: 'look', at: 'pods' } : undefined;
}

/** Jobs of other specs, and a cleanup that would remove what is to be built now. */
function unwantedFor(wanted: Wanted): readonly JobView[] {
  const { jobs = [] } = wanted;
  const hasRight = jobs.some((job) => isRight(job, wanted));
  return jobs.filter((job) =>
    job.purpose === 'build' ? !isRight(job, wanted) : !hasRight || job.state === 'active',
  );
}

/**
 * Takes Jobs away, and waits until nothing of them can write to a node any more. What they may have put there is
 * recorded before, since their Pods go with them.
 */
function retireUnwanted(wanted: Wanted, unwanted: readonly JobView[]): Decision {
  const { build, jobs = [], pods = [], nowMs } = wanted;
  const going = jobs.filter(({ deleting }) => deleting);
  // Without their Job, by orphan deletion; those of the same spec put there what is wanted.
  const strays = pods.filter((pod) => isUnfinishedBuild(pod) && pod.hash !== wanted.hash);
  if (unwanted.length === 0 && going.length === 0 && strays.length === 0) return undefined;
  const names = [...new Set([...unwanted, ...going].map(({ name }) => name))].join(', ');
  const message = names === '' ? straysMessage(strays) : `Job ${names} is being deleted`;
  return (
    writeIfNew(build, { ...BEFORE_JOB, message, artifacts: recorded(build, pods) }, nowMs) ??
    deleteFirst(unwanted) ?? {
      do: 'wait',
      on: names === '' ? 'the Pods of an earlier Job to end' : `Job ${names} and its Pods to go`,
      atMostMs: names === '' ? ORPHAN_NET_MS : NET_MS,
      next: 'go on once the old Job is gone',
    }
  );
}

/** The name that the Job is to have may be another's. */
function resolveName(wanted: Wanted): Decision {
  const { build, spec } = wanted;
  return (
    takenName(wanted, spec.jobName, 'Pending', wanted.nowMs) ??
    awaitLeftover(wanted) ??
    reportRefusal(wanted, 'Pending', wanted.nowMs, () => ({
      do: 'wait',
      on: `namespace ${build.namespace} to go, which takes no new Job`,
      atMostMs: NET_MS,
      next: 'look whether the namespace is gone',
    }))
  );
}

/** A status that tells of the end of a Job would hide that another one has begun. */
function forgetLastJob({ build, pods = [], nowMs }: Wanted): Decision {
  const artifacts = recorded(build, pods);
  const isNews = artifacts.length !== (build.status.artifacts ?? []).length;
  if (build.status.completionTime === undefined && !isNews) return undefined;
  return writeIfNew(build, { ...BEFORE_JOB, artifacts }, nowMs);
}

function createBuild({ build, spec, hash }: Wanted): Step {
  return { do: 'create-build', build, spec, hash };
}
