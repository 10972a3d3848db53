import { existsSync } from 'node:fs';
import type { Config } from './config/config.ts';
import { ConfigurationError } from './contract/configuration-error.ts';
import type { Program } from './program/program.ts';

export interface LocalRequest {
  readonly program: Program;
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Of the program, which is started as a process of its own. */
  readonly mainModule: string;
}

/** @returns the program's exit code */
export type LocalCommand = (request: LocalRequest) => Promise<number>;

/** `local/` is loaded when it is called, because the image does not contain it. @throws ConfigurationError */
export async function loadLocalCommand(): Promise<LocalCommand> {
  const url = PLACES.map((place) => new URL(place, import.meta.url)).find((place) => existsSync(place));
  if (url === undefined) {
    throw new ConfigurationError(
      'the command dev is part of the source checkout and of the npm package; run it there',
    );
  }
  const loaded: unknown = await import(url.href);
  if (!exportsRunLocal(loaded)) throw new Error(`${url.href} does not export runLocal`);
  return loaded.runLocal;
}

/** As seen from src/; and from dist/src/, in a checkout and in the package, where it is compiled. */
const PLACES = import.meta.url.endsWith('.ts')
  ? ['../local/command.ts']
  : ['../../local/command.ts', '../local/command.js'];

function exportsRunLocal(loaded: unknown): loaded is { readonly runLocal: LocalCommand } {
  return (
    typeof loaded === 'object' &&
    loaded !== null &&
    'runLocal' in loaded &&
    typeof loaded.runLocal === 'function'
  );
}
