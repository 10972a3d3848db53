import { describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import createPackage from '../../create/package.json' with { type: 'json' };
import template from '../../create/template/project/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { kebabCase, renamed, withController } from '../../src/program/new/names.ts';
import { installable } from '../../src/program/new/new.ts';
import { CLUSTER_SCOPED, clusterScoped } from '../../src/program/new/scope.ts';

const NAMES = { program: 'shop-operator', group: 'shop.io', kind: 'ImageScan' };
const TEMPLATE = join(import.meta.dirname, '../../create/template');

describe('the template', () => {
  it.each(['children', 'decides'])('is called after the kind everywhere: %s', async (variant) => {
    const texts = await Promise.all(
      ['src/main.ts', 'src/website.ts', 'test/website.test.ts', 'samples/website.yaml'].map((path) =>
        readFile(join(TEMPLATE, variant, path), 'utf8'),
      ),
    );
    const text = renamed(texts.join('\n'), NAMES);
    expect(text).not.toMatch(/website|my-operator|example\.com/i);
    expect(text).toContain("import { imageScanController } from './image-scan.ts';");
    expect(text).toContain("operator({ name: 'shop-operator', controllers: [imageScanController] })");
    expect(text).toContain("export const imageScanController = defineController({\n  name: 'image-scan',");
    expect(text).toContain("kind: 'ImageScan'");
  });

  it('has no place left where a cluster-scoped kind would have a namespace', async () => {
    const paths = ['children', 'decides'].flatMap((variant) =>
      ['src/website.ts', 'test/website.test.ts', 'samples/website.yaml'].map((path) => join(variant, path)),
    );
    const texts = await Promise.all(paths.map((path) => readFile(join(TEMPLATE, path), 'utf8')));
    const text = texts.join('\n');
    expect(CLUSTER_SCOPED.filter(([from]) => !text.includes(from))).toEqual([]);
    expect(clusterScoped(text)).not.toMatch(/metadata\.namespace|\.\.\.metadata|^ {2}namespace:/m);
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
  it('are all of one pass: a program or a group may contain the name of the template', () => {
    const named = { program: 'website-operator', group: 'website.io', kind: 'Bucket' };
    expect(renamed("name: 'my-operator', group: 'example.com', kind: 'Website'", named)).toBe(
      "name: 'website-operator', group: 'website.io', kind: 'Bucket'",
    );
  });

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
  const imports = "import { operator } from 'durable-operator';\nimport { shop } from './shop.ts';\n";
  it.each([
    ['in a line', 'controllers: [shop]', 'controllers: [shop, imageScanController]'],
    ['in several lines', 'controllers: [\n  shop,\n]', 'controllers: [\n  shop, imageScanController,\n]'],
    ['empty', 'controllers: []', 'controllers: [imageScanController]'],
    [
      'with a comment',
      '/* controllers: [x] */ controllers: [shop /* ] */]',
      '/* controllers: [x] */ controllers: [shop, imageScanController /* ] */]',
    ],
  ])('is imported and listed beside the others: %s', (_, list, longer) => {
    const main = (its: string) => `\nawait operator({ name: 'shop', ${its} }).main();\n`;
    expect(withController(`${imports}${main(list)}`, NAMES)).toBe(
      `${imports}import { imageScanController } from './image-scan.ts';\n${main(longer)}`,
    );
  });

  it.each([
    ['in a variable', 'const controllers = [shop];\noperator({ controllers })'],
    ['twice', 'operator({ controllers: [shop] }); operator({ controllers: [] })'],
    ['of another', '// operator({ controllers: [a] })\nother({ controllers: [shop] })'],
    ['with types', 'operator({ controllers: [shop] as Controller[] })'],
  ])('is not listed where no list can be told: %s', (_, main) => {
    expect(withController(main, NAMES)).toBeUndefined();
  });
});

describe('the package in package.json', () => {
  const installed = async (resolved: string | undefined) => {
    const folder = await mkdtemp(join(tmpdir(), 'durable-operator-new-'));
    const root = join(folder, 'node_modules/durable-operator');
    await mkdir(root, { recursive: true });
    const lock = { packages: { 'node_modules/durable-operator': { resolved } } };
    await writeFile(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(lock));
    return installable(root, join(folder, 'shop-operator'));
  };

  it('is the packed file that new runs from', async () => {
    expect(await installed('file:durable-operator-0.4.0.tgz')).toBe('file:../durable-operator-0.4.0.tgz');
  });

  it('is a clone that new runs from', async () => {
    expect(await installable('/work/clone', '/work/shop-operator')).toBe('file:../clone');
  });

  it.each(['https://registry.npmjs.org/durable-operator/-/durable-operator-0.4.0.tgz', undefined])(
    'is this version where npm has it from %s',
    async (resolved) => {
      expect(await installed(resolved)).toBe(`^${packageJson.version}`);
    },
  );
});
