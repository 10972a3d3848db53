import { activityInfo, ApplicationFailure, Context } from '@temporalio/activity';
import { isOfOtherCluster, labelOfCluster, type Cluster } from '../contract/cluster.ts';
import type { StepResult } from '../contract/decision.ts';
import { FAILURE } from '../contract/failures.ts';
import type { Logger } from '../contract/logger.ts';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
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

/**
 * The same step activities, but none of another cluster's run is begun: what the run is about may have the same name here, or
 * would seem to be gone. Temporal retries the step, and sooner or later a worker of the run's own cluster takes it.
 */
export function ofOwnCluster(activities: Activities, own: Cluster, log: Logger): Activities {
  return around(activities, async ({ ref, cluster }, _, act) => {
    if (!isOfOtherCluster(cluster, own)) return act();
    const message = `the run is of cluster ${nameOf(cluster)}, and this worker is of cluster ${nameOf(own)}: one of its own cluster has to take it; give each cluster a task queue of its own (--task-queue)`;
    const { controller, namespace, name } = ref;
    log.warn({ controller, namespace, name, workflowId: workflowIdFor(ref) }, message);
    throw ApplicationFailure.create({ type: FAILURE.otherCluster, message });
  });
}

function nameOf(cluster: Cluster = {}): string {
  return labelOfCluster(cluster) ?? 'unknown name';
}

/** Where watcher and worker share a process, the watcher need not ask Temporal whether a run has ended. */
export function reportingEnds(activities: Activities, onEnd: (ref: ResourceRef) => void): Activities {
  return around(activities, async ({ ref }, _, act) => {
    const result = await act();
    if (result.next.do === 'converged') onEnd(ref);
    return result;
  });
}

/** Well under the time that a run gives them: see HEARTBEAT_TIMEOUT in workflows/reconcile.ts. */
export const HEARTBEAT_EVERY_MS = 2_000;

/**
 * The same step activities, each durable attempt of which says that its worker lives: one that was killed or frozen, be it
 * before it has begun, is noticed by Temporal long before the time of the step is up.
 */
export function withHeartbeats(activities: Activities): Activities {
  return around(activities, async (_input, _name, act) => {
    const context = Context.current();
    if (context.info.isLocal) return act();
    const beating = setInterval(() => context.heartbeat(), HEARTBEAT_EVERY_MS);
    try {
      return await act();
    } finally {
      clearInterval(beating);
    }
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
