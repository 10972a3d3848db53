import { describe, expect, it } from '@jest/globals';
import { groupsOf, textOfPlan, type Plan } from '../../src/ask/plan/plan-lines.ts';
import type { PlannedWrite } from '../../src/ask/plan/rehearsal.ts';
import { stalled } from '../../src/runs/decision.ts';
import { aCause } from '../support/causes.ts';

const PODS = '/api/v1/namespaces/shop/pods';
const plain = (_: unknown, text: string) => text;

function created(name: string): PlannedWrite {
  const spec = { containers: [{ name: 'busybox' }] };
  const after = { apiVersion: 'v1', kind: 'Pod', metadata: { name, uid: 'u' }, spec };
  return { verb: 'create', path: `${PODS}/${name}`, before: undefined, after, isChecked: true };
}

function aPlan(changed: Partial<Plan>): Plan {
  const end = { is: 'rest', next: { do: 'converged', because: 'there are 2 Pods' } } as const;
  return { resource: 'PodSet shop/web', steps: [], end, ...changed };
}

describe('the writes of a plan', () => {
  it('are shown once where they differ only in the name', () => {
    const [group, ...others] = groupsOf([created('web-1'), created('web-2'), created('web-3')]);
    expect(others).toEqual([]);
    expect(group?.names).toEqual(['pods/web-1', 'pods/web-2', 'pods/web-3']);
    expect(group?.diff.split('\n')).toContain('+  name: web-1');
  });

  it('are a diff of the object, without what the server keeps for itself', () => {
    const before = {
      metadata: { name: 'web', resourceVersion: '7', managedFields: [{}] },
      status: { readyReplicas: 1 },
    };
    const after = { metadata: { name: 'web', resourceVersion: '8' }, status: { readyReplicas: 2 } };
    const path = '/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets/web/status';
    const [group] = groupsOf([{ verb: 'patch', path, before, after, isChecked: true }]);
    expect(group?.names).toEqual(['podsets/web/status']);
    const changed = group?.diff.split('\n').filter((line) => /^[+-]/.test(line));
    expect(changed).toEqual(['-  readyReplicas: 1', '+  readyReplicas: 2']);
  });

  it('are no difference where only the order of fields is another', () => {
    const ready = { type: 'Ready', status: 'True', reason: 'Up' };
    const write = (condition: object) => ({ metadata: { name: 'web' }, status: { conditions: [condition] } });
    const before = write({ reason: 'Up', status: 'True', type: 'Ready' });
    const [group] = groupsOf([{ verb: 'patch', path: '/x', before, after: write(ready), isChecked: true }]);
    expect(group?.diff).toBe('');
  });

  it('are in a namespace, which is named unless it is that of the resource', () => {
    const deleted = (namespace: string): PlannedWrite => ({
      ...{ ...created('web'), verb: 'delete', path: `/api/v1/namespaces/${namespace}/secrets/web` },
    });
    const [group] = groupsOf([deleted('shop'), deleted('a'), deleted('b')], 'shop');
    expect(group?.names).toEqual(['secrets/web', 'secrets/web in a', 'secrets/web in b']);
  });

  it('show no credentials', () => {
    const after = { kind: 'Job', metadata: { name: 'b' }, spec: { url: 'https://me:secret@host/repo.git' } };
    const [group] = groupsOf([{ verb: 'create', path: '/x', before: undefined, after, isChecked: true }]);
    expect(group?.diff).not.toContain('secret');
    expect(group?.diff).toContain('host/repo.git');
  });

  it('of a namespace keep its name', () => {
    const path = '/api/v1/namespaces/shop';
    const write: PlannedWrite = { verb: 'patch', path, before: {}, after: {}, isChecked: true };
    expect(groupsOf([write])[0]?.names).toEqual(['namespaces/shop']);
  });
});

describe('a plan as text', () => {
  it('does not call a step that it cannot try nothing', () => {
    const end = { is: 'outside', step: 'provision', because: 'there is none' } as const;
    expect(textOfPlan(aPlan({ end }), plain)).toMatch(/^PodSet shop\/web: 0 steps that can be tried/);
  });

  it('has the steps in their order, why each is needed, and where it ends', () => {
    const steps = [
      { step: 'createPods', because: '2 Pods are missing', writes: [created('web-1'), created('web-2')] },
      { step: 'deletePods', because: 'surplus', writes: [{ ...created('old'), verb: 'delete' as const }] },
    ];
    const lines = textOfPlan(aPlan({ steps }), plain).split('\n');
    expect(lines.filter((line) => !line.startsWith('     '))).toEqual([
      'PodSet shop/web: 2 steps',
      '',
      '1. createPods: 2 Pods are missing',
      '   create pods/web-1, pods/web-2',
      '',
      '2. deletePods: surplus',
      '   delete pods/old',
      '',
      'then: up to date: there are 2 Pods',
      '',
    ]);
  });

  it.each<{ readonly end: Plan['end']; readonly says: string }>([
    { end: { is: 'rest', next: { do: 'wait', for: 'Job b', recheckMs: 1 } }, says: 'it waits for Job b' },
    {
      end: { is: 'outside', step: 'provision', because: 'there is none' },
      says: 'provision: there is none; a plan cannot try it',
    },
    { end: { is: 'refused', words: 'quota' }, says: 'the API server refuses it: quota' },
    { end: { is: 'may not try', words: 'forbidden' }, says: 'the operator may have it: forbidden' },
    { end: { is: 'rest', next: stalled(aCause('too long')) }, says: 'it stalls: too long' },
  ])('says $says', ({ end, says }) => {
    expect(textOfPlan(aPlan({ end }), plain)).toContain(says);
  });
});
