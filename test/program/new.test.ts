import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import createPackage from '../../create/package.json' with { type: 'json' };
import template from '../../create/template/project/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { kebabCase, renamed, withController } from '../../src/program/new/names.ts';

const NAMES = { program: 'shop-operator', group: 'shop.io', kind: 'ImageScan' };
const TEMPLATE = join(import.meta.dirname, '../../create/template');

describe('the template', () => {
  it.each(['children'])('is called after the kind everywhere: %s', async (variant) => {
    const texts = await Promise.all(
      ['src/main.ts', 'src/website.ts', 'test/website.test.ts', 'samples/website.yaml'].map((path) =>
        readFile(join(TEMPLATE, variant, path), 'utf8'),
      ),
    );
    const text = renamed(texts.join('\n'), NAMES);
    expect(text).not.toMatch(/website|my-operator|example\.com/i);
    expect(text).toContain("import { imageScan } from './image-scan.ts';");
    expect(text).toContain("operator({ name: 'shop-operator', controllers: [imageScan] })");
    expect(text).toContain("export const imageScan = defineController({\n  name: 'image-scan',");
    expect(text).toContain("kind: 'ImageScan'");
  });

  it('asks for the packages that this version is tested with', () => {
    const { zod } = packageJson.dependencies;
    const { typescript, '@types/node': types } = packageJson.devDependencies;
    expect(template.dependencies.zod).toBe(`^${zod}`);
    expect(template.devDependencies).toEqual({ '@types/node': `^${types}`, typescript: `^${typescript}` });
    expect(template.engines).toEqual(packageJson.engines);
  });

  it('comes with npm create in the same version', () => {
    const { version } = packageJson;
    expect(createPackage).toMatchObject({ version, dependencies: { 'durable-operator': version } });
  });
});

describe('names', () => {
  it.each([
    ['Website', 'website'],
    ['ImageScan', 'image-scan'],
    ['HTTPRoute', 'httproute'],
    ['S3Bucket', 's3-bucket'],
  ])('of %s in files: %s', (kind, expected) => {
    expect(kebabCase(kind)).toBe(expected);
  });
});

describe('one more controller', () => {
  it('is imported and listed beside the others', () => {
    const main =
      "import { operator } from 'durable-operator';\n\nawait operator({ name: 'shop', controllers: [shop] }).main();\n";
    expect(withController(main, NAMES)).toBe(
      "import { operator } from 'durable-operator';\nimport { imageScan } from './image-scan.ts';\n\nawait operator({ name: 'shop', controllers: [shop, imageScan] }).main();\n",
    );
  });
});
