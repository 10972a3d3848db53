import { describe, expect, it } from '@jest/globals';
import { parser } from '@prometheus-io/lezer-promql';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ALERT_RULES, RUNBOOK as RUNBOOK_URL } from '../../deploy/generate.ts';
import { dashboard } from '../../deploy/monitoring/dashboard.ts';

const page = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
const OBSERVABILITY = page('observability.md');
const RUNBOOK = page('operating.md');

const rules = ALERT_RULES.groups.flatMap((group) => group.rules);
const Panels = z.array(z.looseObject({ targets: z.array(z.object({ expr: z.string() })).default([]) }));
const graphs = Panels.parse(dashboard.panels).flatMap(({ targets }) => targets);
const expressions = [...rules, ...graphs].map(({ expr }) => expr);

interface Parsed {
  /** The names of the metrics. */
  readonly metrics: readonly string[];
  /** Those of other programs, too, that are not restricted to the operator. */
  readonly ofAnybody: readonly string[];
  /** What it does not understand. */
  readonly errors: readonly string[];
}

/** What Prometheus's own parser makes of it. */
function parsed(expr: string): Parsed {
  const metrics: string[] = [];
  const ofAnybody: string[] = [];
  const errors: string[] = [];
  parser.parse(expr).iterate({
    enter: ({ type, from, to, node }) => {
      if (type.isError) errors.push(`${expr} at ${from}`);
      if (type.name !== 'VectorSelector') return;
      const name = /^\w+/.exec(expr.slice(from, to))?.[0] ?? '';
      metrics.push(name);
      if (!isOwn(name) && !isRestricted(expr, node.parent)) ofAnybody.push(`${name} in ${expr}`);
    },
  });
  return { metrics, ofAnybody, errors };
}

function isOwn(metric: string): boolean {
  return metric.startsWith('durable_operator_');
}

const OF_THE_OPERATOR = ' and on (namespace, job) durable_operator_build_info';

/** Whether it is the left side of the restriction, or within it. */
function isRestricted(expr: string, node: Node | null): boolean {
  if (node === null) return false;
  const isRestriction =
    node.name === 'BinaryExpr' && expr.slice(node.from, node.to).endsWith(OF_THE_OPERATOR);
  return isRestriction || isRestricted(expr, node.parent);
}

type Node = ReturnType<typeof parser.parse>['topNode'];

describe('alerts and dashboard', () => {
  it('are asked in what Prometheus understands', () => {
    expect(expressions.length).toBeGreaterThan(20);
    expect(expressions.flatMap((expr) => parsed(expr).errors)).toEqual([]);
  });

  it('ask for metrics that the operator has', () => {
    const asked = new Set(expressions.flatMap((expr) => parsed(expr).metrics));
    // Those of the process are of the client library.
    const own = [...asked].filter((name) => !name.startsWith('process_'));
    const unknown = own.filter((name) => !OBSERVABILITY.includes(`\`${name.replace(/_bucket$/, '')}\``));
    expect(own.length).toBeGreaterThan(10);
    expect(unknown).toEqual([]);
  });

  it('take a metric that other programs have, too, from the operator alone', () => {
    const shared = expressions.filter((expr) => parsed(expr).metrics.some((name) => !isOwn(name)));
    expect(shared.length).toBeGreaterThan(10);
    expect(shared.flatMap((expr) => parsed(expr).ofAnybody)).toEqual([]);
  });
});

describe('an alert', () => {
  it.each(rules)(
    'says what it is about, and the runbook tells what to do: $alert',
    ({ alert, annotations }) => {
      expect(Object.values(annotations).filter((text) => text === '')).toEqual([]);
      expect(RUNBOOK).toMatch(new RegExp(`^#+ ${alert}$`, 'm'));
      expect(annotations.runbook_url).toBe(`${RUNBOOK_URL}#${alert.toLowerCase()}`);
    },
  );
});
