import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Application } from 'typedoc';

const ROOT = join(import.meta.dirname, '..');

/** What the package exports, from its docstrings: docs/api.md. @throws Error if TypeDoc warns, as of a type that is not exported */
export async function apiPage(): Promise<string> {
  const out = await mkdtemp(join(tmpdir(), 'durable-operator-api-'));
  try {
    const app = await Application.bootstrapWithPlugins({
      entryPoints: [join(ROOT, 'src/index.ts')],
      tsconfig: join(ROOT, 'tsconfig.json'),
      plugin: ['typedoc-plugin-markdown'],
      ...LAYOUT,
      out,
    });
    const project = await app.convert();
    if (project === undefined) throw new Error('TypeDoc cannot read src/index.ts');
    await app.generateOutputs(project);
    if (app.logger.hasWarnings()) throw new Error('see the warnings of TypeDoc above');
    return await readFile(join(out, 'README.md'), 'utf8');
  } finally {
    await rm(out, { recursive: true });
  }
}

/** One page, a table for each type. `npm run types` has checked the types. */
const LAYOUT = {
  outputFileStrategy: 'modules',
  readme: 'none',
  name: 'API',
  logLevel: 'Warn',
  excludeExternals: true,
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
} as const;
