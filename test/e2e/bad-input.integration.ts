import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { fieldsOf } from '../../src/controllers/fields.ts';
import type { Condition } from '../../src/controllers/condition.ts';
import { BUILD_KIND, BUILDS, type Build } from '../../src/controllers/git-build/resource.ts';
import { checkSpec } from '../../src/controllers/git-build/spec.ts';
import { POD_SET_KIND, POD_SETS, podSetView, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { resourcePath, type ResourceType } from '../../src/kubernetes/paths.ts';
import { faultsOf, propertyOf, schemaIn } from '../support/bad-input/schema.ts';
import { patched, stored } from '../support/bad-input/stored.ts';
import { anyOf, goodOf, runs, SEED } from '../support/bad-input/values.ts';
import {
  BUILD_SPEC,
  BUILD_STATUS,
  isBeyondAdmission,
  POD_SET_SPEC,
  POD_SET_STATUS,
} from '../support/bad-input/worlds.ts';
import { aBuild, BUILD_DEFAULTS, JOBS, SAMPLE } from '../support/builds.ts';
import { uniqueName, type At, type Manifest } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { apiCallsOf, ownLogs } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(240_000);
const WITHIN_MS = 60_000;

const stage = setUpOperator({});
const { stack, cluster } = stage;

/** Where all is as it should be, whatever happens elsewhere. */
let wellFormed: string;
/** What was tried in all, for whoever reads the log of a run. */
const tally = { accepted: 0, refused: 0, sequences: 0 };

beforeAll(async () => {
  wellFormed = await cluster.aNamespace();
});

/** What the API server makes of a request; undefined where it refuses it for what it holds. */
async function answered<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    const answer = await request;
    tally.accepted += 1;
    return answer;
  } catch (error) {
    if (!(error instanceof ApiError) || error.classification !== 'refused') throw error;
    tally.refused += 1;
    return undefined;
  }
}

/** What it would make of a create, or of a patch of the status. */
function asked<T>(type: ResourceType, manifest: Manifest): Promise<T | undefined> {
  const path = resourcePath(type, { namespace: wellFormed });
  return answered(
    cluster.client.request<T>({ method: 'POST', path, query: { dryRun: 'All' }, body: manifest }),
  );
}

const names = fc.constantFrom('web', 'a'.repeat(62), 'b'.repeat(63), 'c'.repeat(64), 'd'.repeat(253));

/** Whole specs, and good ones with one field of any kind. */
function specsOf(schema: typeof BUILD_SPEC, good: object): fc.Arbitrary<unknown> {
  const one = Object.keys(good).map((field) =>
    anyOf(propertyOf(schema, field)).map((value): unknown => ({ ...good, [field]: value })),
  );
  return fc.oneof({ weight: 5, arbitrary: fc.oneof(...one) }, { weight: 1, arbitrary: anyOf(schema) });
}

/** Not in the messages of failures alone: another seed is `BAD_INPUT_SEED`. */
describe(`admission agrees with the schema and with the operator's own check (seed ${SEED})`, () => {
  it('of each field of an Xxx', async () => {
    await fc.assert(
      fc.asyncProperty(names, specsOf(BUILD_SPEC, SAMPLE), async (name, spec) => {
        const metadata = { name, namespace: wellFormed };
        const accepted = await asked<Build>(BUILDS, { ...BUILD_KIND, metadata, spec });
        const isGood = faultsOf(BUILD_SPEC, stored(spec)).length === 0;
        expect({ spec, isAccepted: accepted !== undefined }).toEqual({ spec, isAccepted: isGood });
        if (accepted === undefined) expect(checkSpec(spec, BUILD_DEFAULTS).ok).toBe(false);
        else expect(accepted.spec).toEqual(patched({}, fieldsOf(spec)));
        const checked = checkSpec(stored(spec), BUILD_DEFAULTS);
        const problems = checked.ok ? [] : checked.problems;
        if (isGood) expect(problems.filter((each) => !isBeyondAdmission(each))).toEqual([]);
      }),
      { ...runs(250), endOnFailure: true },
    );
  });

  it('of each field of a PodSet', async () => {
    const schema = schemaIn('podsets.yaml');
    await fc.assert(
      fc.asyncProperty(names, specsOf(POD_SET_SPEC, { replicas: 1 }), async (name, spec) => {
        const manifest = { ...POD_SET_KIND, metadata: { name, namespace: wellFormed }, spec };
        const accepted = await asked<PodSet>(POD_SETS, manifest);
        const isGood = faultsOf(schema, stored(manifest)).length === 0;
        expect({ manifest, isAccepted: accepted !== undefined }).toEqual({ manifest, isAccepted: isGood });
        const metadata = { ...manifest.metadata, uid: '', resourceVersion: '' };
        expect('invalid' in podSetView({ ...stored({ spec }), metadata }).spec).toBe(!isGood);
      }),
      { ...runs(150), endOnFailure: true },
    );
  });
});

/** Null takes the status away; and a field, where it stands for one. */
function isGoodPatch(schema: typeof BUILD_STATUS, status: unknown): boolean {
  if (status === undefined || status === null) return true;
  if (typeof status !== 'object' || Array.isArray(status)) return false;
  return faultsOf(schema, patched({}, status)).length === 0;
}

/** One edit of a resource. */
interface Change {
  readonly to: 'spec' | 'status';
  readonly fields: object;
}

/** The fields of a merge patch, each of any kind. */
function patchesOf(schema: typeof BUILD_SPEC, good: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  const { properties = {} } = schema;
  const one = Object.entries(properties).map(([field, property]) =>
    anyOf(property).map((value): object => ({ [field]: value ?? null })),
  );
  return fc.oneof(fc.oneof(...one), good.map(fieldsOf));
}

function changesOf(
  spec: fc.Arbitrary<object>,
  status: fc.Arbitrary<object>,
): fc.Arbitrary<readonly Change[]> {
  const change = fc.oneof(
    { weight: 5, arbitrary: fc.record({ to: fc.constant('spec' as const), fields: spec }) },
    { weight: 1, arbitrary: fc.record({ to: fc.constant('status' as const), fields: status }) },
  );
  return fc.array(change, { minLength: 5, maxLength: 8 });
}

interface Resource extends KubernetesObject {
  readonly spec?: object;
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

/** One resource of which anything may be asked, in a namespace of its own. */
class Sequence {
  readonly at: At & { readonly namespace: string };
  #changes = 0;

  constructor(at: At & { readonly namespace: string }) {
    this.at = at;
  }

  async get(): Promise<Resource> {
    const object = await cluster.get<Resource>(this.at);
    if (object === undefined) throw new Error(`${this.at.name} is gone`);
    return object;
  }

  /** What is refused leaves all as it was; and refused is what should be. */
  async make(
    change: Change,
    schemas: { readonly spec: typeof BUILD_SPEC; readonly status: typeof BUILD_SPEC },
  ) {
    this.#changes += 1;
    const before = await this.get();
    const subresource = change.to === 'status' ? change.to : undefined;
    const patch = cluster.patch(this.at, { [change.to]: change.fields }, subresource);
    const isAccepted = (await answered(patch)) !== undefined;
    const after = patched(before[change.to] ?? {}, change.fields);
    // A status moves on meanwhile.
    const isGood =
      change.to === 'spec'
        ? faultsOf(schemas.spec, after).length === 0
        : isGoodPatch(schemas.status, stored(change.fields));
    expect({ change, isAccepted }).toEqual({ change, isAccepted: isGood });
  }

  /** Waits until this is said of the very spec that is there. */
  async rests(isResting: (resource: Resource) => boolean): Promise<Resource> {
    let last: Resource | undefined;
    const resting = async () => {
      last = await this.get();
      const isCurrent = last.status?.observedGeneration === last.metadata.generation;
      return isCurrent && isResting(last) && last;
    };
    return eventually(resting, WITHIN_MS).catch((error: unknown) => {
      throw new Error(`it stayed ${JSON.stringify(last).slice(0, 3000)}`, { cause: error });
    });
  }

  /** What the operator has asked of its namespace, Events apart: no more than so much for each change. */
  expectFewRequests(): void {
    const calls = apiCallsOf('operator', stack.auditLog).filter(
      ({ objectRef, verb }) =>
        objectRef?.namespace === this.at.namespace && objectRef.resource !== 'events' && verb !== 'watch',
    );
    const writes = calls.filter(({ verb }) => verb !== 'get' && verb !== 'list');
    const changes = this.#changes + 2;
    expect({ writes: Math.max(writes.length, changes * 15) }).toEqual({ writes: changes * 15 });
    expect({ calls: Math.max(calls.length, changes * 60) }).toEqual({ calls: changes * 60 });
  }
}

function conditionOf({ status }: Resource, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

function isStalled(resource: Resource, reason: string): boolean {
  const { status, reason: why, message = '' } = conditionOf(resource, 'Stalled') ?? {};
  return status === 'True' && why === reason && message !== '';
}

function isReady(resource: Resource): boolean {
  return (
    conditionOf(resource, 'Ready')?.status === 'True' && conditionOf(resource, 'Stalled')?.status === 'False'
  );
}

/** Those that were left as they were; in the end, none of them is a trap. */
const left: { readonly sequence: Sequence; readonly good: object }[] = [];

/** After a sequence, while what it has left stays as it is: one like it, as it should be, gets all that it should. */
async function expectNoDelay(sequence: Sequence, canary: Manifest): Promise<void> {
  const before = await sequence.get();
  const { type } = sequence.at;
  await cluster.create(type, canary);
  const at = { type, namespace: wellFormed, name: canary.metadata.name };
  await new Sequence(at).rests(isReady);
  const after = await sequence.get();
  expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  await cluster.delete(at);
}

describe('each change from any state to any other is refused at admission, or a condition names the problem', () => {
  it('of an Xxx', async () => {
    const good = goodOf(BUILD_SPEC).map((spec): unknown => ({ ...SAMPLE, ...fieldsOf(spec) }));
    const changes = changesOf(patchesOf(BUILD_SPEC, good), patchesOf(BUILD_STATUS, goodOf(BUILD_STATUS)));
    await fc.assert(
      fc.asyncProperty(names, changes, async (name, some) => {
        const namespace = await cluster.aNamespace();
        await cluster.create(BUILDS, aBuild(namespace, name).manifest);
        const sequence = new Sequence({ type: BUILDS, namespace, name });
        for (const change of some) await sequence.make(change, { spec: BUILD_SPEC, status: BUILD_STATUS });
        const { spec } = await sequence.rests(isRestingBuild);
        if (!checkSpec(spec, BUILD_DEFAULTS).ok) expect(await unfinishedJobsIn(namespace)).toEqual([]);
        await expectNoDelay(
          sequence,
          aBuild(wellFormed, uniqueName()).with({ jobName: uniqueName() }).manifest,
        );
        sequence.expectFewRequests();
        left.push({ sequence, good: SAMPLE });
        tally.sequences += 1;
      }),
      { ...runs(6), endOnFailure: true },
    );
  });

  it('of a PodSet', async () => {
    const changes = changesOf(
      patchesOf(POD_SET_SPEC, fc.record({ replicas: fc.nat({ max: 3 }) })),
      patchesOf(POD_SET_STATUS, goodOf(POD_SET_STATUS)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('web', 'b'.repeat(63)), changes, async (name, some) => {
        const namespace = await cluster.aNamespace();
        await limitPodsIn(namespace);
        await cluster.create(POD_SETS, aPodSet().in(namespace).named(name).manifest);
        const sequence = new Sequence({ type: POD_SETS, namespace, name });
        for (const change of some)
          await sequence.make(change, { spec: POD_SET_SPEC, status: POD_SET_STATUS });
        await sequence.rests(isRestingPodSet);
        await expectNoDelay(sequence, aPodSet().in(wellFormed).named(uniqueName()).wanting(2).manifest);
        sequence.expectFewRequests();
        left.push({ sequence, good: { replicas: 2 } });
        tally.sequences += 1;
      }),
      { ...runs(6), endOnFailure: true },
    );
  });
});

/** Built; or a condition says why not. */
function isRestingBuild(build: Resource): boolean {
  const checked = checkSpec(build.spec, BUILD_DEFAULTS);
  return checked.ok ? isReady(build) : isStalled(build, 'InvalidSpec');
}

const QUOTA = 8;

function isRestingPodSet({ spec, ...rest }: Resource): boolean {
  const replicas = Number(fieldsOf(spec)['replicas']);
  return replicas > QUOTA ? isStalled({ ...rest, spec: {} }, 'CreateFailed') : isReady({ ...rest, spec: {} });
}

async function limitPodsIn(namespace: string): Promise<void> {
  const type = { group: '', version: 'v1', plural: 'resourcequotas' };
  const metadata = { name: 'few', namespace };
  const spec = { hard: { pods: String(QUOTA) } };
  await cluster.create(type, { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec });
  await eventually(async () => {
    expect((await cluster.get({ type, ...metadata }))?.['status']).toMatchObject({ hard: spec.hard });
    return true;
  }, WITHIN_MS);
}

async function unfinishedJobsIn(namespace: string): Promise<readonly string[]> {
  const path = resourcePath(JOBS, { namespace });
  const { items } = await cluster.client.request<{ items: readonly Resource[] }>({ method: 'GET', path });
  return items
    .filter((job) => conditionOf(job, 'Complete') === undefined && conditionOf(job, 'Failed') === undefined)
    .map(({ metadata }) => metadata.name);
}

describe('in the end', () => {
  it('each resource recovers with a valid spec, and can be deleted', async () => {
    expect(left.length).toBeGreaterThan(8);
    await Promise.all(
      left.map(async ({ sequence, good }) => {
        await cluster.patch(sequence.at, { spec: good });
        await sequence.rests(isReady);
        await cluster.delete(sequence.at);
        await eventually(async () => (await cluster.get(sequence.at)) === undefined, WITHIN_MS);
      }),
    );
  });

  it('the operator is the same process, ready, and has logged no error', async () => {
    const { operator } = stage;
    expect(await operator.readiness()).toMatchObject({ status: 200 });
    expect(() => process.kill(operator.pid, 0)).not.toThrow();
    expect(ownLogs(operator, 'error', 'fatal')).toEqual([]);
    expect(operator.logs.filter(({ raw }) => raw !== undefined)).toEqual([]);
    expect(Math.min(tally.accepted, tally.refused)).toBeGreaterThan(40);
    process.stderr.write(`bad input, seed ${SEED}: ${JSON.stringify(tally)}\n`);
  });
});
