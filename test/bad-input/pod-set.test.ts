import { describe, expect, it } from '@jest/globals';
import { isObjectName } from '../../src/controllers/kinds.ts';
import { decidePodSet } from '../../src/controllers/pod-set/decide.ts';
import { podSetView } from '../../src/controllers/pod-set/resource.ts';
import {
  BAD_POD_SET_STATUSES,
  BAD_REPLICAS,
  GOOD_REPLICAS,
  ODD_POD_SET_STATUSES,
} from '../support/odd-values.ts';
import { aPodOf, aPodSet, NOW_MS } from '../support/pod-sets.ts';

const shown = (value: unknown) => JSON.stringify([value]).slice(0, 60);

/** What is done with one Pod there once the status says all that there is to say. */
function settled(given: object) {
  const pods = [aPodOf(aPodSet(), 'web-pod-a').view];
  let object = { ...aPodSet().object, ...given };
  const said = new Set<string>();
  for (;;) {
    const podSet = podSetView(object);
    const decision = decidePodSet(
      { podSet, pods, lookedFor: podSet.status.podNames.filter(isObjectName) },
      NOW_MS,
    );
    if (decision.do !== 'updateStatus') return decision.do;
    const text = JSON.stringify(decision.status);
    expect(said).not.toContain(text);
    said.add(text);
    object = { ...object, status: { ...podSet.status, ...decision.status } };
  }
}

describe('a PodSet', () => {
  it.each(GOOD_REPLICAS)('with %j replicas is scaled', (replicas) => {
    expect(['deletePods', 'converged', 'createPods']).toContain(settled({ spec: { replicas } }));
    expect(aPodSet().wanting(replicas).view.spec).toEqual({ replicas });
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
