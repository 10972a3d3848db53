import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineKind, type SpecOf } from '../../src/api/kind.ts';
import { NotStructural, structuralSchema } from '../../src/api/structural-schema.ts';
import { kept } from '../../src/program/generate/chart.ts';

const replicas = z.int32().min(0).max(100).default(1).meta({ description: 'How many serve it.' });
const website = {
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  description: 'A website.',
  spec: z.object({ image: z.string().meta({ description: 'The image that serves it.' }), replicas }),
};
const Website = defineKind({ ...website, status: z.object({ url: z.string().optional() }) });

const Root = z.object({
  openAPIV3Schema: z.object({ properties: z.object({ spec: z.unknown(), status: z.unknown() }) }),
});

/** The schema of the field `spec`, or `status`, of the only version. */
const schemaOf = (part: 'spec' | 'status', kind: { readonly manifest: object } = Website): unknown => {
  const Manifest = z.object({ spec: z.object({ versions: z.tuple([z.object({ schema: Root })]) }) });
  return Manifest.parse(kind.manifest).spec.versions[0].schema.openAPIV3Schema.properties[part];
};

describe('a kind', () => {
  it('names its resources, and is a resource type', () => {
    const { group, version, plural, kind, namespaced } = Website;
    expect({ group, version, plural, kind, namespaced }).toEqual({
      ...{ group: 'example.com', version: 'v1', plural: 'websites', kind: 'Website', namespaced: true },
    });
    expect(Website.manifest).toMatchObject({
      metadata: { name: 'websites.example.com' },
      spec: {
        names: { kind: 'Website', plural: 'websites', singular: 'website', listKind: 'WebsiteList' },
        scope: 'Namespaced',
      },
    });
  });

  it('gives its spec a type and a schema, with defaults', () => {
    const spec: SpecOf<typeof Website> = { image: 'nginx', replicas: 2 };
    expect(Website.spec.parse({ image: 'nginx' })).toEqual({ ...spec, replicas: 1 });
    expect(schemaOf('spec')).toEqual({
      type: 'object',
      required: ['image'],
      properties: {
        image: { description: 'The image that serves it.', type: 'string' },
        replicas: {
          ...{ description: 'How many serve it.', type: 'integer', format: 'int64' },
          ...{ default: 1, minimum: 0, maximum: 100 },
        },
      },
    });
  });

  it('requires no field of the status, which begins without any', () => {
    const counted = defineKind({
      ...website,
      status: z.object({ size: z.int(), url: z.string().optional() }),
    });
    expect(schemaOf('status', counted)).not.toHaveProperty('required');
    expect(schemaOf('status', counted)).toMatchObject({ properties: { size: { type: 'integer' } } });
  });

  it('has conditions and an observed generation, which says that nothing was observed yet', () => {
    expect(schemaOf('status')).toMatchObject({
      default: { observedGeneration: -1 },
      properties: {
        url: { type: 'string' },
        observedGeneration: { type: 'integer', format: 'int64', minimum: -1 },
        conditions: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
        lastHandledReconcileAt: { type: 'string', maxLength: 1024 },
        lastHandledApproval: { type: 'string', maxLength: 1024 },
      },
    });
  });

  it('may be cluster-scoped, with a scale and columns of its own, the wide ones last', () => {
    const path = '.status.url';
    const kind = defineKind({
      ...{ ...website, namespaced: false, plural: 'sites' },
      scale: { specReplicas: '.spec.replicas', statusReplicas: '.status.n', labelSelector: '.status.s' },
      columns: [
        { name: 'Wide', description: 'x', path, priority: 1 },
        { name: 'URL', description: 'x', path },
      ],
    });
    expect(kind.manifest).toMatchObject({
      metadata: { name: 'sites.example.com' },
      spec: {
        scope: 'Cluster',
        versions: [
          {
            subresources: { scale: { specReplicasPath: '.spec.replicas' } },
            additionalPrinterColumns: [
              { name: 'URL', type: 'string', jsonPath: path },
              { name: 'Ready' },
              { name: 'Reason' },
              { name: 'Age', type: 'date' },
              { name: 'Wide', priority: 1 },
            ],
          },
        ],
      },
    });
  });
});

describe('the definition of a kind', () => {
  const approval = { 'api-approved.kubernetes.io': 'unapproved, an experiment' };

  it('has annotations and labels, which a group of k8s.io needs', () => {
    const group = 'sites.x-k8s.io';
    const labels = { team: 'web' };
    expect(defineKind({ ...website, annotations: approval, labels }).manifest.metadata).toEqual({
      ...{ name: 'websites.example.com', annotations: approval, labels },
    });
    const other = 'sites.k8s.io';
    expect(() => defineKind({ ...website, group: other })).toThrow('api-approved.kubernetes.io');
    expect(defineKind({ ...website, group: other, annotations: approval }).group).toBe(other);
    expect(defineKind({ ...website, group }).group).toBe(group);
  });

  it('keeps them in a chart, where it stays when the release is removed', () => {
    expect(kept(defineKind({ ...website, annotations: approval }).manifest).metadata.annotations).toEqual({
      ...approval,
      'helm.sh/resource-policy': 'keep',
    });
  });

  it('has one column of a name: that of the author', () => {
    const age = { name: 'AGE', type: 'date', path: '.status.since' } as const;
    expect(defineKind({ ...website, columns: [age] }).manifest.spec).toMatchObject({
      versions: [{ additionalPrinterColumns: [{ name: 'AGE' }, { name: 'Ready' }, { name: 'Reason' }] }],
    });
  });
});

const IN_CEL = { 'x-kubernetes-validations': [{ rule: 'true', message: 'x' }] };
const Tree = z.object({
  get trees() {
    return z.array(Tree);
  },
});

describe('a structural schema', () => {
  const of = (schema: z.ZodType) => structuralSchema(schema, 'Website spec');

  it('has the formats of Kubernetes for integers and times, and no bounds that they imply', () => {
    expect(of(z.int32())).toEqual({ type: 'integer', format: 'int32' });
    expect(of(z.int().min(1))).toEqual({ type: 'integer', format: 'int64', minimum: 1 });
    expect(of(z.int().min(-(2 ** 31)))).toEqual({ type: 'integer', format: 'int64', minimum: -(2 ** 31) });
    expect(of(z.iso.datetime())).toMatchObject({ type: 'string', format: 'date-time' });
  });

  it('keeps what meta says in the words of Kubernetes', () => {
    const rules = [{ rule: 'self.size() > 0', message: 'x' }];
    const list = z
      .array(z.string())
      .meta({ 'x-kubernetes-list-type': 'set', 'x-kubernetes-validations': rules });
    expect(of(list)).toEqual({
      ...{ type: 'array', 'x-kubernetes-list-type': 'set', 'x-kubernetes-validations': rules },
      items: { type: 'string' },
    });
    expect(of(z.any().meta({ 'x-kubernetes-int-or-string': true }))).toEqual({
      'x-kubernetes-int-or-string': true,
    });
  });

  it.each<[what: string, schema: z.ZodType, says: object]>([
    [
      'an integer or a text',
      z.union([z.string().min(1), z.int().max(5)]).meta({ 'x-kubernetes-int-or-string': true }),
      { minimum: Number.MIN_SAFE_INTEGER, maximum: 5, minLength: 1, 'x-kubernetes-int-or-string': true },
    ],
    [
      'two patterns',
      z.string().startsWith('a').endsWith('z'),
      { type: 'string', format: 'ends_with', allOf: [{ pattern: '^a.*' }, { pattern: '.*z$' }] },
    ],
    [
      'an id',
      z.string().min(2).meta({ id: 'Name', description: 'x' }),
      { description: 'x', type: 'string', minLength: 2 },
    ],
    ['the strictest bound', z.string().min(1).min(3), { type: 'string', minLength: 3 }],
    ['a transform', z.string().min(2).transform(Number), { type: 'string', minLength: 2 }],
    ['a URL', z.url(), { type: 'string', format: 'uri', pattern: '^[A-Za-z][A-Za-z0-9+.-]*:' }],
    [
      'a text with a rule behind a wrapper',
      z
        .string()
        .refine(() => true)
        .optional()
        .meta(IN_CEL),
      { type: 'string', ...IN_CEL },
    ],
  ])('says %s', (_, schema, says) => {
    expect(of(schema)).toEqual(says);
  });

  it('names what becomes of each check of zod', () => {
    const all = Object.keys(z.core).filter((name) => name.startsWith('$ZodCheck')).length;
    // A new one is refused until somebody has looked at it: less_than and so on, and the formats of texts.
    expect(all).toBe(23);
  });

  it.each<[what: string, schema: z.ZodType, says: string]>([
    ['a union', z.object({ port: z.union([z.int(), z.string()]) }), 'Website spec.port has anyOf'],
    ['other fields', z.object({ a: z.string() }).catchall(z.string()), 'has named and other fields'],
    ['a look ahead', z.string().regex(/^(?!x)/), 'has a pattern with (?!'],
    ['alternatives', z.discriminatedUnion('is', [z.object({ is: z.literal('a') })]), 'has oneOf'],
    ['a strict object', z.strictObject({}), 'is strict'],
    ['anything', z.object({ extra: z.unknown() }), 'Website spec.extra has no type'],
    ['a date', z.date(), 'Website spec: '],
    ['a refinement', z.array(z.string().refine((each) => each !== 'x')), 'Website spec[] has a refinement'],
    ['keys with rules', z.record(z.string().regex(/^a/), z.string()), 'has rules for its keys'],
    ['keys of a format', z.record(z.email(), z.string()), 'has rules for its keys'],
    ['a flag', z.object({ name: z.string().regex(/x/i) }), 'Website spec.name has a pattern with the flag i'],
    ['a flag of many', z.string().regex(/^a/).regex(/^x/m), 'has a pattern with the flag m'],
    ['a format that no pattern says', z.jwt(), 'has the format jwt'],
    ['a format of an author', z.stringFormat('even', (text) => text.length % 2 === 0), 'has the format even'],
    ['hosts', z.url({ hostname: /^a$/ }), 'has a URL of some hosts'],
    [
      'a check of a property',
      z.object({ a: z.string() }).check(z.property('a', z.string().min(3))),
      'a property',
    ],
    [
      'a check of a changed text',
      z.string().trim().min(1),
      'has a check of a text that trim() or the like has',
    ],
    ['a URL with a pattern', z.url().startsWith('https:'), 'has a URL with a pattern'],
    ['what runs before a schema', z.preprocess(Number, z.number()), 'has two schemas in a pipe'],
    [
      'a default of another form',
      z.object({ a: z.string().min(3).default('') }),
      'Website spec.a has a default',
    ],
    [
      'a refinement in an integer or a text',
      z.union([z.int().refine(() => false), z.string()]).meta({ 'x-kubernetes-int-or-string': true }),
      'has a refinement',
    ],
    [
      'a list that says nothing',
      z
        .array(z.int())
        .refine(() => false)
        .meta({ 'x-kubernetes-list-type': 'atomic' }),
      'has a refinement',
    ],
    ['null alone', z.literal(null), 'has null among its values'],
    [
      'null among values',
      z.object({ a: z.enum(['b']).nullish() }),
      'Website spec.a has null among its values',
    ],
    ['a text of long', z.string().regex(/^.{0,2000}$/), 'has a pattern with {0,2000'],
    ['a second reference', z.string().regex(/(a)(b)\2/), 'has a pattern with \\2'],
    ['a pipe', z.string().pipe(z.string().min(3)), 'has two schemas in a pipe'],
    ['a refinement in a lazy', z.lazy(() => z.string().refine(() => false)), 'has a refinement'],
    [
      'a refinement behind readonly',
      z
        .string()
        .refine(() => false)
        .readonly(),
      'has a refinement',
    ],
    [
      'a refinement before a transform',
      z
        .string()
        .refine(() => false)
        .transform(Number),
      'has a refinement',
    ],
    ['a character of JavaScript', z.string().regex(/\u20E3/), 'has a pattern with \\u'],
    ['a type of many', z.object({ tree: Tree }), 'a schema cannot refer to itself'],
  ])('refuses %s, and says where and what to write instead', (_, schema, says) => {
    expect(() => of(schema)).toThrow(NotStructural);
    expect(() => of(schema)).toThrow(says);
  });

  it('takes a refinement that CEL says, too', () => {
    const meta = { 'x-kubernetes-validations': [{ rule: "self != 'x'", message: 'must not be x' }] };
    expect(
      of(
        z
          .string()
          .refine((each) => each !== 'x')
          .meta(meta),
      ),
    ).toMatchObject({ type: 'string' });
  });
});
