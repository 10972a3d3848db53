import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Application, type TypeDocOptions } from 'typedoc';
import type { PluginOptions } from 'typedoc-plugin-markdown';

const ROOT = join(import.meta.dirname, '..');

/** What a module exports, from its docstrings. @throws Error if TypeDoc warns, as of a type that is not exported */
export async function apiPage(name: string, module: string): Promise<string> {
  const out = await mkdtemp(join(tmpdir(), 'durable-operator-api-'));
  const entryPoints = [join(ROOT, module)];
  const tsconfig = join(ROOT, 'tsconfig.json');
  try {
    const app = await Application.bootstrapWithPlugins({ ...LAYOUT, name, entryPoints, tsconfig, out });
    const project = await app.convert();
    if (project === undefined) throw new Error(`TypeDoc cannot read ${module}`);
    // The types of the kit build on those of the package, which are on another page.
    if (module === 'src/index.ts') app.validate(project);
    await app.generateOutputs(project);
    if (app.logger.hasWarnings()) throw new Error('see the warnings of TypeDoc above');
    return await readFile(join(out, 'README.md'), 'utf8');
  } finally {
    await rm(out, { recursive: true });
  }
}

/** One page, a table for each type. `npm run types` has checked the types. */
const LAYOUT: TypeDocOptions & Partial<PluginOptions> = {
  plugin: ['typedoc-plugin-markdown'],
  router: 'module',
  readme: 'none',
  logLevel: 'Warn',
  excludeExternals: true,
  // What Manifest and AnyDefinition are made of.
  intentionallyNotExported: ['AnyLookups', 'AnySteps', 'BuiltIn', 'FollowsOptions', 'Untyped', 'Written'],
  disableSources: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  skipErrorChecking: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  groupOrder: ['Functions', 'Interfaces', 'Type Aliases', 'Classes', 'Variables'],
  typeDeclarationFormat: 'table',
};
