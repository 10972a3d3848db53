import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { defineKind, type AnyKind } from '../src/api/kind.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import { resourceOf } from '../src/engine/view.ts';
import { ApiError, type StatusDetails } from '../src/kubernetes/errors.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { applyCustomResources } from '../local/custom-resources.ts';
import { NAMESPACES, TestCluster, uniqueName } from './support/cluster.ts';
import { testStack } from './support/stack.ts';

jest.setTimeout(60_000);

const inCel = (rule: string, message: string) => ({ 'x-kubernetes-validations': [{ rule, message }] });
const about = (kind: string) => ({ group: 'example.com', version: 'v1', kind, description: `A ${kind}.` });

/** What a list type says, for the parser. */
function distinctBy<T>(keyOf: (item: T) => string) {
  return (items: readonly T[], context: z.RefinementCtx) => {
    const keys = items.map(keyOf);
    for (const [index, key] of keys.entries())
      if (keys.indexOf(key) < index)
        context.addIssue({ code: 'custom', path: [index], message: 'it is there twice' });
  };
}

const Text = defineKind({
  ...about('Text'),
  spec: z.object({
    patterns: z.string().startsWith('a').endsWith('z').regex(/b/).optional(),
    length: z.string().min(2).max(3).trim().optional(),
    id: z.string().max(3).meta({ id: 'Named' }).nullable().optional(),
    choice: z.enum(['one', 'two']).default('one'),
    literal: z.literal(['a', 'b']).optional(),
    template: z.templateLiteral(['v', z.int()]).optional(),
    link: z.url().optional(),
    time: z.iso.datetime().optional(),
    offset: z.iso.datetime({ offset: true }).optional(),
    date: z.iso.date().optional(),
    clock: z.iso.time().optional(),
    uuid: z.uuid().optional(),
    ipv4: z.ipv4().optional(),
    ipv6: z.ipv6().optional(),
    cidr: z.cidrv4().optional(),
    mac: z.mac().optional(),
    hex: z.hex().optional(),
    unicode: z.string().regex(/^.é$/u).optional(),
  }),
});

const Collection = defineKind({
  ...about('Collection'),
  spec: z.object({
    int: z.int().optional(),
    int32: z.int32().optional(),
    uint32: z.uint32().optional(),
    low: z
      .int()
      .min(-(2 ** 31))
      .optional(),
    number: z.number().gt(0).lt(1).optional(),
    multiple: z.int().multipleOf(3).min(3).max(9).optional(),
    step: z.number().multipleOf(0.1).optional(),
    level: z.literal([1, 2]).optional(),
    yes: z.literal(true).optional(),
    flag: z.boolean().nullable().default(null),
    counts: z.record(z.string(), z.int().gt(1)).optional(),
    list: z.array(z.string().min(1)).min(1).max(2).optional(),
    set: z
      .array(z.string())
      .superRefine(distinctBy((text) => text))
      .meta({ 'x-kubernetes-list-type': 'set' })
      .optional(),
    ports: z
      .array(z.object({ name: z.string(), port: z.int().min(1).default(80) }))
      .superRefine(distinctBy(({ name }) => name))
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .optional(),
    nested: z.object({ size: z.int().default(1), sizes: z.array(z.int()).default([1]) }).prefault({}),
    limits: z.object({ cpu: z.string() }).default({ cpu: '1' }),
  }),
});

const Union = defineKind({
  ...about('Union'),
  rules: [{ rule: "self.metadata.name != 'never'", message: 'take another name' }],
  spec: z
    .object({
      size: z
        .union([z.int().min(0), z.string().regex(/^\d+%$/)])
        .meta({ 'x-kubernetes-int-or-string': true })
        .optional(),
      any: z.any().meta({ 'x-kubernetes-preserve-unknown-fields': true }).optional(),
      tree: z.looseObject({}).meta({ 'x-kubernetes-preserve-unknown-fields': true }).optional(),
      even: z
        .int()
        .refine((n) => n % 2 === 0)
        .meta(inCel('self % 2 == 0', 'must be even'))
        .optional(),
      http: z.object({ path: z.string() }).optional(),
      tcp: z.object({ port: z.int() }).optional(),
    })
    .refine(({ http, tcp }) => (http === undefined) !== (tcp === undefined))
    .meta(inCel('has(self.http) != has(self.tcp)', 'http or tcp')),
});

const KINDS = [Text, Collection, Union] as const;
const GOOD = new Map<AnyKind, object>([[Union, { tcp: { port: 1 } }]]);

type Cause = NonNullable<StatusDetails['causes']>[number];

/** Spec, and the fields that are wrong with it. */
type Row = readonly [kind: AnyKind, spec: object, ...wrong: readonly string[]];

const UNSET = { http: undefined, tcp: undefined };

const ROWS: readonly Row[] = [
  [Text, {}],
  [Text, { patterns: 'abz' }],
  [Text, { patterns: 'ab' }, 'patterns'],
  [Text, { patterns: 'bz' }, 'patterns'],
  [Text, { patterns: 'az' }, 'patterns'],
  [Text, { patterns: null }],
  [Text, { patterns: 1 }, 'patterns'],
  [Text, { length: 'ab ' }],
  [Text, { length: '🙂🙂🙂' }],
  [Text, { length: '🙂' }, 'length'],
  [Text, { length: 'abcd' }, 'length'],
  [Text, { id: null }],
  [Text, { id: 'long' }, 'id'],
  [Text, { choice: 'two' }],
  [Text, { choice: 'three' }, 'choice'],
  [Text, { literal: 'b' }],
  [Text, { literal: 'c' }, 'literal'],
  [Text, { template: 'v12' }],
  [Text, { template: 'v' }, 'template'],
  [Text, { link: 'https://a/b' }],
  [Text, { link: 'no link' }, 'link'],
  [Text, { link: '/a/b' }, 'link'],
  [Text, { time: '2026-01-02T03:04:05Z' }],
  [Text, { time: '2026-01-02T03:04:05+01:00' }, 'time'],
  [Text, { time: '2026-01-02t03:04:05z' }, 'time'],
  [Text, { time: '2026-02-30T03:04:05Z' }, 'time'],
  [Text, { offset: '2026-01-02T03:04:05+01:00' }],
  [Text, { offset: 'soon' }, 'offset'],
  [Text, { date: '2024-02-29' }],
  [Text, { date: '2026-02-29' }, 'date'],
  [Text, { clock: '03:04:05' }],
  [Text, { clock: '25:00:00' }, 'clock'],
  [Text, { uuid: '0b2f8a1e-5b0c-4f0e-9d3a-1c2b3a4d5e6f' }],
  [Text, { uuid: '0b2f8a1e' }, 'uuid'],
  [Text, { ipv4: '10.0.0.1' }],
  [Text, { ipv4: '10.0.0.256' }, 'ipv4'],
  [Text, { ipv6: '::1' }],
  [Text, { ipv6: '10.0.0.1' }, 'ipv6'],
  [Text, { cidr: '10.0.0.0/8' }],
  [Text, { cidr: '10.0.0.0/33' }, 'cidr'],
  [Text, { mac: '00:1a:2b:3c:4d:5e' }],
  [Text, { mac: '00:1a' }, 'mac'],
  [Text, { hex: 'ff' }],
  [Text, { hex: 'fg' }, 'hex'],
  [Text, { unicode: '🙂é' }],
  [Text, { unicode: 'é' }, 'unicode'],
  [Text, { length: 'a', choice: 'three' }, 'choice', 'length'],

  [Collection, {}],
  [Collection, { int: -5, int32: 2 ** 31 - 1, uint32: 2 ** 32 - 1, low: 2 ** 31 }],
  [Collection, { int: 1.5 }, 'int'],
  [Collection, { int: '1' }, 'int'],
  [Collection, { int32: 2 ** 31 }, 'int32'],
  [Collection, { uint32: -1 }, 'uint32'],
  [Collection, { low: -(2 ** 31) - 1 }, 'low'],
  [Collection, { number: 0.5 }],
  [Collection, { number: 0 }, 'number'],
  [Collection, { number: 1 }, 'number'],
  [Collection, { multiple: 9 }],
  [Collection, { multiple: 4 }, 'multiple'],
  [Collection, { multiple: 12 }, 'multiple'],
  [Collection, { step: 0.3 }],
  [Collection, { step: 0.35 }, 'step'],
  [Collection, { level: 2 }],
  [Collection, { level: 3 }, 'level'],
  [Collection, { yes: true }],
  [Collection, { yes: false }, 'yes'],
  [Collection, { flag: null }],
  [Collection, { flag: 'true' }, 'flag'],
  [Collection, { counts: { x: 2, 'a.b/c': 3 } }],
  [Collection, { counts: { x: 2, y: 1 } }, 'counts.y'],
  [Collection, { counts: [] }, 'counts'],
  [Collection, { list: ['a', 'b'] }],
  [Collection, { list: [] }, 'list'],
  [Collection, { list: ['a', 'b', 'c'] }, 'list'],
  [Collection, { list: ['a', ''] }, 'list[1]'],
  [Collection, { list: ['a', null] }, 'list[1]'],
  [Collection, { set: ['a', 'b'] }],
  [Collection, { set: ['a', 'a'] }, 'set[1]'],
  [Collection, { ports: [{ name: 'a' }, { name: 'a', port: 81 }] }, 'ports[1]'],
  [Collection, { ports: [{ name: 'a' }, { name: 'b', port: 81, unknown: true }] }],
  [Collection, { ports: [{ name: 'a' }, { port: 0 }] }, 'ports[1].name', 'ports[1].port'],
  [Collection, { nested: { sizes: [2] }, limits: { cpu: '2' } }],
  [Collection, { nested: { sizes: [2, 'x'] } }, 'nested.sizes[1]'],
  [Collection, { limits: {} }, 'limits.cpu'],

  [Union, {}],
  [Union, { size: 3 }],
  [Union, { size: '30%' }],
  [Union, { any: [1, { a: 'b' }], tree: { a: { b: 1 } } }],
  [Union, { tree: 'text' }, 'tree'],
  [Union, { size: -1 }, 'size'],
  [Union, { size: '30' }, 'size'],
  [Union, { size: true }, 'size'],
  [Union, { size: {} }, 'size'],
  [Union, { even: 2 }],
  [Union, { even: 3 }, 'even'],
  [Union, { ...UNSET, http: { path: '/' } }],
  [Union, { ...UNSET, http: {} }, 'http.path'],
  [Union, { http: { path: '/' } }, ''],
  [Union, UNSET, ''],
];

describe('a spec is accepted by the API server and by the parser, or refused by both for the same fields', () => {
  let cluster: TestCluster;
  let namespace: string;

  beforeAll(async () => {
    cluster = new TestCluster(testStack().kubeconfig);
    namespace = (await cluster.createNamespace()).metadata.name;
    await applyCustomResources(
      cluster.client,
      KINDS.map(({ manifest }) => manifest),
    );
  });

  afterAll(async () => {
    const type = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
    for (const { manifest } of KINDS) await cluster.delete({ type, name: manifest.metadata.name });
    await cluster.delete({ type: NAMESPACES, name: namespace });
    await cluster.close();
  });

  const named = ROWS.map(([kind, spec, ...wrong]) => ({ name: kind.kind, kind, spec, wrong }));

  it.each(named)('$name $spec: $wrong', async ({ kind, spec, wrong }) => {
    const object = objectOf(kind, { ...GOOD.get(kind), ...spec });
    const fields = wrong.map((field) => (field === '' ? 'spec' : `spec.${field}`)).sort();
    const answer = await answered(kind, object);
    const sent = resourceOf(kind, object);
    const stored = 'stored' in answer ? resourceOf(kind, answer.stored) : sent;
    expect({ server: 'refused' in answer ? answer.refused : [], parser: fieldsIn(stored) }).toEqual({
      server: fields,
      parser: fields,
    });
    // Both have the same defaults. The server drops a null that is not allowed, and the parser of what is sent refuses it.
    if (fieldsIn(sent).length === 0) expect(stored.spec).toEqual(sent.spec);
  });

  function objectOf({ group, version, kind }: AnyKind, spec: object): KubernetesObject {
    const metadata = { name: uniqueName(), namespace };
    return { apiVersion: `${group}/${version}`, kind, metadata, spec } as unknown as KubernetesObject;
  }

  /** As it would be stored, or the fields for which it is refused. */
  async function answered(
    kind: AnyKind,
    body: object,
  ): Promise<{ readonly stored: KubernetesObject } | { readonly refused: readonly string[] }> {
    try {
      const path = resourcePath(kind, { namespace });
      return {
        stored: await cluster.client.request({ method: 'POST', path, query: { dryRun: 'All' }, body }),
      };
    } catch (error) {
      if (!(error instanceof ApiError && error.classification === 'refused')) throw error;
      const causes = (error.details?.causes ?? []).filter(
        ({ message }) => message?.includes(UNTRIED) !== true,
      );
      return { refused: distinct(causes.map(fieldOf)) };
    }
  }

  /** Of some mistakes, only the message names the field. */
  function fieldOf({ field, message = '' }: Cause): string {
    return (field === '<nil>' ? /\bspec[\w.[\]]*/.exec(message)?.[0] : field) ?? message;
  }

  /** The server says so beside the fields that are wrong. */
  const UNTRIED = 'some validation rules were not checked';

  function fieldsIn({ invalid }: { readonly invalid?: string }): readonly string[] {
    return distinct((invalid?.split('; ') ?? []).map((each) => each.split(': ')[0] ?? each));
  }

  function distinct(fields: readonly string[]): readonly string[] {
    return [...new Set(fields)].sort();
  }
});
