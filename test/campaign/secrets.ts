import type { Client } from '@temporalio/client';
import type { TestCluster } from '../support/cluster.ts';
import { textsIn } from '../support/texts.ts';
import type { Version } from './observer.ts';
import type { Place } from './place.ts';
import { valueAt } from './invariants.ts';

/** Where else than in specs and Jobs the secret may have come to. */
export interface Leaks {
  readonly cluster: TestCluster;
  readonly temporal: Client;
  readonly place: Place;
  readonly versions: readonly Version[];
  readonly logs: readonly string[];
}

/** I10: one sentence a place. */
export async function leaksIn({
  cluster,
  temporal,
  place,
  versions,
  logs,
}: Leaks): Promise<readonly string[]> {
  const { secret, home } = place;
  const found: string[] = [];
  const line = logs.find((each) => each.includes(secret));
  if (line !== undefined) found.push(`I10: the secret is in the log: ${line.slice(0, 300)}`);
  const leaking = versions.find(
    ({ resource, object }) =>
      (resource === 'xxxes' || resource === 'podsets') &&
      JSON.stringify(object['status'] ?? '').includes(secret),
  );
  if (leaking !== undefined) {
    const message = String(valueAt(leaking.object, 'status', 'message'));
    found.push(
      `I10: the secret is in the status of ${leaking.resource} ${leaking.object.metadata.name}: ${message}`,
    );
  }
  const event = (await cluster.eventsIn(home)).find(({ note }) => note.includes(secret));
  if (event !== undefined)
    found.push(`I10: the secret is in Event ${event.reason} of ${event.regarding.name}`);
  const run = await leakingRun(temporal, place);
  if (run !== undefined) found.push(`I10: the secret is in the history of ${run}`);
  return found;
}

async function leakingRun(temporal: Client, { taskQueue, secret }: Place): Promise<string | undefined> {
  for await (const { workflowId, runId } of temporal.workflow.list({ query: `TaskQueue = '${taskQueue}'` })) {
    const history = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    if (textsIn(history).includes(secret)) return workflowId;
  }
  return undefined;
}
