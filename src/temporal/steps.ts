import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import { inOneLine, type Cause } from '../api/cause.ts';
import { isOfOtherCluster, labelOfCluster, type ClusterIdentity } from '../runs/cluster.ts';
import { isConverged, type StepReport } from '../runs/decision.ts';
import { FAILURE } from '../runs/failures.ts';
import type { Logger } from '../api/logger.ts';
import { workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import type { StepInput } from '../runs/run.ts';
import type { Telemetry } from '../runs/telemetry.ts';

type Activities = Readonly<Record<string, (input: StepInput) => Promise<StepReport>>>;

/** Reports each attempt of a step to telemetry. */
export function observed(activities: Activities, telemetry: Pick<Telemetry, 'step'>): Activities {
  return around(activities, ({ ref }, activity, act) => {
    const { attempt } = activityInfo();
    return telemetry.step({ ref, activity, attempt }, act);
  });
}

/** Chance decides who takes the next attempt, so the delay does not grow with each refusal. */
const ANOTHER_WORKER_MS = 5_000;

/**
 * Refuses steps for the runs of other clusters. Here, their resource may have a namesake, or would seem to be gone. Temporal
 * retries the step until a worker of the right cluster takes it.
 */
export function ofOwnCluster(activities: Activities, own: ClusterIdentity, log: Logger): Activities {
  return around(activities, async ({ ref, cluster }, _, act) => {
    if (!isOfOtherCluster(cluster, own)) return act();
    const cause: Cause = {
      reason: FAILURE.otherCluster,
      message: `the run is of cluster ${nameOf(cluster)}, and this worker is of cluster ${nameOf(own)}: a worker of its own cluster has to take it`,
      advice: ['give the operator of each cluster a task queue of its own (--task-queue)'],
    };
    const message = inOneLine(cause);
    const { controller, namespace, name } = ref;
    log.warn({ controller, namespace, name, workflowId: workflowIdFor(ref) }, message);
    throw ApplicationFailure.create({
      ...{ type: FAILURE.otherCluster, message, details: [cause] },
      nextRetryDelay: ANOTHER_WORKER_MS,
    });
  });
}

function nameOf(cluster: ClusterIdentity = {}): string {
  return labelOfCluster(cluster) ?? 'unknown name';
}

/** Tells a watcher in the same process when a run has ended. */
export function reportingEnds(activities: Activities, onEnd: (ref: ResourceRef) => void): Activities {
  return around(activities, async ({ ref }, _, act) => {
    const result = await act();
    if (isConverged(result.next)) onEnd(ref);
    return result;
  });
}

type Around = (input: StepInput, activity: string, act: () => Promise<StepReport>) => Promise<StepReport>;

function around(activities: Activities, wrap: Around): Activities {
  return Object.fromEntries(
    Object.entries(activities).map(([name, act]) => [
      name,
      (input: StepInput) => wrap(input, name, () => act(input)),
    ]),
  );
}
