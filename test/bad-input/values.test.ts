import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { conditionOf, faultsOf, leavesOf, schemaIn } from '../support/bad-input/schema.ts';
import { anyOf, goodOf, runs } from '../support/bad-input/values.ts';

const SCHEMAS = { 'podsets.yaml': schemaIn('podsets.yaml'), 'xxxes.yaml': schemaIn('xxxes.yaml') };
/** What the API server itself fills in or checks. */
const OF_THE_SERVER = ['apiVersion', 'kind', 'metadata'];

const fields = Object.entries(SCHEMAS).flatMap(([file, schema]) =>
  [...leavesOf(schema)]
    .filter(([path]) => !OF_THE_SERVER.includes(path))
    .map(([path, leaf]) => ({ field: `${file} ${path}`, leaf })),
);

describe('the generators', () => {
  it('know each field of both CRDs', () => {
    expect(fields.map(({ field }) => field)).toEqual([
      'podsets.yaml spec.replicas',
      'podsets.yaml status.podNames[]',
      'podsets.yaml status.readyReplicas',
      'podsets.yaml status.selector',
      'podsets.yaml status.observedGeneration',
      ...CONDITION.map((field) => `podsets.yaml status.conditions[].${field}`),
      'podsets.yaml status.lastHandledReconcileAt',
      'podsets.yaml status.lastHandledApproval',
      'xxxes.yaml spec.gitUrl',
      'xxxes.yaml spec.clonePath',
      'xxxes.yaml spec.buildCommand',
      'xxxes.yaml spec.binaryName',
      'xxxes.yaml spec.jobName',
      'xxxes.yaml status.phase',
      'xxxes.yaml status.jobName',
      'xxxes.yaml status.binaryName',
      'xxxes.yaml status.artifacts[].node',
      'xxxes.yaml status.artifacts[].binary',
      'xxxes.yaml status.startTime',
      'xxxes.yaml status.completionTime',
      'xxxes.yaml status.message',
      'xxxes.yaml status.observedGeneration',
      ...CONDITION.map((field) => `xxxes.yaml status.conditions[].${field}`),
      'xxxes.yaml status.workflowId',
      'xxxes.yaml status.lastHandledReconcileAt',
      'xxxes.yaml status.lastHandledApproval',
    ]);
  });

  it('know each rule of both CRDs', () => {
    for (const schema of Object.values(SCHEMAS)) {
      const all = [schema, ...leavesOf(schema).values()];
      const rules = all.flatMap((each) => each['x-kubernetes-validations'] ?? []);
      expect(rules).not.toEqual([]);
      for (const { rule } of rules) expect(() => conditionOf(rule)).not.toThrow();
    }
    expect(() => conditionOf('self.size() > 3')).toThrow('no generator knows such a rule');
  });

  it.each(fields)('make values of $field that are good, and at its limits', ({ leaf }) => {
    const lengths = new Set<number>();
    fc.assert(
      fc.property(goodOf(leaf), (value) => {
        expect(faultsOf(leaf, value)).toEqual([]);
        lengths.add(typeof value === 'string' ? Array.from(value).length : Number(value));
      }),
      runs(80),
    );
    const { maxLength, minimum } = leaf;
    if (maxLength !== undefined)
      expect([...lengths]).toEqual(expect.arrayContaining([maxLength, maxLength - 1]));
    if (minimum !== undefined) expect(lengths).toContain(minimum);
    if (leaf.format === 'int32') expect(lengths).toContain(2 ** 31 - 1);
  });

  it.each(fields)('make values of $field that are bad, in each way in which they may be', ({ leaf }) => {
    const faults = new Set<string>();
    const types = new Set<string>();
    fc.assert(
      fc.property(anyOf(leaf), (value) => {
        for (const fault of faultsOf(leaf, value)) faults.add(fault);
        types.add(value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);
      }),
      runs(leaf['x-kubernetes-validations'] === undefined ? 400 : 1500),
    );
    expect([...types]).toEqual(
      expect.arrayContaining(['string', 'number', 'boolean', 'null', 'list', 'object', 'undefined']),
    );
    expect([...faults].sort()).toEqual(
      [
        ...(leaf.type === 'string' ? ['it is no text'] : ['it is no such integer']),
        ...((leaf.minLength ?? 0) > 0 ? ['it is too short'] : []),
        ...(leaf.maxLength !== undefined ? ['it is too long'] : []),
        ...(leaf.pattern !== undefined ? ['it does not match'] : []),
        ...(leaf.enum !== undefined ? ['it is none of the choices'] : []),
        ...(leaf.format === 'date-time' ? ['it is no time'] : []),
        ...(leaf['x-kubernetes-validations'] ?? []).map(({ rule }) => `it breaks ${rule}`),
      ].sort(),
    );
  });
});

const CONDITION = ['type', 'status', 'observedGeneration', 'lastTransitionTime', 'reason', 'message'];
