import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['src', 'workflows', 'activities', 'testing', 'local'];
const EXPORTED = /^export (?:abstract |async )?(?:class|const|enum|function\*?|interface|type) (\w+)/gm;

it('a name is exported by one file: export it again from there instead', () => {
  const files = new Map<string, Set<string>>();
  for (const folder of FOLDERS) {
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      for (const [, name = ''] of readFileSync(join(ROOT, folder, file), 'utf8').matchAll(EXPORTED))
        files.set(name, (files.get(name) ?? new Set()).add(join(folder, file)));
    }
  }
  const twice = [...files].filter(([, where]) => where.size > 1).map(([name]) => name);
  expect(twice).toEqual([]);
});
