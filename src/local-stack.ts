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

/** What the modules of `local/` export. The product does not compile them, so the image has none of them. */
const COMMANDS = {
  local: { module: 'command', name: 'runLocal' },
  demo: { module: 'demo/command', name: 'runDemo' },
} as const;

/** @throws ConfigurationError where the program runs neither in a source checkout nor in the npm package */
export async function loadLocalCommand(command: keyof typeof COMMANDS): Promise<LocalCommand> {
  const { module, name } = COMMANDS[command];
  const url = placesOf(module).find((place) => existsSync(place));
  if (url === undefined) {
    const message = `the command ${command} is part of the source checkout and of the npm package; run it there`;
    throw new ConfigurationError(message);
  }
  const loaded: unknown = await import(url.href);
  if (!exportsCommand(loaded, name)) throw new Error(`${url.href} does not export ${name}`);
  return loaded[name];
}

/** Seen from src/; seen from dist/src/ in a checkout, or in the package, where it is compiled. */
function placesOf(module: string): URL[] {
  const places = import.meta.url.endsWith('.ts')
    ? [`../local/${module}.ts`]
    : [`../../local/${module}.ts`, `../local/${module}.js`];
  return places.map((place) => new URL(place, import.meta.url));
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
