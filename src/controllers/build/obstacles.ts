import type { BuildView } from './build-view.ts';
import { LEFTOVER_NET_MS, NET_MS, writeIfNew, type Decision, type Known } from './known.ts';
import type { Step } from './observation.ts';
import type { StatusChange } from './status.ts';

/** The phases in which a Job is to be created. */
export type CreatingPhase = 'Pending' | 'Cleaning' | 'Succeeded';

/**
 * A Job of that name that is not ours is left alone. Whether it goes, nobody tells us: it is looked at again and again,
 * instead of trying to create ours.
 */
export function takenName(
  { build, taken, probed }: Known,
  jobName: string,
  phase: CreatingPhase,
  nowMs: number,
): Decision {
  if (taken === undefined) {
    return wasTaken(build) && probed !== jobName ? { do: 'look', at: 'name', name: jobName } : undefined;
  }
  const message = `Job ${build.namespace}/${jobName} is not ours, so it is left alone: delete it, or change spec.jobName`;
  const change: StatusChange = { phase, reason: 'JobNameTaken', message, stalled: true };
  return (
    writeIfNew(build, change, nowMs, {
      type: 'Warning',
      reason: 'JobNameTaken',
      action: 'CreateJob',
      note: message,
    }) ?? { do: 'wait', on: `the name ${jobName} to be free`, atMostMs: NET_MS, next: 'try the name again' }
  );
}

function wasTaken({ status }: BuildView): boolean {
  return status.conditions?.some(({ reason }) => reason === 'JobNameTaken') ?? false;
}

/** What a build of the same name, which is gone, has left behind is the garbage collector's, or ours to remove. */
export function awaitLeftover({ leftover }: Known): Decision {
  if (leftover === undefined) return undefined;
  if (!leftover.deleting) return { do: 'delete-job', job: leftover, propagation: 'Foreground' };
  return {
    do: 'wait',
    on: `Job ${leftover.name} of an earlier resource of this name to go`,
    atMostMs: LEFTOVER_NET_MS,
    next: 'go on once it is gone',
  };
}

/** @param inTerminatingNamespace what to do where the namespace takes nothing new */
export function reportRefusal(
  { build, refusal }: Known,
  phase: CreatingPhase,
  nowMs: number,
  inTerminatingNamespace: () => Step,
): Decision {
  if (refusal === undefined) return undefined;
  if (refusal.because === 'namespace-terminating') return inTerminatingNamespace();
  const { message } = refusal;
  const change: StatusChange = { phase, reason: 'JobRefused', message, stalled: true };
  return writeIfNew(build, change, nowMs) ?? { do: 'give-up' };
}
