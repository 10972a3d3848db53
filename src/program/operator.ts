import { realpathSync } from 'node:fs';
import { isAskCommand } from '../ask/commands.ts';
import type { Config } from '../config/config.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Logger } from '../api/logger.ts';
import type { Pushed, ReconcileRequest } from '../watcher/pushed.ts';
import type { Program } from './program.ts';

/** An operator, as a command-line program, or a part of another program. */
export interface Operator {
  /** Does what the command line says, then exits. */
  main(): Promise<never>;
  /**
   * Runs it as a part of another program, until the signal; then completes what is in progress. Its options are variables, the file of
   * options, and these flags of `run`. One at a time in a process.
   *
   * @throws Error in one line, where an option is wrong
   */
  run(signal: AbortSignal, flags?: readonly string[]): Promise<void>;
  /** Resolves once `run`, `watch` or `work` is connected to its servers in this process; never in a command that asks. */
  readonly running: Promise<void>;
  /**
   * Looks at a resource because an outside system says so, by a webhook or a queue. Nothing is written if nothing is to be done: without
   * `observe`, what the watch shows decides; with it, one observation, in this process. An open run is told. Call it as often as you like:
   * of one resource, looks begin a second after one another, and those who ask meanwhile share the next. In each process, whoever leads.
   *
   * @returns once it has looked, and a run is started or told if something is to be done; also if there is no such resource
   * @throws Error where the operator does not run here or leaves the resource out, where the resource cannot be observed, and where Temporal
   *   is away: let the sender try again
   * @example
   * await app.reconcile({ controller: 'bucket', namespace: 'shop', name: 'photos' });
   */
  reconcile(request: ReconcileRequest): Promise<void>;
}

type OnRunning = (pushed: Pushed | undefined) => void;

export function operatorProgram(program: Program): Operator {
  let pushed: Pushed | undefined;
  let hasBegun: () => void = () => undefined;
  const running = new Promise<void>((resolve) => (hasBegun = resolve));
  const onRunning: OnRunning = (now) => {
    pushed = now;
    hasBegun();
  };
  return {
    running,
    main: async () => process.exit(await main(program, process.argv.slice(2), onRunning)),
    run: (signal, flags = []) => runWithin(program, { signal, flags, onRunning }),
    async reconcile(request) {
      if (pushed !== undefined) return pushed.reconcile(request);
      throw new Error(`${program.name} does not run in this process, or is not connected yet: await running`);
    },
  };
}

interface Embedding {
  readonly signal: AbortSignal;
  readonly flags: readonly string[];
  readonly onRunning: OnRunning;
}

async function runWithin(program: Program, { signal, flags, onRunning }: Embedding): Promise<void> {
  const { parseConfig } = await import('../config/config.ts');
  const { createLogger } = await import('../observability/logging.ts');
  const parsed = await parseConfig(program, ['run', ...flags], process.env);
  if (parsed.kind === 'exit') throw new ConfigurationError(parsed.output.trim());
  const { config } = parsed;
  const { runOperator } = await import('./running.ts');
  try {
    await runOperator({ program, config, log: createLogger(config.log), signal, onRunning });
  } catch (error) {
    if (!signal.aborted || !(error instanceof Error && error.name === 'AbortError')) throw error;
  }
}

/** Each command loads only its own code, so that a question gets an answer within a second. */
async function main(program: Program, args: readonly string[], onRunning: OnRunning): Promise<number> {
  if (args[0] === 'new') {
    const { runNew } = await import('./new/new.ts');
    return runNew(args.slice(1));
  }
  if (!isAskCommand(args[0])) return operate(program, args, onRunning);
  const { answerHere } = await import('../ask/process.ts');
  return answerHere(program, args);
}

/** A configuration error is printed in one line; only an unexpected error is logged. */
async function operate(program: Program, args: readonly string[], onRunning: OnRunning): Promise<number> {
  const { parseConfig } = await import('../config/config.ts');
  const { createLogger } = await import('../observability/logging.ts');
  const parsed = await parseConfig(program, args, process.env);
  if (parsed.kind === 'exit') {
    process[parsed.to].write(parsed.output);
    return parsed.code;
  }
  const { config } = parsed;
  const log = createLogger(config.log);
  try {
    return await start(program, config, { log, onRunning });
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

interface Starting {
  readonly log: Logger;
  readonly onRunning: OnRunning;
}

async function start(program: Program, config: Config, { log, onRunning }: Starting): Promise<number> {
  const mainModule = realpathSync(process.argv[1] ?? '');
  if (config.command === 'generate') {
    const { runGenerate } = await import('./generate/generate.ts');
    return runGenerate({ program, options: config.generate, project: process.cwd(), mainModule });
  }
  if (config.command === 'dev') {
    const { loadDevCommand } = await import('./local-stack.ts');
    const { createLogger } = await import('../observability/logging.ts');
    const run = await loadDevCommand();
    const signal = signalToEnd(createLogger({ ...config.log, level: 'silent' }));
    return run({ program, config, signal, mainModule });
  }
  if (config.command === 'promote') {
    const { runPromote } = await import('./promote.ts');
    return runPromote({ program, config, log, signal: signalToEnd(log) });
  }
  if (config.command === 'codec-server') {
    const { runCodecServer } = await import('../temporal/codec-server.ts');
    await runCodecServer(config, log, signalToEnd(log));
    return 0;
  }
  const { runOperator } = await import('./running.ts');
  await runOperator({ program, config, log, signal: signalToEnd(log), onRunning });
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
