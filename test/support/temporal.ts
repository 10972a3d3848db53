import {
  Client,
  Connection,
  WorkflowNotFoundError,
  type WorkflowExecutionDescription,
  type WorkflowExecutionInfo,
} from '@temporalio/client';
import { workflowIdFor, type ResourceRef } from '../../src/api/resource-ref.ts';
import { eventually } from '../../testing/eventually.ts';

/** One run of a resource. */
export interface Run {
  readonly runId: string;
  readonly status: string;
  /** What it did, where it is completed. */
  readonly result: string | undefined;
}

export interface PendingActivity {
  readonly type: string;
  readonly attempt: number;
  /** The type of the last failure, as `AccessDenied`. */
  readonly lastFailure: string | undefined;
  readonly message: string | undefined;
}

/** Temporal's list of runs is later than the runs themselves, by half a second and what a busy machine takes. */
const LISTED_WITHIN_MS = 20_000;

/** What a person sees in the Temporal UI. */
export class TestTemporal {
  readonly #connection: Connection;
  readonly client: Client;

  /** @param address `host:port`; the first question connects to it */
  constructor(address: string) {
    this.#connection = Connection.lazy({ address });
    this.client = new Client({ connection: this.#connection });
  }

  /** All runs of a resource, the oldest first; waits until the list has the latest as it is. */
  runsOf(ref: ResourceRef): Promise<readonly Run[]> {
    return eventually(async () => {
      const latest = await this.#latestRunOf(ref);
      if (latest === undefined) return [];
      const found = await this.#listedRunsOf(ref);
      const isListed = found.some(
        ({ runId, status }) => runId === latest.runId && status.name === latest.status.name,
      );
      return isListed && Promise.all(found.map((info) => this.#runOf(info)));
    }, LISTED_WITHIN_MS);
  }

  /** Resolves once the resource has had a run, and all of its runs have completed. */
  async untilCompleted(ref: ResourceRef, withinMs: number): Promise<void> {
    await eventually(async () => {
      const statuses = (await this.runsOf(ref)).map(({ status }) => status);
      if (statuses.length > 0 && statuses.every((status) => status === 'COMPLETED')) return true;
      throw new Error(
        `the runs of ${workflowIdFor(ref)} are not all COMPLETED: ${statuses.join(', ') || 'none'}`,
      );
    }, withinMs);
  }

  /** The types of the events of a run's history. */
  async historyOf(ref: ResourceRef, runId?: string) {
    const { events } = await this.client.workflow.getHandle(workflowIdFor(ref), runId).fetchHistory();
    return events ?? [];
  }

  /** What the open run of a resource is at. */
  async openRunOf(ref: ResourceRef) {
    const { raw, status } = await this.client.workflow.getHandle(workflowIdFor(ref)).describe();
    const pendingActivities = (raw.pendingActivities ?? []).map(
      ({ activityType, attempt, lastFailure }): PendingActivity => ({
        type: activityType?.name ?? '',
        attempt: attempt ?? 0,
        lastFailure: lastFailure?.applicationFailureInfo?.type ?? undefined,
        message: lastFailure?.message ?? undefined,
      }),
    );
    return { status: status.name, pendingActivities };
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** Asked of the run itself, and not of a list. */
  async #latestRunOf(ref: ResourceRef): Promise<WorkflowExecutionDescription | undefined> {
    try {
      return await this.client.workflow.getHandle(workflowIdFor(ref)).describe();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  async #listedRunsOf(ref: ResourceRef): Promise<readonly WorkflowExecutionInfo[]> {
    const found: WorkflowExecutionInfo[] = [];
    const query = `WorkflowId = '${workflowIdFor(ref)}'`;
    for await (const info of this.client.workflow.list({ query })) found.push(info);
    return found.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
  }

  async #runOf({ workflowId, runId, status }: WorkflowExecutionInfo): Promise<Run> {
    const completed = status.name === 'COMPLETED';
    const result: unknown = completed
      ? await this.client.workflow.getHandle(workflowId, runId).result()
      : undefined;
    return { runId, status: status.name, result: typeof result === 'string' ? result : undefined };
  }
}
