import { setTimeout as pause } from 'node:timers/promises';
import { Command } from 'commander';
import { alertingOver, type Scrape } from '../test/support/alerting.ts';
import { build } from '../test/support/built.ts';
import { uniqueName } from '../test/support/cluster.ts';
import { count } from './count.ts';
import { DAY, type Day } from './day-plan.ts';
import { ELECTION, leaderOf } from './failover.ts';
import { startOperator, type BenchOperator } from './operator.ts';
import { freshTarget } from './target.ts';

/*
 * Which alerts a day of ordinary work raises: two replicas, a leader and a standby, under a load that varies by the hour, are
 * scraped as Prometheus would, and its own rules evaluated over what was scraped: `npm run bench:day`.
 */

const SCRAPE_EVERY_S = 15;

async function main(minutes: number): Promise<void> {
  await build();
  const target = await freshTarget(say);
  const replicas = new Replicas(() => startOperator(target, taskQueue, ELECTION));
  const taskQueue = uniqueName();
  try {
    await replicas.add();
    await replicas.add();
    const namespace = await target.cluster.aNamespace();
    const changeLeader = () => replicas.changeLeader();
    const scrapes = await scrapedDuring(replicas, () =>
      live({ cluster: target.cluster, namespace, changeLeader }, (minutes * 60_000) / 24),
    );
    await report(scrapes);
  } finally {
    await replicas.end();
    await target.close();
  }
}

/** Those that have ended stay in their places: Prometheus has got nothing of them since. */
class Replicas {
  readonly #start: () => Promise<BenchOperator>;
  readonly #all: BenchOperator[] = [];
  readonly #ended = new Set<BenchOperator>();

  constructor(start: () => Promise<BenchOperator>) {
    this.#start = start;
  }

  async add(): Promise<void> {
    this.#all.push(await this.#start());
  }

  /** The leader ends as a Pod does that is deleted, and another replica comes in its place. */
  async changeLeader(): Promise<void> {
    const leader = await leaderOf(this.#running());
    this.#ended.add(leader);
    await leader.end('SIGTERM');
    await this.add();
    await leaderOf(this.#running());
  }

  async scrape(): Promise<Scrape> {
    const atMs = Date.now();
    const texts = this.#all.map(async (replica) => {
      if (this.#ended.has(replica)) return '';
      return fetch(replica.metricsUrl)
        .then((response) => response.text())
        .catch(() => '');
    });
    return { atMs, replicas: await Promise.all(texts) };
  }

  async end(): Promise<void> {
    await Promise.all(this.#running().map((replica) => replica.end('SIGTERM')));
  }

  #running(): readonly BenchOperator[] {
    return this.#all.filter((replica) => !this.#ended.has(replica));
  }
}

/** Scrapes while this goes on, and once more when it is over. */
async function scrapedDuring(replicas: Replicas, goOn: () => Promise<void>): Promise<readonly Scrape[]> {
  const scrapes: Scrape[] = [];
  const over = new AbortController();
  const scraping = (async () => {
    const beganMs = performance.now();
    while (!over.signal.aborted) {
      scrapes.push(await replicas.scrape());
      const nextMs = beganMs + scrapes.length * SCRAPE_EVERY_S * 1_000;
      await pause(nextMs - performance.now(), undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  try {
    await goOn();
  } finally {
    over.abort();
    await scraping;
  }
  return [...scrapes, await replicas.scrape()];
}

async function live(day: Day, hourMs: number): Promise<void> {
  const beganMs = performance.now();
  const untilHour = (hour: number) => pause(Math.max(0, beganMs + hour * hourMs - performance.now()));
  for (const { hour, what, happen } of DAY) {
    await untilHour(hour);
    say(`${String(hour).padStart(2, '0')}:00 ${what}`);
    await happen(day);
  }
  await untilHour(24);
}

async function report(scrapes: readonly Scrape[]): Promise<void> {
  const found = await alertingOver(scrapes, SCRAPE_EVERY_S);
  const lines = found.map(({ alert, state }) => `${alert}: ${state}`).sort();
  process.stdout.write(`${scrapes.length} scrapes\n${lines.join('\n') || 'no alert'}\n`);
  if (found.some(({ state }) => state === 'firing')) process.exitCode = 1;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const { minutes } = new Command('bench:day')
  .description('Says which alerts a day of ordinary work raises.')
  .option('--minutes <count>', 'how long the day lasts', count, 24)
  .parse()
  .opts<{ readonly minutes: number }>();
await main(minutes);
