import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TemporalAccess } from '../../src/ask/session.ts';
import { TemporalProblem } from '../../src/temporal/temporal-problem.ts';
import { defaultOptions, type Options } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { asked, aTemporal } from '../support/ask-session.ts';
import { aPodSet } from '../support/pod-sets.ts';

const NAMESPACE = '/api/v1/namespaces/shop';
const POD_SET = '/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets/web';
const web = aPodSet().in('shop').named('web').wanting(0);

interface Given {
  readonly temporal?: TemporalAccess | TemporalProblem;
  readonly namespace?: unknown;
  readonly podSet?: typeof web;
  /** What a create of a Pod is answered with. */
  readonly created?: unknown;
}

function operatorWith(reconciliation: Partial<Options['reconciliation']>): TemporalAccess {
  const options = defaultOptions(durableOperator);
  const all = { ...options, reconciliation: { ...options.reconciliation, ...reconciliation } };
  return aTemporal({ settings: { version: '1.0', options: all } });
}

const NOT_PAUSED = { metadata: { name: 'shop', uid: 'n', resourceVersion: '1' } };

function planned(words: readonly string[], given: Given = {}) {
  const { temporal = operatorWith({}), namespace = NOT_PAUSED, podSet = web, created } = given;
  return asked(['plan', ...words], {
    temporal: () => (temporal instanceof Error ? Promise.reject(temporal) : Promise.resolve(temporal)),
    // A write is tried on the PodSet alone.
    answerTo: ({ method, path }) => {
      if (path.startsWith(POD_SET)) return podSet.object;
      if (method === 'POST') return created;
      return path === NAMESPACE ? namespace : { metadata: { resourceVersion: '1' }, items: [] };
    },
  });
}

const WRITTEN = 'nothing was written: the API server only tried it, with dryRun=All\n';
const ASSUMING = 'assuming default options, since those of the operator could not be read';

describe('a plan', () => {
  it('has no notes where nothing is left out', async () => {
    const { stdout, stderr } = await planned(['podset/web']);
    expect(stdout).toMatch(/^PodSet shop\/web: /);
    expect(stderr).toBe(WRITTEN);
  });

  it('says that it is too old for the operator, and what it assumes', async () => {
    const { stderr } = await planned(['podset/web'], { temporal: aTemporal({ unreadable: '9.0.0' }) });
    expect(stderr).toContain(
      `${ASSUMING}: the operator with task queue "durable-operator" is version 9.0.0; this plugin, `,
    );
  });

  it('says that it assumes default options, beside JSON, too', async () => {
    const { stdout, stderr } = await planned(['podset/web', '-o', 'json'], { temporal: aTemporal() });
    expect(stderr).toBe(`${ASSUMING}: no operator with task queue "durable-operator" is known to Temporal\n`);
    expect(JSON.parse(stdout)).toMatchObject({ resource: 'PodSet shop/web' });
  });

  it('does without Temporal, and says so', async () => {
    const temporal = new TemporalProblem('Temporal at x:7233 does not answer; check TEMPORAL_ADDRESS');
    const { stdout, stderr } = await planned(['podset/web'], { temporal });
    expect(stdout).toMatch(/^PodSet shop\/web: /);
    expect(stderr).toBe(`${WRITTEN}${ASSUMING}: ${temporal.message}\n`);
  });

  it('says that it does not know whether the Namespace is paused', async () => {
    const namespace = new ApiError('no', { classification: 'access-denied', status: 403 });
    const { stdout, stderr } = await planned(['podset/web'], { namespace });
    expect(stdout).toMatch(/^PodSet shop\/web: /);
    expect(stderr).toBe(`${WRITTEN}Namespace shop may be paused: you may not read it\n`);
  });

  it('ends with what the API server says where that asks for a pause', async () => {
    const created = new ApiError('too many requests', { classification: 'retry-after', retryAfterMs: 7_000 });
    const { stdout } = await planned(['podset/web'], { podSet: web.wanting(2), created });
    expect(stdout).toContain('too many requests');
  });

  it('says that the operator would not carry it out', async () => {
    const { stderr } = await planned(['podset/web'], { temporal: operatorWith({ namespaces: ['other'] }) });
    expect(stderr).toBe(
      `${WRITTEN}the operator ignores PodSet shop/web for now: the operator watches only the namespaces other (--namespaces), and not shop\n`,
    );
  });
});

describe('a plan of a file', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'plan-'));
  });
  afterAll(() => rm(dir, { recursive: true }));

  it('names what no controller is responsible for', async () => {
    const file = join(dir, 'all.yaml');
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } };
    const type = { apiVersion: 'batch.tutorial.kubebuilder.io/v1', kind: 'PodSet' };
    const set = { ...type, metadata: { name: 'web' }, spec: {} };
    await writeFile(file, `${JSON.stringify(config)}\n---\n${JSON.stringify(set)}\n`);
    const { stderr } = await planned(['-f', file]);
    expect(stderr).toBe(
      `${WRITTEN}ConfigMap settings is left out: the operator has no controller for its kind\n`,
    );
  });
});
