import { describe, expect, it } from '@jest/globals';
import { parser } from '@prometheus-io/lezer-promql';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { alertRules, RUNBOOK as RUNBOOK_URL } from '../../deploy/monitoring/alerts.ts';
import { dashboard } from '../../deploy/monitoring/dashboard.ts';

const page = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
const OBSERVABILITY = page('observability.md');
const RUNBOOK = page('operating.md');

const rules = alertRules.spec.groups.flatMap((group) => group.rules);
const Panels = z.array(z.looseObject({ targets: z.array(z.object({ expr: z.string() })).default([]) }));
const graphs = Panels.parse(dashboard.panels).flatMap(({ targets }) => targets);
const expressions = [...rules, ...graphs].map(({ expr }) => expr);

/** What Prometheus's own parser makes of it: the names of the metrics, and what it does not understand. */
function parsed(expr: string): { readonly metrics: readonly string[]; readonly errors: readonly string[] } {
  const metrics: string[] = [];
  const errors: string[] = [];
  parser.parse(expr).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) errors.push(`${expr} at ${from}`);
      if (type.name === 'VectorSelector') metrics.push(/^\w+/.exec(expr.slice(from, to))?.[0] ?? '');
    },
  });
  return { metrics, errors };
}

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
});

describe('an alert', () => {
  it('has a name of its own', () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(rules)(
    'says what it is about, and the runbook tells what to do: $alert',
    ({ alert, annotations }) => {
      expect(Object.values(annotations).filter((text) => text === '')).toEqual([]);
      expect(RUNBOOK).toMatch(new RegExp(`^#+ ${alert}$`, 'm'));
      expect(annotations.runbook_url).toBe(`${RUNBOOK_URL}#${alert.toLowerCase()}`);
    },
  );
});
