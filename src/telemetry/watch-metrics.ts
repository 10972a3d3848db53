import { Counter, Histogram, type Registry } from 'prom-client';
import { WATCH_ENDS, type WatchedKind, type WatchObserver } from '../contract/telemetry.ts';

/** The server counts creations in whole seconds, so less than a second is not told apart. */
const LAG_BUCKETS = [1, 2, 3, 5, 10, 30, 60, 120, 300, 900];
const labelNames = ['controller', 'resource'] as const;

/** How well the watches keep up. */
export function watchMetrics(
  registry: Registry,
  kinds: readonly WatchedKind[],
): (kind: WatchedKind) => WatchObserver {
  const lag = new Histogram({
    registers: [registry],
    labelNames,
    name: 'durable_operator_watch_lag_seconds',
    help: 'From the creation of an object, which the API server dates in whole seconds, to the event of it',
    buckets: LAG_BUCKETS,
  });
  const restarts = new Counter({
    registers: [registry],
    labelNames: [...labelNames, 'reason'] as const,
    name: 'durable_operator_watch_restarts_total',
    help: 'How often a watch was opened anew, by the reason',
  });
  for (const { controller, resource } of kinds) {
    lag.zero({ controller, resource });
    for (const reason of WATCH_ENDS) restarts.inc({ controller, resource, reason }, 0);
  }
  return ({ controller, resource }) => ({
    created: (ageSeconds) => lag.observe({ controller, resource }, Math.max(0, ageSeconds)),
    ended: (reason) => restarts.inc({ controller, resource, reason }),
  });
}
