import { existsSync } from 'node:fs';
import type { Config } from './config/config.ts';
import { ConfigurationError } from './contract/configuration-error.ts';

/** What the command `local` is asked to do. */
export interface LocalRequest {
  readonly config: Config;
  readonly signal: AbortSignal;
  /** The main module of the operator that it starts. */
  readonly program: string;
}

/** What `local/command.ts` exports. It exists in a source checkout only: the product does not compile it. */
export interface LocalStack {
  /** @returns the program's exit code */
  readonly runLocal: (request: LocalRequest) => Promise<number>;
}

/** @throws ConfigurationError where the program does not run in a source checkout */
export async function loadLocalStack(): Promise<LocalStack> {
  const command = new URL(commandModule(), import.meta.url);
  if (!existsSync(command)) {
    throw new ConfigurationError('the local stack is part of the source checkout; run npm start there');
  }
  const loaded: unknown = await import(command.href);
  if (!isLocalStack(loaded)) throw new Error(`${command.href} does not export runLocal`);
  return loaded;
}

/** From src/ as from dist/src/. */
function commandModule(): string {
  return import.meta.url.endsWith('.ts') ? '../local/command.ts' : '../../local/command.ts';
}

function isLocalStack(loaded: unknown): loaded is LocalStack {
  return (
    typeof loaded === 'object' &&
    loaded !== null &&
    'runLocal' in loaded &&
    typeof loaded.runLocal === 'function'
  );
}
