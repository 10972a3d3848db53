import { describe, expect, it } from '@jest/globals';
import { BUILDS } from '../src/controllers/git-build/kind.ts';
import { LIMITS } from '../src/controllers/git-build/kind.ts';

describe('the definition of Xxx', () => {
  it.each(Object.entries(LIMITS))('has the limits that are checked again before use: %s', (field, limit) => {
    const schema = `spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.${field}`;
    expect(BUILDS.manifest).toHaveProperty(`${schema}.minLength`, 1);
    expect(BUILDS.manifest).toHaveProperty(`${schema}.maxLength`, limit.maxLength);
    expect(BUILDS.manifest).toHaveProperty(`${schema}.x-kubernetes-validations.0`, {
      rule: `self.matches(r'${limit.pattern}')`,
      message: `spec.${field} must ${limit.rule}`,
    });
  });
});
