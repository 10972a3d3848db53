import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { Condition } from '../../src/engine/condition.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { BUILD_KIND, BUILDS } from '../../src/controllers/git-build/kind.ts';
import { checkSpec } from '../../src/controllers/git-build/spec.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { isOf } from '../../src/kubernetes/errors.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { aBuild, BUILD_DEFAULTS, SAMPLE } from '../support/builds.ts';
import { uniqueName, type At, type Manifest } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import * as odd from '../support/odd-values.ts';
import { apiCallsOf, ownLogs } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(240_000);
const WITHIN_MS = 60_000;

const stage = setUpOperator({});
const { stack, cluster } = stage;

/** Where all is as it should be, whatever happens elsewhere. */
let wellFormed: string;

beforeAll(async () => {
  wellFormed = await cluster.aNamespace();
});

/** Whether the API server accepts a request, or refuses it for what it holds. */
function isAccepted(request: Promise<unknown>): Promise<boolean> {
  return request.then(
    () => true,
    (error: unknown) => {
      if (!isOf(error, 'refused')) throw error;
      return false;
    },
  );
}

/** What it would make of a create. */
function tried(type: PathType, manifest: Manifest): Promise<boolean> {
  const path = resourcePath(type, { namespace: wellFormed });
  return isAccepted(
    cluster.client.request({ method: 'POST', path, query: { dryRun: 'All' }, body: manifest }),
  );
}

describe('admission agrees with the table, and with the check before use', () => {
  it('of each field of an Xxx', async () => {
    for (const { field, value } of [...odd.GOOD_SPECS, ...odd.BAD_SPECS]) {
      const spec = { ...SAMPLE, [field]: value };
      const checked = checkSpec(spec, BUILD_DEFAULTS);
      const isGood = checked.ok || checked.problems.every(odd.isBeyondAdmission);
      const manifest = { ...BUILD_KIND, metadata: { name: 'web', namespace: wellFormed }, spec };
      const verdict = { field, value, isAccepted: await tried(BUILDS, manifest) };
      expect(verdict).toEqual({ field, value, isAccepted: isGood });
    }
  });

  it('of the name and the replicas of a PodSet', async () => {
    const set = aPodSet().in(wellFormed);
    for (const [replicas, isGood] of [
      ...odd.GOOD_REPLICAS.map((each) => [each, true] as const),
      ...odd.BAD_REPLICAS.map((each) => [each, false] as const),
    ]) {
      const verdict = { replicas, isAccepted: await tried(PodSetKind, set.wanting(replicas).manifest) };
      expect(verdict).toEqual({ replicas, isAccepted: isGood });
    }
    for (const length of [63, 64, 253])
      expect(await tried(PodSetKind, set.named('n'.repeat(length)).manifest)).toBe(length === 63);
  });
});

interface Resource extends KubernetesObject {
  readonly spec?: object;
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

async function get(at: At): Promise<Resource> {
  const object = await cluster.get<Resource>(at);
  if (object === undefined) throw new Error(`${at.name} is gone`);
  return object;
}

/** Waits until this is said of the very spec that is there. */
function rests(at: At, isResting: (resource: Resource) => boolean): Promise<Resource> {
  return eventually(async () => {
    const resource = await get(at);
    return (
      resource.status?.observedGeneration === resource.metadata.generation && isResting(resource) && resource
    );
  }, WITHIN_MS);
}

function conditionOf({ status }: Resource, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

function isReady(resource: Resource): boolean {
  return (
    conditionOf(resource, 'Ready')?.status === 'True' && conditionOf(resource, 'Stalled')?.status === 'False'
  );
}

function isInvalid(resource: Resource): boolean {
  const { status, reason } = conditionOf(resource, 'Stalled') ?? {};
  return status === 'True' && reason === 'InvalidSpec';
}

/** What the operator has written in a namespace, Events apart. */
function writesIn(namespace: string): number {
  return apiCallsOf('operator', stack.auditLog).filter(
    ({ objectRef, verb }) =>
      objectRef?.namespace === namespace &&
      objectRef.resource !== 'events' &&
      !['get', 'list', 'watch'].includes(verb),
  ).length;
}

interface Case {
  readonly type: PathType;
  readonly statuses: readonly object[];
  readonly badStatuses: readonly object[];
  readonly make: (namespace: string, name: string) => Manifest;
}

const CASES: readonly (readonly [kind: string, Case])[] = [
  [
    'Xxx',
    {
      type: BUILDS,
      statuses: odd.ODD_BUILD_STATUSES,
      badStatuses: odd.BAD_BUILD_STATUSES,
      make: (namespace, name) => aBuild(namespace, name).with({ jobName: name }).manifest,
    },
  ],
  [
    'PodSet',
    {
      type: PodSetKind,
      statuses: odd.ODD_POD_SET_STATUSES,
      badStatuses: odd.BAD_POD_SET_STATUSES,
      make: (namespace, name) => aPodSet().in(namespace).named(name).manifest,
    },
  ],
];

describe.each(CASES)('the status of an %s', (_, { type, statuses, badStatuses, make }) => {
  let at: At & { readonly namespace: string };

  beforeAll(async () => {
    const namespace = await cluster.aNamespace();
    at = { type, namespace, name: uniqueName() };
    await cluster.create(type, make(namespace, at.name));
    await rests(at, isReady);
  });

  const patched = (status: object) => isAccepted(cluster.patch(at, { status }, 'status'));

  it('is refused at admission where it breaks the schema', async () => {
    for (const status of badStatuses)
      expect({ status, is: await patched(status) }).toEqual({ status, is: false });
    for (const [conditions, isGood] of [
      [odd.GOOD_CONDITIONS, true],
      [odd.BAD_CONDITIONS, false],
    ] as const)
      for (const { field, value } of conditions) {
        const is = await patched({ conditions: [{ ...odd.CONDITION, [field]: value }] });
        expect({ field, value, is }).toEqual({ field, value, is: isGood });
      }
    const twice = { conditions: [odd.CONDITION, { ...odd.CONDITION, reason: 'Again' }] };
    expect(await patched(twice)).toBe(false);
  });

  it('is put right whatever somebody writes by hand, by few writes, and delays no other', async () => {
    const before = writesIn(at.namespace);
    for (const status of statuses) {
      expect({ status, is: await patched(status) }).toEqual({ status, is: true });
      const isPutRight = (resource: Resource) => {
        const now = fieldsOf(resource.status);
        return Object.entries(status).some(([field, value]) => !isDeepStrictEqual(now[field], value));
      };
      await rests(at, (resource) => isReady(resource) && isPutRight(resource));
    }
    const canary = { type, namespace: wellFormed, name: uniqueName() };
    await cluster.create(type, make(wellFormed, canary.name));
    await rests(canary, isReady);
    expect(writesIn(at.namespace) - before).toBeLessThan(15 * statuses.length);
  });

  it('keeps nothing from being deleted', async () => {
    expect(await patched(statuses[0] ?? {})).toBe(true);
    await cluster.delete(at);
    await eventually(async () => (await cluster.get(at)) === undefined, WITHIN_MS);
  });
});

describe('in the end', () => {
  it('a spec that only the operator refuses is in a condition, and a valid one is built', async () => {
    const [namespace, name] = [await cluster.aNamespace(), uniqueName()];
    await cluster.create(
      BUILDS,
      aBuild(namespace, name).with({ gitUrl: 'file:///etc', jobName: name }).manifest,
    );
    const at = { type: BUILDS, namespace, name };
    await rests(at, isInvalid);
    await cluster.patch(at, { spec: SAMPLE });
    await rests(at, isReady);
  });

  it('the operator is the same process, ready, and has logged no error', async () => {
    const { operator } = stage;
    expect(await operator.readiness()).toMatchObject({ status: 200 });
    expect(() => process.kill(operator.pid, 0)).not.toThrow();
    expect(ownLogs(operator, 'error', 'fatal')).toEqual([]);
    expect(operator.logs.filter(({ raw }) => raw !== undefined)).toEqual([]);
  });
});
