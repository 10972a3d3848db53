import { isUnfinishedBuild, recorded } from './artifacts.ts';
import { hasOurFinalizer, type BuildView } from './build-view.ts';
import { NET_MS, writeIfNew, writeStatus, type Decision, type Known } from './known.ts';
import type { Step } from './observation.ts';
import { BEFORE_JOB, deleteFirst } from './retire.ts';
import type { StatusChange } from './status.ts';

/** A spec that cannot be built: its Jobs, of an earlier one, go, and the status says why. */
export function refuseSpec(known: Known, problems: readonly string[], nowMs: number): Step {
  const { build, jobs, pods } = known;
  const message = problems.join('; ');
  if (isRefused(build)) return { do: 'stalled', why: message };
  const change: StatusChange = { phase: 'Failed', reason: 'InvalidSpec', message, stalled: true };
  const event = { reason: 'InvalidSpec', action: 'Validate', note: message } as const;
  const write = () => writeStatus(build, change, nowMs, { type: 'Warning', ...event });
  if (Object.keys(build.status).length === 0 && !hasOurFinalizer(build)) return write();
  if (jobs === undefined) return { do: 'look', at: 'jobs' };
  if (pods === undefined) return { do: 'look', at: 'pods' };
  return retireRunning(known, nowMs) ?? write();
}

/** Whether it was reported already that this generation's spec is invalid, and why. */
export function isRefused({ spec, status, generation }: BuildView): boolean {
  if (spec.ok || status.observedGeneration !== generation) return false;
  const stalled = status.conditions?.find(({ type }) => type === 'Stalled');
  return stalled?.reason === 'InvalidSpec' && stalled.message === spec.problems.join('; ');
}

function retireRunning({ build, jobs = [], pods = [] }: Known, nowMs: number): Decision {
  const builds = jobs.filter(({ purpose }) => purpose === 'build');
  const running = builds.filter(({ state }) => state === 'active');
  if (running.length === 0 && !builds.some(({ deleting }) => deleting) && !pods.some(isUnfinishedBuild)) {
    return undefined;
  }
  const message = 'the spec is not valid: the Job of the one before is being deleted';
  return (
    writeIfNew(build, { ...BEFORE_JOB, message, artifacts: recorded(build, pods) }, nowMs) ??
    deleteFirst(running) ?? {
      do: 'wait',
      on: 'the Job of the spec before and its Pods to go',
      atMostMs: NET_MS,
      next: 'report that the spec is not valid',
    }
  );
}
