import { msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import { uniqueName } from './cluster.ts';
import { eventually } from '../../testing/eventually.ts';

/** Makes a namespace of Temporal in which no operator has ever been, and resolves with its name. */
export async function aTemporalNamespace(
  connection: NativeConnection,
  namespace = uniqueName(),
): Promise<string> {
  const workflowExecutionRetentionPeriod = msToTs('1 day');
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
  // The server's frontend reads its list of namespaces now and then.
  await eventually(async () => {
    await connection.operatorService.listSearchAttributes({ namespace });
    return true;
  }, 60_000);
  return namespace;
}
