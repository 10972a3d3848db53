import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import type { Config } from '../config/config.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Program } from './program.ts';

export interface DevRequest {
  readonly program: Program;
  readonly config: Config;
  readonly signal: AbortSignal;
  /** Of the program, which is started as a process of its own. */
  readonly mainModule: string;
}

/** @returns the program's exit code */
export type DevCommand = (request: DevRequest) => Promise<number>;

/** `local/` is loaded when it is called, because the image does not contain it. @throws ConfigurationError */
export async function loadDevCommand(): Promise<DevCommand> {
  const url = new URL(`../../local/command${extname(import.meta.url)}`, import.meta.url);
  if (!existsSync(url)) {
    throw new ConfigurationError(
      'the command dev is part of the source checkout and of the npm package; run it there',
    );
  }
  const loaded: unknown = await import(url.href);
  if (!exportsRunDev(loaded)) throw new Error(`${url.href} does not export runDev`);
  return loaded.runDev;
}

function exportsRunDev(loaded: unknown): loaded is { readonly runDev: DevCommand } {
  return (
    typeof loaded === 'object' && loaded !== null && 'runDev' in loaded && typeof loaded.runDev === 'function'
  );
}
