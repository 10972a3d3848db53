import type { Connection } from '@temporalio/client';
import type { GuardedServers } from './guarded-servers.ts';
import { isListening } from './ports.ts';
import { waitUntil } from './readiness.ts';

const REQUEST_MS = 2000;
const FRONTEND = 'temporal.api.workflowservice.v1.WorkflowService';
// grpc.health.v1.HealthCheckResponse.ServingStatus
const SERVING = 1;

/**
 * Waits until Temporal's frontend says that it serves, and knows the namespace `default`.
 *
 * @throws ServerFailed
 */
export async function temporalServes(port: number, servers: GuardedServers): Promise<void> {
  const what = { server: 'temporal', is: 'ready', servers };
  // gRPC waits a second and more after a refused connection: ask only when somebody listens.
  await waitUntil(what, () => isListening(port));
  const { Connection } = await import('@temporalio/client');
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  try {
    await waitUntil(what, () => serves(connection));
  } finally {
    await connection.close();
  }
}

function serves(connection: Connection): Promise<boolean> {
  return connection.withDeadline(Date.now() + REQUEST_MS, async () => {
    const { status } = await connection.healthService.check({ service: FRONTEND });
    await connection.workflowService.describeNamespace({ namespace: 'default' });
    const servingStatus: number = status;
    return servingStatus === SERVING;
  });
}
