import type { DecidedEvent } from '../../api/index.ts';
import { listed, recorded } from './artifacts.ts';
import { cleanAway } from './cleanup.ts';
import { withRunning, withStatus, type Facts } from './facts.ts';
import { awaitCreate, deletionOf, isUnfinishedBuild, retire } from './job-rules.ts';
import { cleanupNameOf } from './lookups.ts';
import {
  recording,
  inWholeSeconds,
  type RuleVerdict,
  type StatusChange,
  type BuildVerdict,
} from './verdict.ts';
import type { JobView } from './views.ts';

/** The next step of a build that is being deleted: stop its Jobs, clean every node, then let it go. */
export function decideDeletion(facts: Facts): BuildVerdict {
  return skipCleanup(facts) ?? stopBuilds(facts) ?? recordEnd(facts) ?? cleanAll(facts);
}

const CLEANING = { phase: 'Cleaning' } as const;

function removeFinalizer(facts: Facts, because: string, event?: DecidedEvent): BuildVerdict {
  return {
    ...{ status: CLEANING, reason: 'Cleaning' },
    then: (next) => next.removeFinalizer(because, event ? { event } : {}),
  };
}

/** The Event says what stays, so a running cleanup has to stop first. */
function skipCleanup(facts: Facts): RuleVerdict {
  const { build, jobs } = facts;
  if (!build.skipCleanup) return undefined;
  const running = jobs.find(
    ({ purpose, state, deleting }) => purpose === 'cleanup' && state === 'active' && !deleting,
  );
  const because = 'the annotation asks to skip the cleanup';
  if (running)
    return {
      ...{ status: CLEANING, reason: 'Cleaning' },
      then: (next) => next.do.deleteJob(because, deletionOf(running, 'Background')),
    };
  return removeFinalizer(
    facts,
    because,
    skipped(`Cleanup was skipped because of the annotation: ${whatStays(facts)}`),
  );
}

function leaveInTerminatingNamespace(facts: Facts): BuildVerdict {
  const { namespace, name } = facts.build;
  const note = `Xxx ${namespace}/${name} was deleted without cleanup, because its namespace is being deleted and accepts no new Jobs: ${whatStays(facts)}`;
  return removeFinalizer(facts, 'its namespace accepts no new Jobs', {
    ...skipped(note),
    about: 'namespace',
  });
}

function skipped(message: string): DecidedEvent {
  return { type: 'Warning', reason: 'CleanupSkipped', action: 'Clean', message };
}

/** A Pod may have run where the status does not say so yet. */
function whatStays({ build, pods }: Facts): string {
  const artifacts = recorded(build, pods);
  return artifacts.length === 0 ? 'no binary is recorded on any node' : `${listed(artifacts)} stays`;
}

/** A running build would put its binary back. */
function stopBuilds(facts: Facts): RuleVerdict {
  const { jobs, pods } = facts;
  const builds = jobs.filter(({ purpose }) => purpose === 'build');
  const startTime = builds[0]?.createdAt;
  const status: StatusChange = { ...CLEANING, ...(startTime !== undefined && { startTime }) };
  return retire(facts, {
    jobs: builds.filter((job) => job.deleting || isRunning(job, facts)),
    strays: pods.filter(isUnfinishedBuild),
    // An end that was reported before is not the last one.
    status: { ...status, completionTime: null },
    reason: 'Cleaning',
    because: 'the resource is being deleted',
  });
}

/** A Job whose Pod has succeeded starts no other, although it is active for a moment. */
function isRunning({ uid, state }: JobView, { pods }: Facts): boolean {
  return state === 'active' && !pods.some(({ jobUid, phase }) => jobUid === uid && phase === 'succeeded');
}

/**
 * Records that nothing builds any more. From then on, Pods that have ended add nothing to the list of artifacts, and what is
 * cleaned stays off it. The watch may lag: what it does not show could be forgotten for good.
 */
function recordEnd(facts: Facts): RuleVerdict {
  const { build, nowMs } = facts;
  if (build.status.completionTime !== undefined) return undefined;
  const seen = withRunning(facts);
  const stop = stopBuilds(seen);
  if (stop !== undefined) return stop;
  const artifacts = recorded(build, seen.pods);
  const status = { ...CLEANING, artifacts };
  // Record where a Pod ran before waiting: nobody knows it once the Pod is gone.
  const wait = awaitCreate(facts, { status, reason: 'Cleaning' });
  if (wait !== undefined) return wait;
  if (artifacts.length === 0) return undefined;
  const ended = { artifacts, completionTime: inWholeSeconds(nowMs) };
  return recording(cleanAll(withStatus(facts, ended)), ended);
}

function cleanAll(facts: Facts): BuildVerdict {
  const { status } = facts.build;
  return cleanAway(facts, {
    artifacts: status.artifacts ?? [],
    jobName: cleanupNameOf(facts.build),
    phase: 'Cleaning',
    otherwise: () => leaveInTerminatingNamespace(facts),
    finish: (cleaned) =>
      removeOrphan(facts) ??
      (cleaned.length === 0
        ? removeFinalizer(facts, 'there is nothing to remove')
        : removeFinalizer(facts, 'every node is clean', {
            ...{ reason: 'Cleaned', action: 'Clean', message: `Removed ${listed(cleaned)}` },
          })),
  });
}

/** A Job without its owner reference would stay behind. An orphan deletion asks for just that. */
function removeOrphan({ build, jobs }: Facts): RuleVerdict {
  if (build.isOrphaning) return undefined;
  const job = jobs.find(({ purpose, owned, deleting }) => purpose === 'build' && !owned && !deleting);
  return (
    job && {
      ...{ status: CLEANING, reason: 'Cleaning' },
      then: (next) =>
        next.do.deleteJob('the Job has lost its owner reference', deletionOf(job, 'Background')),
    }
  );
}
