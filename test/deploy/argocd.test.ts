import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { KubernetesObject } from '../../src/api/object.ts';
import { luaLiteral, textFromLua } from '../support/lua.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { STATES } from '../support/states.ts';

const ConfigMap = z.object({
  kind: z.literal('ConfigMap'),
  metadata: z.object({ name: z.literal('argocd-cm') }),
  data: z.record(z.string(), z.string()),
});

const file = new URL('../../deploy/argocd/argocd-cm.yaml', import.meta.url);
const { data } = ConfigMap.parse(parse(readFileSync(file, 'utf8')));

/** As Argo CD finds the script of a kind, and calls it: with the object as `obj`. */
function healthOf(object: KubernetesObject) {
  const [group] = (object.apiVersion ?? '').split('/');
  const script = data[`resource.customizations.health.${group}_${object.kind}`];
  if (script === undefined) throw new Error(`there is no script for ${group}_${object.kind}`);
  const answer = textFromLua(`
    local obj = ${luaLiteral(object)}
    local function check() ${script} end
    local health = check()
    return health.status .. ": " .. health.message`);
  const [status = '', ...message] = answer.split(': ');
  return { status, message: message.join(': ') };
}

/** Its one condition is true. */
function podSetWith(type: string, message: string, { observedGeneration = 1 } = {}): KubernetesObject {
  const lastTransitionTime = '2026-01-01T12:00:00Z';
  const condition = { type, status: 'True', reason: 'Any', message, lastTransitionTime } as const;
  return aPodSet()
    .withStatus({ observedGeneration })
    .withCondition({ ...condition, observedGeneration }).object;
}

describe('to Argo CD', () => {
  it.each(STATES)('$name is $health', ({ object, health }) => {
    expect(healthOf(object).status).toBe(health);
  });

  it('a resource without a status is in progress', () => {
    for (const { object } of STATES) {
      expect(healthOf({ ...object, status: null })).toMatchObject({ status: 'Progressing' });
    }
  });

  it.each([
    [
      'a PodSet of which new Pods are refused: exceeded quota',
      'Degraded',
      'exceeded quota; raise the quota of namespace default, or ask for less',
    ],
    ['a PodSet that awaits approval', 'Suspended', 'would delete 290 Pods'],
  ])('%s says so in the words of the condition', (state, status, message) => {
    const [found] = STATES.filter(({ name }) => name === state);
    expect(found && healthOf(found.object)).toEqual({ status, message });
  });

  it('a ready resource, and one in progress, say so in the words of the condition', () => {
    const message = 'in its own words';
    expect(healthOf(podSetWith('Ready', message))).toEqual({ status: 'Healthy', message });
    expect(healthOf(podSetWith('Reconciling', message))).toEqual({ status: 'Progressing', message });
  });

  it('a resource in progress without such a condition has nothing to say', () => {
    expect(healthOf(podSetWith('Another', 'of no concern'))).toEqual({ status: 'Progressing', message: '' });
  });

  it('a resource of another generation waits for the operator, whatever its conditions say', () => {
    expect(healthOf(podSetWith('Ready', 'of an earlier spec', { observedGeneration: 0 }))).toEqual({
      status: 'Progressing',
      message: 'Waiting for the operator to observe the latest spec',
    });
  });

  it('all of Lua that the scripts use is in 5.1, which Argo CD has', () => {
    for (const script of Object.values(data)) {
      expect(script).not.toMatch(/\bgoto\b|\/\/|<const>|<close>|[&|]|::|utf8\.|table\.(pack|unpack|move)/);
    }
  });
});
