import { jest } from '@jest/globals';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { durableOperator } from '../../src/controllers/index.ts';
import { runGenerate } from '../../src/program/generate/generate.ts';

/** What `generate` writes for an author's operator with our controllers. @returns the project's folder */
export async function generated(name: string): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'durable-operator-generated-'));
  await writeFile(join(project, 'package.json'), JSON.stringify({ version: packageJson.version }));
  const options = {
    check: false,
    image: name,
    crds: false,
    allowNewRights: false,
    allowBreakingChanges: false,
  };
  const said = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const program = { ...durableOperator, name };
  await runGenerate({ program, options, project, mainModule: join(project, 'src/main.ts') });
  said.mockRestore();
  return project;
}
