import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CONFIG_MAPS } from '../../src/api/built-in.ts';
import { defineController, type AnyKind, type ControllerDefinition } from '../../src/api/controller.ts';
import { defineKind, type KindDefinition } from '../../src/api/kind.ts';
import { allow, type PolicyRule } from '../../src/api/policy-rule.ts';
import { type ResourceType } from '../../src/api/resource-type.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { JOBS } from '../../src/api/kinds.ts';
import { breakingChanges } from '../../src/program/generate/breaking-changes.ts';
import { Definition } from '../../src/program/generate/field-schema.ts';
import { runGenerate } from '../../src/program/generate/generate.ts';

const SPEC = z.object({
  size: z.int().min(1).max(10),
  mode: z.enum(['fast', 'slow']).default('fast'),
  hosts: z.array(z.object({ name: z.string().max(20) })).optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

function aKind(change: Partial<KindDefinition<z.ZodObject, z.ZodObject>> = {}) {
  const names = { group: 'example.com', version: 'v1', kind: 'Shop', description: 'A shop.' };
  return defineKind<z.ZodObject>({ ...names, spec: SPEC, ...change });
}

interface Shop extends Pick<
  ControllerDefinition<AnyKind, unknown, never, unknown, unknown>,
  'retired' | 'retiredFinalizers'
> {
  readonly kind?: ReturnType<typeof aKind>;
  readonly finalizer?: string;
  readonly owns?: readonly ResourceType[];
  readonly permissions?: readonly PolicyRule[];
}

function aProgram({ kind = aKind(), permissions = [], owns = [], ...more }: Shop = {}) {
  const shop = defineController({
    name: 'shop',
    for: kind,
    permissions,
    ...(owns.length > 0 && { owns, children: () => [] }),
    ...more,
    observe: () => Promise.resolve(undefined),
    steps: {},
    decide: (_, next) => next.converged('nothing is to be done'),
  });
  return { name: 'shop-operator', controllers: [shop] };
}

let project: string;
let said: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'generate-test-'));
  await writeFile(join(project, 'package.json'), '{"version": "1.2.3"}');
  said = '';
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
  }
});

afterEach(async () => {
  jest.restoreAllMocks();
  await rm(project, { recursive: true });
});

const NO_OPTIONS = {
  check: false,
  image: 'shop',
  crds: false,
  allowNewRights: false,
  allowBreakingChanges: false,
};

function generate(program = aProgram(), options: Partial<typeof NO_OPTIONS> = {}): Promise<number> {
  const mainModule = join(project, 'src/main.ts');
  return runGenerate({ program, options: { ...NO_OPTIONS, ...options }, project, mainModule });
}

const textOf = (path: string) => readFile(join(project, 'deploy', path), 'utf8');

describe('generate', () => {
  it('writes files that --check then finds up to date, until somebody edits one', async () => {
    expect(await generate()).toBe(0);
    expect(await generate(aProgram(), { check: true })).toBe(0);
    await appendFile(join(project, 'deploy/options.md'), 'more\n');
    expect(await generate(aProgram(), { check: true })).toBe(1);
    expect(said).toContain('deploy/options.md is stale: run npm run generate');
  });

  it('names the image and the chart after the version in package.json', async () => {
    await generate();
    expect(await textOf('install.yaml')).toContain('image: shop:1.2.3\n');
    expect(await textOf('chart/Chart.yaml')).toContain('appVersion: 1.2.3\n');
  });

  it('fills nothing into a text of the author', async () => {
    const description = 'A shop. {{ .Name }} {{- range `it` }} {{ {{';
    await generate(aProgram({ kind: aKind({ description }) }));
    const chart = await textOf('chart/templates/crds.yaml');
    const [, definition = ''] = /^\{\{- if .Values.crds \}\}\n(.*)\{\{- end \}\}\n$/s.exec(chart) ?? [];
    expect(definition.replaceAll('{{ "{{" }}', '')).not.toContain('{{');
    expect(parse(definition.replaceAll('{{ "{{" }}', '{{'))).toMatchObject({
      spec: { versions: [{ schema: { openAPIV3Schema: { description } } }] },
    });
  });

  it('keeps the operator off the nodes of another operating system', async () => {
    await generate();
    for (const file of ['install.yaml', 'chart/values.yaml'])
      expect(await textOf(file)).toMatch(/nodeSelector:\n *kubernetes.io\/os: linux\n/);
  });

  // A policy that is rendered and one that is believed in are the same.
  it.each(['install.yaml', 'chart/templates/operator.yaml'])(
    'has the API server check who approves, by %s, and tells the operator so',
    async (file) => {
      await generate();
      const objects = parseAllDocuments(await textOf(file)).map((each) => fieldsOf(each.toJS()));
      const of = (kind: string) => objects.filter((each) => each['kind'] === kind);
      const metadata = { name: 'shop-operator-approvals' };
      const rule = { apiGroups: ['example.com'], operations: ['CREATE', 'UPDATE'], resources: ['shops'] };
      expect(of('ValidatingAdmissionPolicy')).toMatchObject([
        { metadata, spec: { matchConstraints: { resourceRules: [rule] } } },
      ]);
      const [binding] = of('ValidatingAdmissionPolicyBinding');
      expect(binding).toMatchObject({
        spec: { policyName: metadata.name, validationActions: ['Deny', 'Audit'] },
      });
      const { matchLabels } = fieldsOf(
        fieldsOf(fieldsOf(fieldsOf(binding?.['spec'])['paramRef'])['selector']),
      );
      expect(of('ClusterRoleBinding')).toMatchObject([{ metadata: { labels: matchLabels } }]);
      expect(await textOf(file)).toContain('--approvers-checked');
    },
  );

  it('mounts the Secret for Temporal, so that a process notices what is new in it', async () => {
    await generate();
    const [deployment] = parseAllDocuments(await textOf('install.yaml'))
      .map((each) => fieldsOf(each.toJS()))
      .filter(({ kind }) => kind === 'Deployment');
    const folder = '/etc/operator/temporal';
    expect(deployment).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              {
                env: expect.arrayContaining([{ name: 'TEMPORAL_CREDENTIALS_DIR', value: folder }]) as unknown,
                volumeMounts: [{ name: 'temporal', mountPath: folder, readOnly: true }],
              },
            ],
            volumes: [{ name: 'temporal', secret: { secretName: 'shop-operator-temporal', optional: true } }],
          },
        },
      },
    });
  });

  it('wants a version', async () => {
    await writeFile(join(project, 'package.json'), '{}');
    await expect(generate()).rejects.toThrow('has no version');
  });

  it('gives the operator a new right only when somebody agrees', async () => {
    await generate();
    const program = aProgram({ permissions: [allow(JOBS, ['create', 'delete'])] });
    expect(await generate(program)).toBe(1);
    expect(said).toContain('new right: create, delete jobs; agree with --allow-new-rights\n');
    expect(await textOf('install.yaml')).not.toContain('jobs');
    expect(await generate(program, { allowNewRights: true })).toBe(0);
    expect(await textOf('install.yaml')).toContain('resources: [jobs], verbs: [create, delete]');
  });

  it('takes a right away without a question', async () => {
    await generate(aProgram({ permissions: [allow(JOBS, ['create'])] }));
    expect(await generate()).toBe(0);
    expect(await textOf('install.yaml')).not.toContain('jobs');
  });

  it('breaks what is stored only when somebody agrees', async () => {
    await generate();
    const program = aProgram({ kind: aKind({ spec: SPEC.omit({ size: true }) }) });
    expect(await generate(program)).toBe(1);
    expect(said).toContain('breaking change: Shop.spec.size is removed; give the kind a new field instead');
    expect(await textOf('crd/shops.yaml')).toContain('size');
    expect(await generate(program, { allowBreakingChanges: true })).toBe(0);
    expect(await textOf('crd/shops.yaml')).not.toContain('size');
  });

  it('removes the definition of a kind that the program no longer has only when somebody agrees', async () => {
    await generate();
    const program = aProgram({ kind: aKind({ kind: 'Store' }) });
    expect(await generate(program, { allowNewRights: true })).toBe(1);
    expect(said).toContain('breaking change: kind Shop is removed');
    const agreed = { allowNewRights: true, allowBreakingChanges: true };
    expect(await generate(program, agreed)).toBe(0);
    await expect(textOf('crd/shops.yaml')).rejects.toThrow('ENOENT');
  });
});

describe('what a version may have left in a cluster', () => {
  const before = aProgram({ owns: [JOBS, CONFIG_MAPS], finalizer: 'example.com/shop' });
  const agreed = { allowNewRights: true };

  it('is forgotten only when somebody agrees', async () => {
    await generate(before);
    const after = aProgram({ owns: [JOBS] });
    expect(await generate(after, agreed)).toBe(1);
    expect(said).toContain(
      'forgotten: controller shop owned configmaps, whose objects stay: list the type in',
    );
    expect(said).toContain('forgotten: controller shop had the finalizer example.com/shop');
    expect(await generate(after, { ...agreed, allowBreakingChanges: true })).toBe(0);
    expect(await generate(after)).toBe(0);
  });

  it('is asked for as long as a version still retires it, and then, too', async () => {
    await generate(before);
    const retiring = aProgram({
      ...{ owns: [JOBS], retired: [CONFIG_MAPS] },
      ...{ finalizer: 'example.com/store', retiredFinalizers: ['example.com/shop'] },
    });
    expect(await generate(retiring, agreed)).toBe(0);
    expect(await textOf('install.yaml')).toContain('resources: [configmaps], verbs: [delete, list');
    expect(await generate(aProgram({ owns: [JOBS], finalizer: 'example.com/store' }), agreed)).toBe(1);
    expect(said).toContain('forgotten: controller shop owned configmaps');
  });
});

describe('a change of a kind', () => {
  const changed = (change: Partial<KindDefinition<z.ZodObject, z.ZodObject>>) =>
    breakingChanges(Definition.parse(aKind().manifest), Definition.parse(aKind(change).manifest));
  const withField = (name: string, field: z.ZodType) => changed({ spec: SPEC.extend({ [name]: field }) });

  it.each([
    [
      'a new version in place of the old one',
      () => changed({ version: 'v2' }),
      'version v1 of Shop is removed',
    ],
    ['another scope', () => changed({ namespaced: false }), 'Shop was Namespaced, and is Cluster'],
    [
      'a new required field',
      () => withField('owner', z.string()),
      'Shop.spec.owner is required, and was not',
    ],
    [
      'another type',
      () => withField('size', z.string()),
      'Shop.spec.size: type was "integer", and is "string"',
    ],
    ['a lower maximum', () => withField('size', z.int().min(1).max(5)), 'maximum was 10, and is 5'],
    [
      'a value less',
      () => withField('mode', z.enum(['fast']).default('fast')),
      'enum was ["fast","slow"], and is',
    ],
    [
      'a pattern',
      () => withField('labels', z.record(z.string(), z.string().regex(/^a/)).optional()),
      'Shop.spec.labels.*: pattern was not set',
    ],
    [
      'less in a list',
      () => withField('hosts', z.array(z.object({ name: z.string().max(9) })).optional()),
      'Shop.spec.hosts[].name: maxLength was 20, and is 9',
    ],
    [
      'a new rule',
      () => changed({ rules: [{ rule: 'self.spec.size > 2', message: 'too small' }] }),
      'Shop: the rule self.spec.size > 2 is new',
    ],
  ])('is breaking if it is %s', (_, changes, expected) => {
    expect(changes().join('\n')).toContain(expected);
  });

  it.each([
    ['a new optional field', () => withField('owner', z.string().optional())],
    ['a new field with a default', () => withField('owner', z.string().default('nobody'))],
    ['a higher maximum', () => withField('size', z.int().min(1).max(50))],
    ['one more value', () => withField('mode', z.enum(['fast', 'slow', 'other']).default('fast'))],
    ['another description', () => changed({ description: 'A shop with a door.' })],
  ])('is not breaking if it is %s', (_, changes) => {
    expect(changes()).toEqual([]);
  });
});
