import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, defineKind, operator, SECRETS, SERVICES } from 'durable-operator';
import { z } from 'zod';
import { bucket } from '../../examples/bucket/src/bucket.ts';
import { bucketDefaults } from '../../examples/bucket/src/defaults.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { definitionsOf } from '../../src/program/generate/field-schema.ts';
import { controllersOf } from '../../src/program/program.ts';
import { siteControllers, Site } from '../support/site-operator.ts';

const Shop = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Shop', description: 'A shop.' },
  spec: z.object({ tier: z.string().default('free') }),
});
const decide = () => ({ is: 'converged', because: 'it is open' }) as const;
const one = { name: 'one', for: Shop, decide };
const other = { name: 'other', for: Shop, decide };
const declaring = { owns: [CONFIG_MAPS], children: () => [] };
const ofServices = { for: SERVICES, view: () => 'there', ...declaring };

const program = { name: 'site-operator', controllers: siteControllers };
const [site, siteDefaults] = controllersOf(program, defaultOptions(program));

describe('two controllers of one program for one type', () => {
  it.each([
    ['a kind, if one writes its status', [{ ...one, status: () => ({}) }, other]],
    ['a kind, if one declares objects', [{ ...one, ...declaring }, other]],
    ['a kind, as the page about operators has it', [bucket, bucketDefaults]],
    [
      'a type that is not theirs',
      [
        { ...ofServices, name: 'one' },
        { ...ofServices, name: 'other', owns: [SECRETS] },
      ],
    ],
  ])('may be for %s', (_, controllers) => {
    expect(() => operator({ name: 'shops', controllers })).not.toThrow();
  });

  it.each([
    [
      'write the status',
      [
        { ...one, status: () => ({}) },
        { ...other, ...declaring },
      ],
      'the controllers one and other for shops.example.com have status or children, and only one of them may',
    ],
    [
      'leave it alone',
      [one, other],
      'none of the controllers one and other for shops.example.com has status or children',
    ],
    [
      'have one finalizer',
      [
        { ...one, status: () => ({}), finalizer: 'example.com/f' },
        { ...other, finalizer: 'example.com/f' },
      ],
      'need different finalizers, and not example.com/f twice',
    ],
    [
      'declare objects of one type',
      ['one', 'other'].map((name) => ({ ...ofServices, name })),
      'the controllers one and other for services both declare configmaps',
    ],
    [
      'hide their state by a selector',
      [
        { ...one, status: () => ({}) },
        { ...other, for: { ...Shop, labelSelector: 'a' }, finalizer: 'example.com/f' },
      ],
      'for Shop has a selector, which would hide a resource that has its finalizer or its state: use view',
    ],
    [
      'have names that are too long for their state',
      [
        { ...one, status: () => ({}) },
        { ...other, name: 'o'.repeat(63), finalizer: 'example.com/f' },
      ],
      'choose a shorter name',
    ],
  ])('must not both %s', (_, controllers, sentence) => {
    expect(() => operator({ name: 'shops', controllers })).toThrow(sentence);
  });

  it('have the rights of what each does', () => {
    const patches = (controller: typeof site) =>
      controller?.permissions
        .filter(({ verbs, resources }) => verbs.includes('patch') && resources[0]?.startsWith(Site.plural))
        .flatMap(({ resources }) => resources);
    expect(patches(site)).toEqual(['sites/status']);
    expect(new Set(patches(siteDefaults))).toEqual(new Set(['sites']));
  });

  it('have one definition of their kind', () => {
    expect(definitionsOf(program)).toEqual([Site.manifest]);
  });

  it('know the finalizers of each other', () => {
    expect(site?.otherFinalizers).toEqual(['example.com/site-defaults']);
    expect(siteDefaults?.otherFinalizers).toBeUndefined();
  });

  it('keep the generation that was observed in the state of the one that leaves the status', () => {
    const conditions = [
      {
        ...{ type: 'Ready', status: 'True', reason: 'AsSpecified', message: 'it is', observedGeneration: 3 },
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ];
    const view = siteDefaults?.primary.view({
      metadata: {
        ...{ namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '7', generation: 4 },
        annotations: {
          'state.durable-operator.dev/site-operator.site-defaults': JSON.stringify({
            version: 1,
            uid: 'u',
            conditions,
          }),
        },
      },
      spec: { text: 'hi' },
      status: { observedGeneration: 9, conditions: [] },
    });
    expect(view).toMatchObject({ generation: 4, observedGeneration: 3, conditions });
  });
});
