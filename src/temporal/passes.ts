import { activityInfo } from '@temporalio/activity';
import type { ResourceRef } from '../contract/resource.ts';
import type { Outcome, Pass } from '../contract/run.ts';
import type { Telemetry } from '../contract/telemetry.ts';

/** All activities are passes over resources. */
export type Activities = Readonly<Record<string, (pass: Pass<never>) => Promise<Outcome>>>;

/** The same activities, of whose every attempt the telemetry is told. */
export function observed(activities: Activities, telemetry: Pick<Telemetry, 'pass'>): Activities {
  return around(activities, ({ ref }, activity, act) => {
    const { workflowExecution, attempt } = activityInfo();
    const { workflowId = '', runId = '' } = workflowExecution ?? {};
    return telemetry.pass({ ref, activity, workflowId, runId, attempt }, act);
  });
}

/** Where watcher and worker share a process, the watcher need not ask Temporal whether a run has ended. */
export function tellingEnds(activities: Activities, onEnd: (ref: ResourceRef) => void): Activities {
  return around(activities, async ({ ref }, _, act) => {
    const outcome = await act();
    if (outcome.result === 'converged') onEnd(ref);
    return outcome;
  });
}

type Around = (pass: Pass<never>, activity: string, act: () => Promise<Outcome>) => Promise<Outcome>;

function around(activities: Activities, wrap: Around): Activities {
  return Object.fromEntries(
    Object.entries(activities).map(([name, act]) => [
      name,
      (pass: Pass<never>) => wrap(pass, name, () => act(pass)),
    ]),
  );
}
