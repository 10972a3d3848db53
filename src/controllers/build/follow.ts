import { unreachable } from '../../contract/unreachable.ts';
import { artifactsOf, isUnfinishedBuild, listed, recorded } from './artifacts.ts';
import type { BuildView } from './build-view.ts';
import { failureMessage } from './failure.ts';
import type { JobView } from './job-view.ts';
import {
  isReported,
  isRight,
  JOB_NET_MS,
  ORPHAN_NET_MS,
  writeIfNew,
  writeStatus,
  type Decision,
  type Wanted,
} from './known.ts';
import type { Step } from './observation.ts';
import type { PodView } from './pod-view.ts';
import { rfc3339, united, type StatusChange } from './status.ts';

/** What the Job that the spec calls for is at, and how it ended. */
export function followJob(wanted: Wanted): Decision {
  const { build, pods = [], jobs = [], nowMs } = wanted;
  const job = jobs.find((each) => isRight(each, wanted));
  if (job === undefined) return undefined;
  switch (job.state) {
    case 'active':
      return (
        writeIfNew(build, buildingStatus(build, job, pods), nowMs) ?? {
          do: 'wait',
          on: `Job ${build.namespace}/${job.name} to end`,
          atMostMs: JOB_NET_MS,
          next: `report how Job ${job.name} ended`,
        }
      );
    case 'succeeded':
    case 'failed':
      return reportEnd(wanted, job, pods);
    default:
      return unreachable(job.state);
  }
}

/** What of it still runs, without its Job, could still write to a node: the end is reported when all has ended. */
function reportEnd(wanted: Wanted, job: JobView, pods: readonly PodView[]): Step {
  const { build, spec, nowMs } = wanted;
  if (job.state === 'failed' && isReported(build, 'Failed')) {
    const { message = '' } = build.status;
    return { do: 'stalled', why: `${message}; change the spec, or delete Job ${spec.jobName}` };
  }
  if (pods.some(isUnfinishedBuild)) {
    const next = `report how Job ${job.name} ended`;
    return { do: 'wait', on: 'the Pods of an earlier Job to end', atMostMs: ORPHAN_NET_MS, next };
  }
  return job.state === 'failed'
    ? failed(wanted, job, pods)
    : succeeded(wanted, pods, { endedAt: job.endedAt || rfc3339(nowMs), occasion: job.uid });
}

function buildingStatus(build: BuildView, job: JobView, pods: readonly PodView[]): StatusChange {
  const change = { phase: 'Building', reason: 'Building', startTime: job.createdAt } as const;
  return {
    ...change,
    completionTime: null,
    message: troubleMessage(pods) || (pods.some(hasStarted) ? '' : knownTrouble(build)),
    artifacts: build.status.artifacts ?? [],
  };
}

function hasStarted({ purpose, started }: PodView): boolean {
  return purpose === 'build' && started;
}

/** What was told of the running Job; its Pods may be gone by now, and why it fails is still that. */
function knownTrouble({ status }: BuildView): string {
  return status.phase === 'Building' ? (status.message ?? '') : '';
}

/** What keeps the Pods of a Job from starting; empty where nothing does. The status shows it, and the watcher compares. */
export function troubleMessage(pods: readonly Pick<PodView, 'purpose' | 'trouble'>[]): string {
  const texts = pods.flatMap(({ purpose, trouble }) =>
    purpose === 'build' && trouble ? [trouble.text] : [],
  );
  return [...new Set(texts)].sort().join('; ');
}

function failed({ build, nowMs }: Wanted, job: JobView, pods: readonly PodView[]): Step {
  const message = failureMessage(job, pods, knownTrouble(build));
  const change: StatusChange = {
    phase: 'Failed',
    reason: 'BuildFailed',
    message,
    stalled: true,
    startTime: job.createdAt,
    completionTime: job.endedAt || rfc3339(nowMs),
    artifacts: recorded(build, pods),
  };
  const event = { reason: 'BuildFailed', action: 'Build', note: message, occasion: job.uid };
  return writeStatus(build, change, nowMs, { type: 'Warning', ...event });
}

/** Reports what was built, and where it is. */
export function succeeded(
  { build, spec, nowMs }: Wanted,
  pods: readonly PodView[],
  { endedAt, occasion }: { readonly endedAt: string; readonly occasion: string },
): Step {
  const artifacts = united(build.status.artifacts ?? [], artifactsOf(pods));
  const change = { phase: 'Succeeded', reason: 'Built', ready: true, artifacts } as const;
  return writeStatus(build, { ...change, completionTime: endedAt }, nowMs, {
    type: 'Normal',
    reason: 'BuildSucceeded',
    action: 'Build',
    note: `Job ${spec.jobName} built ${spec.binaryName}: ${listed(artifacts)}`,
    occasion,
  });
}
