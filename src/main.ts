#!/usr/bin/env node
import { parseConfig, type Config } from './config/config.ts';
import { ConfigurationError } from './contract/configuration-error.ts';
import type { Logger } from './contract/logger.ts';
import { loadLocalStack } from './local-stack.ts';
import { createLogger } from './logging.ts';
import { runOperator } from './operator.ts';
import { runPromote } from './promote.ts';

/** A configuration error is printed in one line; only an unexpected error is logged. */
async function main(): Promise<number> {
  const parsed = await parseConfig(process.argv.slice(2), process.env);
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
    log.error({ err: error }, 'stopped because of an unexpected error');
    return 1;
  }
}

async function start(config: Config, log: Logger): Promise<number> {
  if (config.command === 'local') {
    const { runLocal } = await loadLocalStack();
    const signal = signalToEnd(createLogger({ ...config.log, level: 'silent' }));
    return runLocal({ config, signal, program: import.meta.filename });
  }
  if (config.command === 'promote') return runPromote(config, log, signalToEnd(log));
  if (config.command === 'codec-server') {
    const { runCodecServer } = await import('./temporal/codec-server.ts');
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
      log.info({ signal: name }, `received ${name}`);
      controller.abort();
    });
  }
  return controller.signal;
}

process.exit(await main());
