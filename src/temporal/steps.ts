import { activityInfo } from '@temporalio/activity';
import type { StepResult } from '../contract/decision.ts';
import type { ResourceRef } from '../contract/resource.ts';
import type { StepInput } from '../contract/run.ts';
import type { Telemetry } from '../contract/telemetry.ts';

type Activities = Readonly<Record<string, (input: StepInput) => Promise<StepResult>>>;

/** The same step activities, each attempt of which is observed. */
export function observed(activities: Activities, telemetry: Pick<Telemetry, 'step'>): Activities {
  return around(activities, ({ ref }, activity, act) => {
    const { workflowExecution, attempt } = activityInfo();
    const { workflowId = '', runId = '' } = workflowExecution ?? {};
    return telemetry.step({ ref, activity, workflowId, runId, attempt }, act);
  });
}

/** Where watcher and worker share a process, the watcher need not ask Temporal whether a run has ended. */
export function reportingEnds(activities: Activities, onEnd: (ref: ResourceRef) => void): Activities {
  return around(activities, async ({ ref }, _, act) => {
    const result = await act();
    if (result.next.do === 'converged') onEnd(ref);
    return result;
  });
}

type Around = (input: StepInput, activity: string, act: () => Promise<StepResult>) => Promise<StepResult>;

function around(activities: Activities, wrap: Around): Activities {
  return Object.fromEntries(
    Object.entries(activities).map(([name, act]) => [
      name,
      (input: StepInput) => wrap(input, name, () => act(input)),
    ]),
  );
}
