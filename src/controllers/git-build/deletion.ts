import { converged, type DecisionEvent } from '../../contract/decision.ts';
import { rfc3339 } from '../condition.ts';
import { cleanAway } from './cleanup.ts';
import { awaitCreate, deleteJob, isUnfinishedBuild, retire } from './job-rules.ts';
import { cleanupJobName } from './jobs.ts';
import type { BuildDecision, Facts, RuleDecision } from './observation.ts';
import { ORPHAN_FINALIZER } from './resource.ts';
import { listed, recorded, report, reportIfNew, type StatusChange } from './status.ts';
import { hasOurFinalizer, type JobView } from './views.ts';

/** The next step of a build that is being deleted: stop its Jobs, clean every node, then let it go. */
export function decideDeletion(facts: Facts): BuildDecision {
  if (!hasOurFinalizer(facts.build)) return converged('the resource is being deleted');
  return (
    skipCleanup(facts) ??
    leaveInTerminatingNamespace(facts) ??
    stopBuilds(facts) ??
    beginCleaning(facts) ??
    recordEnd(facts) ??
    cleanAll(facts)
  );
}

function removeFinalizer({ build }: Facts, because: string, event?: DecisionEvent): BuildDecision {
  const { resourceVersion } = build;
  return { do: 'removeFinalizer', because, resourceVersion, ...(event && { event }) };
}

/** The Event says what stays, so a running cleanup has to stop first. */
function skipCleanup(facts: Facts): RuleDecision {
  const { build, jobs } = facts;
  if (!build.skipCleanup) return undefined;
  const running = jobs.find(
    ({ purpose, state, deleting }) => purpose === 'cleanup' && state === 'active' && !deleting,
  );
  const because = 'the annotation asks to skip the cleanup';
  const note = `Cleanup was skipped because of the annotation: ${whatStays(facts)}`;
  return (
    (running && deleteJob(running, { propagation: 'Background', because })) ??
    removeFinalizer(facts, because, skipped(note))
  );
}

function leaveInTerminatingNamespace(facts: Facts): RuleDecision {
  if (facts.namespace !== 'terminating') return undefined;
  const { namespace, name } = facts.build;
  const note = `Xxx ${namespace}/${name} was deleted without cleanup, because its namespace is being deleted and accepts no new Jobs: ${whatStays(facts)}`;
  return removeFinalizer(facts, 'its namespace accepts no new Jobs', {
    ...skipped(note),
    about: 'namespace',
  });
}

function skipped(note: string): DecisionEvent {
  return { type: 'Warning', reason: 'CleanupSkipped', action: 'Clean', note };
}

/** A Pod may have run where the status does not say so yet. */
function whatStays({ build, pods }: Facts): string {
  const artifacts = recorded(build, pods);
  return artifacts.length === 0 ? 'no binary is recorded on any node' : `${listed(artifacts)} stays`;
}

/** A running build would put its binary back. */
function stopBuilds(facts: Facts): RuleDecision {
  const { jobs, pods } = facts;
  const builds = jobs.filter(({ purpose }) => purpose === 'build');
  const startTime = builds[0]?.createdAt;
  return retire(facts, {
    jobs: builds.filter((job) => job.deleting || isRunning(job, facts)),
    strays: pods.filter(isUnfinishedBuild),
    status: { ...cleaning(facts), ...(startTime !== undefined && { startTime }) },
    because: 'the resource is being deleted',
  });
}

/** A Job whose Pod has succeeded starts no other, although it is active for a moment. */
function isRunning({ uid, state }: JobView, { pods }: Facts): boolean {
  return state === 'active' && !pods.some(({ jobUid, phase }) => jobUid === uid && phase === 'succeeded');
}

const CLEANING = { phase: 'Cleaning', reason: 'Cleaning' } as const;

/** An end that was reported while a create may be in progress is not the last one. `recordEnd` finds the last one. */
function cleaning(facts: Facts): StatusChange {
  return { ...CLEANING, ...(awaitCreate(facts) && { completionTime: null }) };
}

function beginCleaning(facts: Facts): RuleDecision {
  const { build, pods } = facts;
  if (build.status.phase === 'Cleaning') return undefined;
  const artifacts = recorded(build, pods);
  return report(facts, { ...cleaning(facts), artifacts, because: 'the resource is being deleted' });
}

/**
 * Records that nothing builds any more. From then on, Pods that have ended add nothing to the list of artifacts, and what is
 * cleaned stays off it.
 */
function recordEnd(facts: Facts): RuleDecision {
  const { build, pods, nowMs } = facts;
  if (build.status.completionTime !== undefined) return undefined;
  const artifacts = recorded(build, pods);
  const wait = awaitCreate(facts);
  // Record where a Pod ran before waiting: nobody knows it once the Pod is gone.
  if (wait !== undefined) {
    return reportIfNew(facts, { ...CLEANING, artifacts, because: 'nothing of it is running' }) ?? wait;
  }
  if (artifacts.length === 0) return undefined;
  return report(facts, {
    ...CLEANING,
    artifacts,
    completionTime: rfc3339(nowMs),
    because: 'nothing builds any more',
  });
}

function cleanAll(facts: Facts): BuildDecision {
  const { spec, status, uid } = facts.build;
  return cleanAway(facts, {
    artifacts: status.artifacts ?? [],
    jobName: cleanupJobName(status.jobName ?? (spec.ok ? spec.spec.jobName : uid)),
    phase: 'Cleaning',
    finish: (cleaned) =>
      removeOrphan(facts) ??
      (cleaned.length === 0
        ? removeFinalizer(facts, 'there is nothing to remove')
        : removeFinalizer(facts, 'every node is clean', {
            type: 'Normal',
            reason: 'Cleaned',
            action: 'Clean',
            note: `Removed ${listed(cleaned)}`,
          })),
  });
}

/** A Job without its owner reference would stay behind. An orphan deletion asks for just that. */
function removeOrphan(facts: Facts): RuleDecision {
  const { build, jobs } = facts;
  if (build.finalizers.includes(ORPHAN_FINALIZER)) return undefined;
  const job = jobs.find(({ purpose, owned, deleting }) => purpose === 'build' && !owned && !deleting);
  return (
    job && deleteJob(job, { propagation: 'Background', because: 'the Job has lost its owner reference' })
  );
}
