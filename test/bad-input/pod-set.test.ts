import { describe, expect, it } from '@jest/globals';
import { definedController } from '../../src/engine/defined-controller.ts';
import { podSet } from '../../src/controllers/pod-set/controller.ts';
import type { PodSetView } from '../../src/controllers/pod-set/decide.ts';
import {
  BAD_POD_SET_STATUSES,
  BAD_REPLICAS,
  GOOD_REPLICAS,
  ODD_POD_SET_STATUSES,
} from '../support/odd-values.ts';
import { aPodOf, aPodSet, NOW_MS } from '../support/pod-sets.ts';
import { statusIn, isStatusWrite } from '../support/status-write.ts';

const shown = (value: unknown) => JSON.stringify([value]).slice(0, 60);

const controller = definedController(podSet);

/** What is done with one Pod there once the status says all that there is to say. */
function settled(given: object) {
  const view = controller.children[0]?.view(aPodOf(aPodSet(), 'web-pod-a').object);
  let object = { ...aPodSet().object, ...given };
  const said = new Set<string>();
  for (;;) {
    const primary = controller.primary.view(object);
    if (primary === undefined || view === undefined) throw new Error('it is of no interest');
    const seen = controller.observation(primary, [view], object.metadata);
    if (seen === 'gone') throw new Error('it is gone');
    const podNames = (primary.resource?.view as PodSetView | undefined)?.podNames ?? [];
    const named = { names: podNames, found: [] };
    const decision = controller.decide({ ...seen, live: {}, lookups: { named } }, NOW_MS);
    if (!isStatusWrite(decision)) return decision.do;
    const written = statusIn(decision);
    const text = JSON.stringify(written);
    expect(said).not.toContain(text);
    said.add(text);
    object = { ...object, status: { ...primary.status, ...written } };
  }
}

describe('a PodSet', () => {
  it.each(GOOD_REPLICAS)('with %j replicas is scaled', (replicas) => {
    expect(['deletePods', 'converged', 'createPods']).toContain(settled({ spec: { replicas } }));
    expect(aPodSet().wanting(replicas).view.resource?.view).toMatchObject({ replicas });
  });

  it.each(BAD_REPLICAS)('with %j replicas is stalled, and loses no Pod', (replicas) => {
    expect(settled({ spec: { replicas } })).toBe('stalled');
  });

  it.each([undefined, null, 'x', 7, []])('with the spec %j is stalled', (spec) => {
    expect(settled({ spec })).toBe('stalled');
  });

  it.each([...ODD_POD_SET_STATUSES, ...BAD_POD_SET_STATUSES, null, 'x', 7, []].map((s) => [shown(s), s]))(
    'with the status %s has it put right',
    (_, status) => {
      expect(settled({ status })).toBe('converged');
    },
  );
});
