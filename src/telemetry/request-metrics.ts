import { Counter, Histogram, type Registry } from 'prom-client';
import type { RequestAbout, RequestObserver } from '../contract/telemetry.ts';

/** As k8s.io/component-base/metrics/prometheus/restclient has them. */
const BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** What client-go tells of requests to the API server. A watch has no duration there either. */
export function requestMetrics(registry: Registry): (about: RequestAbout) => RequestObserver {
  const total = new Counter({
    registers: [registry],
    labelNames: ['code', 'host', 'method'] as const,
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by the status of the answer; <error> where there was none',
  });
  const seconds = new Histogram({
    registers: [registry],
    labelNames: ['verb', 'host'] as const,
    name: 'rest_client_request_duration_seconds',
    help: 'How long the API server takes to answer',
    buckets: BUCKETS,
  });
  return ({ method, host, isWatch }) => {
    const beganMs = performance.now();
    const ended = (code: string): void => {
      total.inc({ code, host, method });
      if (!isWatch) seconds.observe({ verb: method, host }, (performance.now() - beganMs) / 1000);
    };
    return { answered: (status) => ended(String(status)), failed: () => ended('<error>') };
  };
}
