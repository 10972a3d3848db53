import { existsSync } from 'node:fs';
import type { Config } from './config/config.ts';
import { ConfigurationError } from './contract/configuration-error.ts';

/** What `local` or `demo` is asked to do. */
export interface LocalRequest {
  readonly config: Config;
  readonly signal: AbortSignal;
  /** The main module of the operator that it starts. */
  readonly program: string;
}

/** @returns the program's exit code */
export type LocalCommand = (request: LocalRequest) => Promise<number>;

/** What the modules of `local/` export. They exist in a source checkout only: the product does not compile them. */
const COMMANDS = {
  local: { module: 'command.ts', name: 'runLocal' },
  demo: { module: 'demo/command.ts', name: 'runDemo' },
} as const;

/** @throws ConfigurationError where the program does not run in a source checkout */
export async function loadLocalCommand(command: keyof typeof COMMANDS): Promise<LocalCommand> {
  const { module, name } = COMMANDS[command];
  const url = new URL(`${localFolder()}/${module}`, import.meta.url);
  if (!existsSync(url)) {
    throw new ConfigurationError(`the command ${command} is part of the source checkout; run it there`);
  }
  const loaded: unknown = await import(url.href);
  if (!exportsCommand(loaded, name)) throw new Error(`${url.href} does not export ${name}`);
  return loaded[name];
}

/** From src/ as from dist/src/. */
function localFolder(): string {
  return import.meta.url.endsWith('.ts') ? '../local' : '../../local';
}

function exportsCommand<Name extends string>(
  loaded: unknown,
  name: Name,
): loaded is Record<Name, LocalCommand> {
  return (
    typeof loaded === 'object' &&
    loaded !== null &&
    name in loaded &&
    typeof Reflect.get(loaded, name) === 'function'
  );
}
