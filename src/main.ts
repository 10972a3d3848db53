#!/usr/bin/env node
import { parseConfig, type Config } from './config.ts';
import { ConfigurationError } from './contract/configuration-error.ts';
import type { Logger } from './contract/logger.ts';
import { CONTROLLER_NAMES } from './controllers/index.ts';
import { createLogger } from './logging.ts';
import { runOperator } from './operator.ts';
import { runPromote } from './promote.ts';

/** What a person did not ask for is told in one line; only a bug of ours shows its stack. */
async function main(): Promise<number> {
  const parsed = await parseConfig(process.argv.slice(2), process.env, CONTROLLER_NAMES);
  if (parsed.kind === 'exit') {
    process[parsed.to].write(parsed.output);
    return parsed.code;
  }
  const { config } = parsed;
  const log = createLogger(config.log);
  try {
    return await start(config, log);
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return 0;
    if (error instanceof ConfigurationError) {
      process.stderr.write(`durable-operator: ${error.message}\n`);
      return 2;
    }
    log.error({ err: error }, 'ended by an error');
    return 1;
  }
}

async function start(config: Config, log: Logger): Promise<number> {
  if (config.command === 'local') {
    // Loaded only here: an operator in a cluster need not know of it.
    const { runLocal } = await import('./local/command.ts');
    return runLocal(config, signalToEnd(createLogger({ ...config.log, level: 'silent' })));
  }
  if (config.command === 'promote') return runPromote(config, log, signalToEnd(log));
  if (config.command === 'codec-server') {
    const { runCodecServer } = await import('./serving/codec-server.ts');
    await runCodecServer(config, log, signalToEnd(log));
    return 0;
  }
  await runOperator(config, log, signalToEnd(log));
  return 0;
}

/** The first SIGTERM or SIGINT ends the program in order, a second at once. */
function signalToEnd(log: Logger): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      log.info({ signal: name }, 'asked to stop');
      controller.abort();
    });
  }
  return controller.signal;
}

process.exit(await main());
