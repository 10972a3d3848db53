import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { converged } from '../../src/runs/decision.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { PODS } from '../../src/api/kinds.ts';
import type { Health } from '../../src/observability/health.ts';
import {
  createObservability,
  type Observability,
  type ObservabilitySettings,
  type StateSource,
} from '../../src/observability/observability.ts';
import { readMetrics } from '../support/prometheus.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const OFF: ObservabilitySettings = {
  health: { address: 'off' },
  metrics: { address: 'off', secure: false },
};

const web: ResourceRef = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-of-web' };
const STEP = {
  ref: web,
  activity: 'addLabel',
  attempt: 1,
};

/** Asks the API server nothing, since these metrics are not secure. */
const CLIENT = { request: () => Promise.reject(new Error('not expected')) };

let health: Health;
let opened: Observability[];
let log: ReturnType<typeof aRecordingLogger>;

beforeEach(() => {
  health = { live: [], ready: [] };
  opened = [];
  log = aRecordingLogger();
});

afterEach(() => Promise.all(opened.map((observability) => observability.close())));

async function observability(settings: Partial<ObservabilitySettings>): Promise<Observability> {
  const source: StateSource = {
    watcher: () => undefined,
    taskQueues: () => undefined,
    isLeading: () => true,
    isConnectedToTemporal: () => true,
    health: () => health,
  };
  const created = await createObservability({
    program: 'durable-operator',
    settings: { ...OFF, ...settings },
    controllers: [{ name: 'pod-label', steps: { addLabel: 'add' }, primary: { type: PODS }, children: [] }],
    leaseName: 'ours',
    version: '1.2.3',
    command: 'run',
    source,
    log,
  });
  opened.push(created);
  return created;
}

const LOOPBACK = { host: '127.0.0.1', port: 0 };

/** Where it is served, as the log says. */
function urlOf(what: 'health' | 'metrics'): string {
  const { url } = Served.parse(log.lines.find(({ message }) => message === `serving ${what}`)?.fields);
  return url;
}

const Served = z.object({ url: z.string() });

async function scraped() {
  return readMetrics(await (await fetch(`${urlOf('metrics')}/metrics`)).text());
}

const addLabel = ({ telemetry }: Observability) =>
  telemetry.step(STEP, () =>
    Promise.resolve({ did: [{ did: 'added', what: 'the label' }], next: converged('labelled') }),
  );

describe('observability', () => {
  it('serves what health the process has at the time of the request', async () => {
    await (await observability({ health: { address: LOOPBACK } })).serve(CLIENT);
    const ready = async () => (await fetch(`${urlOf('health')}/readyz`)).text();
    expect(await ready()).toBe('ok\n');
    health = { live: [], ready: ['Temporal: not connected yet'] };
    expect(await ready()).toBe('Temporal: not connected yet\n');
  });

  it('serves the metrics of what it observes, even if those of Temporal are unavailable', async () => {
    const observed = await observability({ metrics: { address: LOOPBACK, secure: false } });
    await observed.serve(CLIENT);
    await addLabel(observed);
    const metrics = await scraped();
    expect(metrics.value('durable_operator_steps_total', { step: 'addLabel', result: 'success' })).toBe(1);
    expect(metrics.value('leader_election_master_status', { name: 'ours' })).toBe(1);
    expect(observed.temporalMetricsAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  });
});
