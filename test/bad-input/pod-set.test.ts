import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { podNames } from '../../activities/pod-names.ts';
import { labelsFor, podView } from '../../src/controllers/pod-set/pod.ts';
import { podSet as controller } from '../../src/controllers/pod-set/controller.ts';
import { podSetView } from '../../src/controllers/pod-set/resource.ts';
import { faultsOf, schemaIn } from '../support/bad-input/schema.ts';
import { stored } from '../support/bad-input/stored.ts';
import { anyOf, runs } from '../support/bad-input/values.ts';
import {
  oddPodSetWorld,
  POD_SET_SPEC,
  POD_SET_STATUS,
  POD_SET_UID,
  settled,
} from '../support/bad-input/worlds.ts';
import { NOW_MS } from '../support/pod-sets.ts';

const META = { namespace: 'shop', uid: POD_SET_UID, resourceVersion: '1', generation: 3 };
const names = fc.oneof(
  fc.constantFrom(...[1, 62, 63, 64, 253].map((length) => 'a'.repeat(length))),
  fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,70}[a-z0-9])?$/),
);
const podSets = fc.record({
  metadata: names.map((name) => ({ ...META, name })),
  spec: fc.oneof({ weight: 4, arbitrary: anyOf(POD_SET_SPEC) }, { weight: 1, arbitrary: fc.object() }),
  status: fc.oneof({ weight: 4, arbitrary: anyOf(POD_SET_STATUS) }, { weight: 1, arbitrary: fc.object() }),
});

const costs = fc.oneof(
  fc.constantFrom(
    '0',
    '-1',
    '2147483647',
    '2147483648',
    '-2147483649',
    '1e3',
    '+1',
    '007',
    '',
    ' 1',
    'NaN',
    '１',
  ),
  fc.string({ unit: 'binary' }),
);
const pods = fc.record({
  name: names,
  cost: costs,
  labels: fc.constantFrom(labelsFor('web'), {}, { app: 'web' }),
  owned: fc.boolean(),
  phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown', 'Odd'),
});

function podViewsOf(some: readonly (typeof pods extends fc.Arbitrary<infer T> ? T : never)[]) {
  return some.flatMap(({ name, cost, labels, owned, phase }, place) => {
    const controlling = { apiVersion: 'v1', kind: 'PodSet', name: 'web', uid: META.uid, controller: true };
    const annotations = { 'controller.kubernetes.io/pod-deletion-cost': cost };
    const ownerReferences = owned ? [controlling] : [];
    const metadata = { ...META, name, uid: `pod-${place}`, labels, annotations, ownerReferences };
    return podView({ metadata, status: { phase } }, 'web') ?? [];
  });
}

describe('the check of a PodSet before use', () => {
  it('agrees with admission', () => {
    const schema = schemaIn('podsets.yaml');
    const verdicts = { good: 0, bad: 0 };
    fc.assert(
      fc.property(podSets, (given) => {
        const object = stored({ ...given, status: {} });
        const view = podSetView(object);
        const isRefused = 'invalid' in view.spec;
        verdicts[isRefused ? 'bad' : 'good'] += 1;
        expect({ object, isRefused }).toEqual({ object, isRefused: faultsOf(schema, object).length > 0 });
      }),
      runs(600),
    );
    expect(Math.min(verdicts.good, verdicts.bad)).toBeGreaterThan(30);
  });
});

describe('whatever a PodSet or a Pod holds', () => {
  it('it is viewed and decided on without an error, and says each thing once', () => {
    const odd = fc.tuple(
      podSets,
      fc.array(pods, { maxLength: 4 }),
      fc.option(fc.string(), { nil: undefined }),
    );
    fc.assert(
      fc.property(odd, ([given, others, refusal]) => {
        const { spec, metadata } = given;
        let status: unknown = stored(given.status ?? {});
        const said: string[] = [];
        for (;;) {
          const view = podSetView({ metadata, ...stored({ spec, status }) });
          const observation = controller.observation(view, podViewsOf(others));
          const decision = controller.decide(
            { ...observation, ...(refusal !== undefined && { refusal }) },
            NOW_MS,
          );
          if (decision.do === 'createPods') {
            expect(faultsOf(schemaIn('podsets.yaml'), { metadata, spec })).toEqual([]);
            expect(podNames(view, new Set()).next().value.length).toBeLessThanOrEqual(253);
          }
          if (decision.do !== 'updateStatus') return;
          said.push(JSON.stringify(decision.status));
          expect(said).toEqual([...new Set(said)]);
          expect(faultsOf(POD_SET_STATUS, decision.status)).toEqual([]);
          status = stored(decision.status);
        }
      }),
      runs(300),
    );
  });

  it('counts as its deletion cost what the API server takes for an int32, and else nothing', () => {
    fc.assert(
      fc.property(costs, (cost) => {
        const [view] = podViewsOf([
          { name: 'a', cost, labels: labelsFor('web'), owned: true, phase: 'Running' },
        ]);
        const isInt32 =
          /^-?\d+$/.test(cost) && String(Number(cost)) === cost && Math.abs(Number(cost) + 0.5) < 2 ** 31;
        expect(view?.deletionCost).toBe(isInt32 ? Number(cost) : 0);
      }),
      runs(300),
    );
  });

  it('it comes to a rest: one that admission refuses has a condition that says so, and no Pod', async () => {
    const few = anyOf(POD_SET_SPEC).filter((spec) => faultsOf(POD_SET_SPEC, spec).length > 0 || isFew(spec));
    await fc.assert(
      fc.asyncProperty(few, async (spec) => {
        await settled(oddPodSetWorld({ spec: stored({ spec }).spec }));
      }),
      runs(40),
    );
  });

  it('and a status that somebody wrote by hand is put right', async () => {
    await fc.assert(
      fc.asyncProperty(anyOf(POD_SET_STATUS), async (status) => {
        await settled(oddPodSetWorld({ status: stored({ status }).status }));
      }),
      runs(40),
    );
  });
});

function isFew(spec: unknown): boolean {
  return JSON.stringify(spec).length < '{"replicas":10}'.length;
}
