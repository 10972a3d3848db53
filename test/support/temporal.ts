import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';

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

/** What a person sees in the Temporal UI. */
export class TestTemporal {
  readonly #connection: Connection;
  readonly client: Client;

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.client = new Client({ connection });
  }

  static async connect(address: string): Promise<TestTemporal> {
    return new TestTemporal(await Connection.connect({ address }));
  }

  /** All runs of a resource, the oldest first. */
  async runsOf(ref: ResourceRef): Promise<readonly Run[]> {
    const found: WorkflowExecutionInfo[] = [];
    const query = `WorkflowId = '${workflowIdFor(ref)}'`;
    for await (const info of this.client.workflow.list({ query })) found.push(info);
    found.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
    return Promise.all(found.map((info) => this.#runOf(info)));
  }

  /** The ids of the open runs of a namespace that say that they are stalled. */
  async stalledRunsIn(namespace: string): Promise<readonly string[]> {
    const found: string[] = [];
    const query = `ExecutionStatus = 'Running' AND RunState = 'Stalled' AND ResourceNamespace = '${namespace}'`;
    for await (const { workflowId } of this.client.workflow.list({ query })) found.push(workflowId);
    return found;
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

  async #runOf({ workflowId, runId, status }: WorkflowExecutionInfo): Promise<Run> {
    const completed = status.name === 'COMPLETED';
    const result: unknown = completed
      ? await this.client.workflow.getHandle(workflowId, runId).result()
      : undefined;
    return { runId, status: status.name, result: typeof result === 'string' ? result : undefined };
  }
}
