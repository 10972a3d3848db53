import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPrograms } from '../../local/build.ts';
import { outputOf } from '../../local/program-output.ts';
import { ALERT_RULES } from '../../deploy/generate.ts';
import { readMetrics } from './prometheus.ts';

/** What Prometheus has got from all replicas of an installation at one time: the text of each, empty where it got none. */
export interface Scrape {
  readonly atMs: number;
  readonly replicas: readonly string[];
}

const MINUTES = 180;

/**
 * The alerts that fire within the next three hours, by Prometheus' own evaluation, if all goes on as recorded: counters grow as
 * they did from the first scrape to the last, and each gauge stays as high as it ever was.
 *
 * @param growing the gauge that grows on, too, as the age of something does that goes on
 */
export function alertsIfItGoesOn(scrapes: readonly Scrape[], growing?: string): Promise<ReadonlySet<string>> {
  const [first, last] = [scrapes[0], scrapes.at(-1)];
  if (first === undefined || last === undefined) throw new Error('nothing was scraped');
  const minutes = (last.atMs - first.atMs) / 60_000;
  const [before, all, after] = [seriesIn([first]), seriesIn(scrapes), seriesIn([last])];
  const inputs = [...after].map(([series, [value = 0]]) => {
    const isCounter = COUNTER.test(series);
    const isGrowing = isCounter || (growing !== undefined && series.startsWith(`${growing}{`));
    if (!isGrowing) {
      return { series, values: lasting(Math.max(...(all.get(series) ?? []))) };
    }
    const [from = isCounter ? 0 : value] = before.get(series) ?? [];
    return { series, values: lasting(value, minutes === 0 ? 0 : Math.max(0, (value - from) / minutes)) };
  });
  return alertsAmong(inputs, MINUTES);
}

const COUNTER = /_(total|bucket|count|sum)\{/;

/** In promtool's notation: a value, and by how much more it is each minute. */
function lasting(value: number, slope = 0): string {
  return `${value}+${slope.toFixed(6)}x${MINUTES}`;
}

/** The alerts that are pending or fire until the last of the scrapes, which are so many seconds apart. */
export function alertingOver(scrapes: readonly Scrape[], everyS: number): Promise<readonly Alerting[]> {
  const each = scrapes.map((scrape) => seriesIn([scrape]));
  const names = new Set(each.flatMap((series) => [...series.keys()]));
  const inputs = [...names].map((series) => ({
    series,
    // To Prometheus, the series of a target that it cannot scrape end at once.
    values: each.map((one) => one.get(series)?.[0] ?? 'stale').join(' '),
  }));
  return alerting(inputs, { everyS, count: scrapes.length });
}

/** @throws Error with what promtool says where it does not understand a rule */
export async function checkRules(): Promise<void> {
  await withFiles({ 'rules.json': ALERT_RULES }, async (promtool, dir) => {
    const checked = await outputOf(promtool, ['check', 'rules', join(dir, 'rules.json')]);
    if (checked.outcome !== 'succeeded') throw new Error(JSON.stringify(checked));
  });
}

/** Every value of each series, labelled as the ServiceMonitor has them labelled. What no alert is about is left out. */
function seriesIn(scrapes: readonly Scrape[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const { replicas } of scrapes) {
    for (const [replica, text] of replicas.entries()) {
      for (const { name, labels, value } of readMetrics(text).all) {
        if (!OURS.test(name) || !Number.isFinite(value)) continue;
        const all = { ...labels, namespace: 'system', job: 'metrics', pod: `replica-${replica}` };
        const written = Object.entries(all).map(([label, text]) => `${label}="${text}"`);
        const series = `${name}{${written.join(', ')}}`;
        found.set(series, [...(found.get(series) ?? []), value]);
      }
    }
  }
  return found;
}

const OURS = /^(durable_operator|controller_runtime|workqueue|rest_client|leader_election)_/;

/** In promtool's notation. */
export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

export interface Alerting {
  readonly alert: string;
  /** `pending` while its expression holds for less than the time that the rule says. */
  readonly state: 'pending' | 'firing';
}

/** The alerts that fire within so many minutes, of series with a value each minute. */
export async function alertsAmong(
  inputs: readonly InputSeries[],
  minutes: number,
): Promise<ReadonlySet<string>> {
  return firing(await alerting(inputs, { everyS: 60, count: minutes + 1 }));
}

function firing(found: readonly Alerting[]): ReadonlySet<string> {
  return new Set(found.filter(({ state }) => state === 'firing').map(({ alert }) => alert));
}

/** Of series with so many values, so many seconds apart. */
function alerting(
  inputs: readonly InputSeries[],
  { everyS, count }: { readonly everyS: number; readonly count: number },
): Promise<readonly Alerting[]> {
  const test = {
    rule_files: ['rules.json'],
    evaluation_interval: `${everyS}s`,
    tests: [
      {
        interval: `${everyS}s`,
        input_series: inputs,
        promql_expr_test: [
          {
            expr: `group by (alertname, alertstate) (last_over_time(ALERTS[${everyS * count}s]))`,
            eval_time: `${everyS * (count - 1)}s`,
            // What there is is what promtool then finds different.
            exp_samples: [],
          },
        ],
      },
    ],
  };
  return withFiles({ 'rules.json': ALERT_RULES, 'test.json': test }, async (promtool, dir) => {
    const { output } = await outputOf(promtool, ['test', 'rules', join(dir, 'test.json')]);
    const found = [...output.matchAll(/\{alertname="(\w+)", alertstate="(pending|firing)"\}/g)];
    if (found.length === 0 && !output.includes('SUCCESS')) throw new Error(output);
    return found.map(([, alert = '', state]) => ({
      alert,
      state: state === 'firing' ? 'firing' : 'pending',
    }));
  });
}

async function withFiles<T>(
  files: Readonly<Record<string, object>>,
  use: (promtool: string, dir: string) => Promise<T>,
): Promise<T> {
  const { promtool } = await buildPrograms(['promtool'], {});
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-alerts-'));
  try {
    for (const [name, content] of Object.entries(files))
      await writeFile(join(dir, name), JSON.stringify(content));
    return await use(promtool, dir);
  } finally {
    await rm(dir, { recursive: true });
  }
}
