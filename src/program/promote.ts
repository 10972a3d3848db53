import { setTimeout as delay } from 'node:timers/promises';
import { workerVersionOf, type Config } from '../config/config.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Logger } from '../api/logger.ts';
import type { OperatorRequest } from './running.ts';
import { connectToTemporal } from '../temporal/connection.ts';
import { GRPC, grpcStatusOf } from '../temporal/grpc-status.ts';
import { promote, PromotionFailed } from '../temporal/promotion.ts';
import { workerVersions } from '../temporal/versions.ts';
import { installRuntime } from '../temporal/worker.ts';

/** Not all that was asked for is done; what is, stays done. */
const UNFINISHED = 3;

/** The command `promote`. @returns the exit status */
export async function runPromote({ program, config, log, signal }: OperatorRequest): Promise<number> {
  try {
    await promoteBy(config, log, signal);
    return 0;
  } catch (error) {
    const why = whyUnfinished(error);
    if (why === undefined) throw error;
    process.stderr.write(`${program.name}: ${why}\n`);
    return UNFINISHED;
  }
}

async function promoteBy(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const { taskQueue } = config.worker;
  const version = workerVersionOf(config);
  if (version === undefined)
    throw new ConfigurationError('promote needs a worker deployment; set --worker-deployment');
  installRuntime(log);
  const { connect, address, namespace } = config.temporal;
  const options = connect.connectionOptions;
  const where = { address, namespace, ...config.temporalServer };
  const connection = await connectToTemporal({ ...where, options, log, signal });
  try {
    const { deploymentName } = version;
    const versions = workerVersions({ connection, namespace, taskQueue, deploymentName });
    await promote({ versions, version, taskQueue, log, clock: clockUntil(signal) });
  } finally {
    await connection.close();
  }
}

function clockUntil(signal: AbortSignal) {
  return {
    now: () => performance.now(),
    pause: (ms: number) => delay(ms, undefined, { signal }),
  };
}

/** Undefined for what nobody foresaw. */
function whyUnfinished(error: unknown): string | undefined {
  if (error instanceof PromotionFailed) return error.message;
  if (error instanceof Error && error.name === 'AbortError') {
    return 'promote was stopped before it was done; run it again to continue';
  }
  const status = grpcStatusOf(error);
  if (status?.code === GRPC.unimplemented) {
    return 'this Temporal server does not support worker deployments; upgrade it to 1.29 or later';
  }
  return status && `Temporal rejected the request: ${status.message}`;
}
