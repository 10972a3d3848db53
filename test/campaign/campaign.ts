import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, PROGRAM } from '../support/built.ts';
import { hunt } from './bug-hunt.ts';
import { draw } from './draw.ts';
import { needsOwnServers, printed, type Schedule } from './events.ts';
import { openGround, type OpenGround } from './ground.ts';
import { shrunk } from './shrink.ts';
import { tryOut, type References, type TrialOptions, type Verdict } from './trial.ts';
import { readSchedule } from './written.ts';

/** As the command line gives them. */
export interface CampaignOptions {
  readonly seeds: number;
  readonly seed?: readonly number[];
  readonly from: number;
  readonly controllers: string;
  readonly servers?: boolean;
  readonly atOnce: number;
  readonly quietSeconds: number;
  readonly minutes?: number;
  readonly program?: string;
  readonly print?: boolean;
  readonly shrink: boolean;
  readonly build: boolean;
  readonly schedule?: string;
  readonly bugs?: true | string;
}

const CONVERGED_WITHIN_MS = 60_000;

/** @returns the exit code: 0 where everything held, and every bug was caught */
export async function campaign(options: CampaignOptions): Promise<number> {
  const schedules = await schedulesFor(options);
  if (options.print === true) {
    for (const schedule of schedules) say(`seed ${schedule.seed}\n${printed(schedule)}\n`);
    return 0;
  }
  if (options.build) await build();
  if (options.bugs !== undefined) return huntBugs(options, options.bugs);
  const areOwn = schedules.some(needsOwnServers);
  const ground = await openGround(areOwn, say);
  try {
    return await runAll(ground, schedules, options);
  } finally {
    await ground.close();
  }
}

async function huntBugs(options: CampaignOptions, bugs: true | string): Promise<number> {
  const names = bugs === true ? [] : bugs.split(',');
  const missed = await hunt({ trial: trialOptions(options, false), atOnce: options.atOnce, names, say });
  return missed.length === 0 ? 0 : 1;
}

async function schedulesFor(options: CampaignOptions): Promise<readonly Schedule[]> {
  const { schedule, seed, seeds, from, controllers, servers = false } = options;
  if (schedule !== undefined) return [await readSchedule(schedule)];
  const drawn = seed ?? Array.from({ length: seeds }, (_, index) => from + index);
  return drawn.map((each) => draw(each, { controllers, servers }));
}

async function runAll(
  ground: OpenGround,
  schedules: readonly Schedule[],
  options: CampaignOptions,
): Promise<number> {
  const references: References = new Map();
  const trial = trialOptions(options, needsAll(ground));
  const run = (schedule: Schedule) => tryOut(ground, schedule, trial, references).catch(untried);
  const deadline = performance.now() + (options.minutes ?? Infinity) * 60_000;
  const left = [...schedules];
  const failed: Schedule[] = [];
  let ran = 0;
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      if (performance.now() > deadline) return;
      const verdict = await run(next);
      ran += 1;
      await tell(next, verdict);
      if (verdict.violations.length > 0) failed.push(next);
    }
  };
  const atOnce = ground.servers === undefined ? options.atOnce : 1;
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (options.shrink) for (const schedule of failed) await shrink(schedule, run);
  say(`campaign: ${ran} schedules, ${failed.length} with violations`);
  return failed.length === 0 ? 0 : 1;
}

/** Where one schedule has the servers for itself, the operator watches the whole cluster. */
function needsAll({ servers }: OpenGround): boolean {
  return servers !== undefined;
}

export function trialOptions(
  {
    controllers,
    quietSeconds,
    program = PROGRAM,
  }: Pick<CampaignOptions, 'controllers' | 'quietSeconds' | 'program'>,
  isAlone: boolean,
): TrialOptions {
  const limits = { convergedWithinMs: CONVERGED_WITHIN_MS, quietMs: quietSeconds * 1000 };
  return { program, referenceProgram: PROGRAM, controllers, isAlone, limits };
}

/** That a schedule could not be run is no less to be looked into, and others go on. */
function untried(error: unknown): Verdict {
  const why = error instanceof Error ? error.message : String(error);
  return {
    violations: [`the schedule could not be run: ${why}`],
    convergedMs: undefined,
    logs: [],
    writes: [],
    versions: [],
  };
}

async function tell(schedule: Schedule, verdict: Verdict): Promise<void> {
  const { seed, events } = schedule;
  const { violations, convergedMs, writes } = verdict;
  if (violations.length === 0) {
    const seconds = ((convergedMs ?? 0) / 1000).toFixed(1);
    say(`seed ${seed}: ok; ${events.length} events, ${writes.length} writes, converged after ${seconds} s`);
    return;
  }
  const dir = join(tmpdir(), 'durable-operator-campaign');
  await mkdir(dir, { recursive: true });
  const file = (ending: string) => join(dir, `seed-${seed}.${ending}`);
  await writeFile(file('json'), JSON.stringify(schedule, null, 2));
  await writeFile(file('log'), verdict.logs.join('\n'));
  await writeFile(file('writes'), writes.join('\n'));
  await writeFile(file('versions'), verdict.versions.join('\n'));
  say(
    `seed ${seed}: VIOLATED\n${violations.map((each) => `  ${each}`).join('\n')}\n${printed(schedule)}\n  see ${file('*')}`,
  );
}

async function shrink(schedule: Schedule, run: (schedule: Schedule) => Promise<Verdict>): Promise<void> {
  say(`seed ${schedule.seed}: looking for the shortest schedule that still fails`);
  const shortest = await shrunk(schedule, async (shorter) => {
    const { violations } = await run(shorter);
    say(`  ${shorter.events.length} events: ${violations[0] ?? 'ok'}`);
    return violations.length > 0;
  });
  const file = join(tmpdir(), 'durable-operator-campaign', `seed-${schedule.seed}-shortest.json`);
  await writeFile(file, JSON.stringify(shortest, null, 2));
  say(
    `seed ${schedule.seed}: the shortest schedule that fails:\n${printed(shortest)}\n  again: --schedule ${file}`,
  );
}

export function say(message: string): void {
  process.stdout.write(`${message}\n`);
}
