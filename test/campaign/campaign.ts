import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, PROGRAM } from '../support/built.ts';
import { draw } from './draw.ts';
import { needsOwnServers, printed, type Schedule } from './events.ts';
import { openGround, type OpenGround } from './ground.ts';
import { tryOut, type TrialOptions, type Verdict } from './trial.ts';

/** As the command line gives them. */
export interface CampaignOptions {
  readonly seeds: number;
  readonly seed?: readonly number[];
  readonly controllers: string;
  readonly servers?: boolean;
  readonly atOnce: number;
  readonly print?: boolean;
  readonly build: boolean;
  readonly program: string;
}

/** @returns the exit code: 0 where everything held */
export async function campaign(options: CampaignOptions): Promise<number> {
  const schedules = schedulesFor(options);
  if (options.print === true) {
    for (const schedule of schedules) say(`seed ${schedule.seed}\n${printed(schedule)}\n`);
    return 0;
  }
  if (options.build) await build();
  const areOwn = schedules.some(needsOwnServers);
  const ground = await openGround(areOwn, say);
  try {
    return await runAll(ground, schedules, options);
  } finally {
    await ground.close();
  }
}

function schedulesFor({ seed, seeds, controllers, servers = false }: CampaignOptions): readonly Schedule[] {
  const drawn = seed ?? Array.from({ length: seeds }, (_, index) => index + 1);
  return drawn.map((each) => draw(each, { controllers, servers }));
}

async function runAll(
  ground: OpenGround,
  schedules: readonly Schedule[],
  options: CampaignOptions,
): Promise<number> {
  const trial = trialOptions(options, needsAll(ground));
  const run = (schedule: Schedule) => tryOut(ground, schedule, trial).catch(untried);
  const left = [...schedules];
  let failed = 0;
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const verdict = await run(next);
      await tell(next, verdict);
      if (verdict.violations.length > 0) failed += 1;
    }
  };
  const atOnce = ground.servers === undefined ? options.atOnce : 1;
  await Promise.all(Array.from({ length: atOnce }, worker));
  say(`campaign: ${schedules.length} schedules, ${failed} with violations`);
  return failed === 0 ? 0 : 1;
}

/** Where one schedule has the servers for itself, the operator watches the whole cluster. */
function needsAll({ servers }: OpenGround): boolean {
  return servers !== undefined;
}

export function trialOptions(
  { controllers, program }: Pick<CampaignOptions, 'controllers' | 'program'>,
  isAlone: boolean,
): TrialOptions {
  return { program, referenceProgram: PROGRAM, controllers, isAlone };
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
  await writeFile(file('log'), verdict.logs.join('\n'));
  await writeFile(file('writes'), writes.join('\n'));
  await writeFile(file('versions'), verdict.versions.join('\n'));
  say(
    `seed ${seed}: VIOLATED\n${violations.map((each) => `  ${each}`).join('\n')}\n${printed(schedule)}\n  see ${file('*')}`,
  );
}

function say(message: string): void {
  process.stdout.write(`${message}\n`);
}
