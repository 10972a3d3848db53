import { cpus } from 'node:os';
import { Command } from 'commander';
import { count } from '../../bench/count.ts';
import { PROGRAM } from '../support/built.ts';
import { campaign, type CampaignOptions } from './campaign.ts';

function program(): Command {
  return new Command('campaign')
    .description(
      'Draws schedules of changes and faults, runs them on real servers, and says what did not hold.',
    )
    .option('--seeds <count>', 'how many schedules are drawn, from the seeds 1, 2, …', count, 20)
    .option('--seed <seeds>', 'these seeds alone, as 7 or 3,9', seeds)
    .option('--controllers <names>', '`all`, or some, as pod-set,git-build', 'all')
    .option('--servers', 'also restart and wipe Temporal, and restore etcd; one schedule after the other')
    .option('--at-once <count>', 'how many schedules run side by side', count, Math.max(1, cpus().length))
    .option('--print', 'only print the schedules')
    .option('--no-build', 'take the operator as it was built last')
    .option(
      '--program <file>',
      'the main module of the operator to judge, by the one that is built',
      PROGRAM,
    );
}

function seeds(text: string): number[] {
  return text.split(',').map(count);
}

// Operators and servers end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const options = program().parse().opts<CampaignOptions>();
process.exitCode = await campaign(options);
