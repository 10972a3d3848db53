import { describe, expect, it } from '@jest/globals';
import { buildDefinition } from '../deploy/crd/git-build.ts';
import { podSetDefinition } from '../deploy/crd/pod-set.ts';
import { objectOf, type SchemaOf } from '../deploy/crd/schema.ts';
import { LIMITS } from '../src/controllers/git-build/spec.ts';
import { BUILD_KIND, BUILDS } from '../src/controllers/git-build/resource.ts';
import { POD_SET_KIND, POD_SETS } from '../src/controllers/pod-set/resource.ts';

interface Example {
  readonly name: string;
  readonly size?: number;
  readonly mode: 'fast' | 'slow';
  readonly parts: readonly { readonly id: string }[];
}

const name = { type: 'string', description: 'A name.' } as const;
const size = { type: 'integer', format: 'int32', description: 'A size.' } as const;
const mode = { type: 'string', enum: ['fast', 'slow'], description: 'A mode.' } as const;
const parts: SchemaOf<Example['parts']> = {
  type: 'array',
  description: 'The parts.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['id'],
  items: objectOf<{ readonly id: string }>({ description: 'A part.', properties: { id: name } }),
};
const properties = { name, size, mode, parts };
const description = 'An example.';

describe('the schema of a type', () => {
  it('requires every field that is not said to be optional', () => {
    const some = objectOf<Example>({ description, properties, optional: ['size'] });
    expect(some).toMatchObject({ type: 'object', required: ['name', 'mode', 'parts'], properties });
    expect(objectOf<Example>({ description, properties, optional: 'all' })).not.toHaveProperty('required');
  });

  /*
   * The compiler is what is tested: a line that it accepted after all would make its @ts-expect-error an error,
   * and `npm run types` fail.
   */
  it('does not compile where it differs from the type', () => {
    const wrong: SchemaOf<Example>['properties'][] = [
      // @ts-expect-error -- the type has `parts`
      { name, size, mode },
      // @ts-expect-error -- the type has `size`, if only at times
      { name, mode, parts },
      // @ts-expect-error -- the type has no `more`
      { ...properties, more: name },
      // @ts-expect-error -- `name` is text
      { ...properties, name: size },
      // @ts-expect-error -- `size` is a number
      { ...properties, size: name },
      // @ts-expect-error -- `mode` is one of a few
      { ...properties, mode: name },
      // @ts-expect-error -- `mode` is none of these
      { ...properties, mode: { ...mode, enum: ['fast', 'average'] } },
      // @ts-expect-error -- `parts` is a list
      { ...properties, parts: parts.items },
      // @ts-expect-error -- a part has no `name` to be told apart by
      { ...properties, parts: { ...parts, 'x-kubernetes-list-map-keys': ['name'] } },
      // @ts-expect-error -- it says nothing to `kubectl explain`
      { ...properties, name: { type: 'string' } },
    ];
    expect(wrong).toHaveLength(10);
  });
});

describe.each([
  [podSetDefinition, POD_SETS, POD_SET_KIND],
  [buildDefinition, BUILDS, BUILD_KIND],
])('the definition %#', (definition, { group, version, plural }, { apiVersion, kind }) => {
  it('is of the kind that its controller works on', () => {
    expect(definition.metadata.name).toBe(`${plural}.${group}`);
    expect(definition.spec).toMatchObject({
      group,
      names: { plural, kind, listKind: `${kind}List`, categories: ['durable-operator'] },
      scope: 'Namespaced',
      versions: [{ name: version, served: true, storage: true, subresources: { status: {} } }],
    });
    expect(apiVersion).toBe(`${group}/${version}`);
  });

  it('has conditions that are told apart by their type', () => {
    expect(definition).toHaveProperty(
      'spec.versions.0.schema.openAPIV3Schema.properties.status.properties.conditions',
      expect.objectContaining({
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    );
  });
});

describe.each([podSetDefinition, buildDefinition])('a status of the definition %#', (definition) => {
  const status = definition.spec.versions[0]?.schema.openAPIV3Schema.properties.status;

  it('has observed no generation before the first reconcile, so that it does not look current', () => {
    expect(status?.default).toEqual({ observedGeneration: -1 });
    expect(status?.properties.observedGeneration).toMatchObject({ minimum: -1 });
  });

  it('echoes annotations of a limited length', () => {
    expect(status?.properties.lastHandledReconcileAt).toMatchObject({ type: 'string', maxLength: 1024 });
    expect(status?.properties.lastHandledApproval).toMatchObject({ type: 'string', maxLength: 1024 });
  });
});

describe('the definition of PodSet', () => {
  it('has what an autoscaler needs', () => {
    expect(podSetDefinition.spec.versions[0]?.subresources).toEqual({
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.readyReplicas',
        labelSelectorPath: '.status.selector',
      },
    });
  });
});

describe('the definition of Xxx', () => {
  it.each(Object.entries(LIMITS))('has the limits that are checked again before use: %s', (field, limit) => {
    const schema = `spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.${field}`;
    expect(buildDefinition).toHaveProperty(`${schema}.minLength`, 1);
    expect(buildDefinition).toHaveProperty(`${schema}.maxLength`, limit.maxLength);
    expect(buildDefinition).toHaveProperty(`${schema}.x-kubernetes-validations.0`, {
      rule: `self.matches(r'${limit.pattern}')`,
      message: `spec.${field} must ${limit.rule}`,
    });
  });
});
