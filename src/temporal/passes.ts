import { activityInfo } from '@temporalio/activity';
import type { Outcome, Pass } from '../contract/run.ts';
import type { Telemetry } from '../contract/telemetry.ts';

/** All activities are passes over resources. */
export type Activities = Readonly<Record<string, (pass: Pass<never>) => Promise<Outcome>>>;

/** The same activities, of whose every attempt the telemetry is told. */
export function observed(activities: Activities, telemetry: Pick<Telemetry, 'pass'>): Activities {
  return Object.fromEntries(
    Object.entries(activities).map(([activity, act]) => [
      activity,
      (pass: Pass<never>) => {
        const { workflowExecution, attempt } = activityInfo();
        const { workflowId = '', runId = '' } = workflowExecution ?? {};
        const about = { ref: pass.ref, activity, workflowId, runId, attempt };
        return telemetry.pass(about, () => act(pass));
      },
    ]),
  );
}
