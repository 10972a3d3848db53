import { isUnfinishedBuild, listed, recorded, straysMessage } from './artifacts.ts';
import { hasOurFinalizer, type BuildView } from './build-view.ts';
import { cleanAway } from './clean.ts';
import { cleanupJobName } from './jobs.ts';
import { NET_MS, ORPHAN_NET_MS, writeIfNew, writeStatus, type Decision, type Known } from './known.ts';
import { BUILD_FINALIZER } from './names.ts';
import type { Step, StepEvent } from './observation.ts';
import { rfc3339 } from './status.ts';

/** The next step of a build that is being deleted: nothing may build any more, then every node is cleaned, then it may go. */
export function decideDeletion(known: Known, nowMs: number): Step {
  const { build } = known;
  if (!hasOurFinalizer(build)) return { do: 'converged', did: 'the resource is being deleted' };
  return (
    skipCleanup(build) ??
    leaveInTerminatingNamespace(known) ??
    beginCleaning(build, nowMs) ??
    endBuilds(known, nowMs) ??
    cleanAll(known, nowMs)
  );
}

function removeFinalizer(build: BuildView, event?: StepEvent): Step {
  const finalizers = build.finalizers.filter((each) => each !== BUILD_FINALIZER);
  const { resourceVersion } = build;
  return { do: 'remove-finalizer', resourceVersion, finalizers, ...(event && { event }) };
}

function skipCleanup(build: BuildView): Decision {
  if (!build.skipCleanup) return undefined;
  const note = `Cleanup is skipped, as the annotation asks: ${whatStays(build)}`;
  return removeFinalizer(build, { type: 'Warning', reason: 'CleanupSkipped', action: 'Clean', note });
}

function leaveInTerminatingNamespace({ build, refusal }: Known): Decision {
  if (refusal?.because !== 'namespace-terminating') return undefined;
  const { namespace, name } = build;
  const note = `Xxx ${namespace}/${name} goes without cleanup, since its namespace takes no new Job: ${whatStays(build)}`;
  const event = { type: 'Warning', reason: 'CleanupSkipped', action: 'Clean', note } as const;
  return removeFinalizer(build, { ...event, about: 'namespace' });
}

function whatStays({ status }: BuildView): string {
  const { artifacts = [] } = status;
  return artifacts.length === 0 ? 'nothing is known to be on a node' : `${listed(artifacts)} stays`;
}

function beginCleaning(build: BuildView, nowMs: number): Decision {
  if (build.status.phase === 'Cleaning') return undefined;
  return writeStatus(build, { phase: 'Cleaning', reason: 'Cleaning' }, nowMs);
}

/**
 * What still builds would put its binary back. That nothing does is written down: from then on, Pods that have ended
 * tell nothing new, and what is cleaned stays off the list.
 */
function endBuilds({ build, jobs, pods }: Known, nowMs: number): Decision {
  if (build.status.completionTime !== undefined) return undefined;
  if (jobs === undefined) return { do: 'look', at: 'jobs' };
  if (pods === undefined) return { do: 'look', at: 'pods' };
  const builds = jobs.filter(({ purpose }) => purpose === 'build');
  const artifacts = recorded(build, pods);
  const change = { phase: 'Cleaning', reason: 'Cleaning', artifacts } as const;
  const running = builds.find(({ state, deleting }) => state === 'active' && !deleting);
  const isGoing = builds.some(({ deleting }) => deleting) || pods.some(isUnfinishedBuild);
  if (running === undefined && !isGoing) {
    if (artifacts.length === 0) return undefined;
    return writeStatus(build, { ...change, completionTime: rfc3339(nowMs) }, nowMs);
  }
  if (artifacts !== build.status.artifacts && artifacts.length > 0) return writeStatus(build, change, nowMs);
  if (running !== undefined) return { do: 'delete-job', job: running, propagation: 'Foreground' };
  const next = 'clean up once nothing of it builds';
  if (builds.some(({ deleting }) => deleting)) {
    return { do: 'wait', on: 'the Job and its Pods to go', atMostMs: NET_MS, next };
  }
  const message = straysMessage(pods.filter(isUnfinishedBuild));
  return (
    writeIfNew(build, { ...change, message }, nowMs) ?? {
      do: 'wait',
      on: 'the Pods of the Job to end, which run without it',
      atMostMs: ORPHAN_NET_MS,
      next,
    }
  );
}

/** A Job without its owner reference would stay behind, unless that is what the deletion asks for. */
function removeOrphan({ build, jobs = [] }: Known): Decision {
  if (build.finalizers.includes('orphan')) return undefined;
  const job = jobs.find(({ purpose, owned, deleting }) => purpose === 'build' && !owned && !deleting);
  return job && { do: 'delete-job', job, propagation: 'Background' };
}

function cleanAll(known: Known, nowMs: number): Step {
  const { build } = known;
  const { spec, status } = build;
  const jobName = cleanupJobName(status.jobName ?? (spec.ok ? spec.spec.jobName : build.uid));
  const artifacts = status.artifacts ?? [];
  return cleanAway(known, {
    artifacts,
    jobName,
    phase: 'Cleaning',
    nowMs,
    finish: (cleaned) =>
      removeOrphan(known) ??
      removeFinalizer(
        build,
        cleaned.length === 0
          ? undefined
          : { type: 'Normal', reason: 'Cleaned', action: 'Clean', note: `Removed ${listed(cleaned)}` },
      ),
  });
}
