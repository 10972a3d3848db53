import { describe, expect, it } from '@jest/globals';
import { buildDefinition } from '../deploy/crd/git-build.ts';
import { podSetDefinition } from '../deploy/crd/pod-set.ts';
import { LIMITS } from '../src/controllers/git-build/spec.ts';
import { BUILD_KIND, BUILDS } from '../src/controllers/git-build/resource.ts';
import { POD_SET_KIND, POD_SETS } from '../src/controllers/pod-set/resource.ts';

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
