import { realpathSync } from 'node:fs';
import { isAskCommand } from '../ask/commands.ts';
import type { Config } from '../config/config.ts';
import { ConfigurationError } from '../contract/configuration-error.ts';
import type { Logger } from '../contract/logger.ts';
import type { Program } from './program.ts';

/** An operator as a command-line program. */
export interface Operator {
  /** Does what the command line says, then exits. */
  main(): Promise<never>;
}

export function operatorProgram(program: Program): Operator {
  return { main: async () => process.exit(await main(program, process.argv.slice(2))) };
}

/** Each command loads only its own code, so that a question gets an answer within a second. */
async function main(program: Program, args: readonly string[]): Promise<number> {
  if (args[0] === 'new') {
    const { runNew } = await import('./new/new.ts');
    return runNew(args.slice(1));
  }
  if (!isAskCommand(args[0])) return operate(program, args);
  const { answerHere } = await import('../ask/process.ts');
  return answerHere(program, args);
}

/** A configuration error is printed in one line; only an unexpected error is logged. */
async function operate(program: Program, args: readonly string[]): Promise<number> {
  const { parseConfig } = await import('../config/config.ts');
  const { createLogger } = await import('../logging.ts');
  const parsed = await parseConfig(program, args, process.env);
  if (parsed.kind === 'exit') {
    process[parsed.to].write(parsed.output);
    return parsed.code;
  }
  const { config } = parsed;
  const log = createLogger(config.log);
  try {
    return await start(program, config, log);
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return 0;
    if (error instanceof ConfigurationError) {
      process.stderr.write(`${program.name}: ${error.message}\n`);
      return 2;
    }
    log.error({ err: error }, 'stopped because of an unexpected error');
    return 1;
  }
}

async function start(program: Program, config: Config, log: Logger): Promise<number> {
  const mainModule = realpathSync(process.argv[1] ?? '');
  if (config.command === 'generate') {
    const { runGenerate } = await import('./generate/generate.ts');
    return runGenerate({ program, options: config.generate, project: process.cwd(), mainModule });
  }
  if (config.command === 'dev') {
    const { loadDevCommand } = await import('../local-stack.ts');
    const { createLogger } = await import('../logging.ts');
    const run = await loadDevCommand();
    const signal = signalToEnd(createLogger({ ...config.log, level: 'silent' }));
    return run({ program, config, signal, mainModule });
  }
  if (config.command === 'promote') {
    const { runPromote } = await import('../promote.ts');
    return runPromote({ program, config, log, signal: signalToEnd(log) });
  }
  if (config.command === 'codec-server') {
    const { runCodecServer } = await import('../temporal/codec-server.ts');
    await runCodecServer(config, log, signalToEnd(log));
    return 0;
  }
  const { runOperator } = await import('../operator.ts');
  await runOperator({ program, config, log, signal: signalToEnd(log) });
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
