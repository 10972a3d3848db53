import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVAL_ANNOTATION,
  APPROVED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../src/api/annotations.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { BUILD_KIND, BUILDS } from '../../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { POD_SET_KIND } from '../support/pod-sets.ts';
import type { ContentType } from '../../src/kubernetes/client.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { misleadingSequences, type DryRun, type Write } from '../support/answer-sequences.ts';
import { SAMPLE } from '../support/build-samples.ts';
import {
  NAMESPACES,
  SERVICE_ACCOUNTS,
  TestCluster,
  uniqueName,
  type At,
  type Manifest,
} from '../support/cluster.ts';
import { setUpPolicy } from '../support/policy-stage.ts';
import { grant, OPERATOR, revoke } from '../support/service-accounts.ts';
import { userNameOf, type ServiceAccount } from '../../testing/stack/service-account.ts';

/*
 * Two people with all rights on the resources, each with a token of their own, and somebody with the operator's: who may
 * say that who has approved.
 */

jest.setTimeout(120_000);

const UNNAMED = 'whoever approves or rejects must be named';
const BY_OPERATOR = 'the operator may neither approve nor reject';
const PLAN = '290-3f9c2a1b';

const people: TestCluster[] = [];
const role = uniqueName();
const { cluster, kubeconfigOf, thief, policy, inForce, expectSoundExpressions } = setUpPolicy(
  'durable-operator-approvals',
  async () => {
    await Promise.all(people.map((person) => person.close()));
    await revoke(cluster, role);
  },
);
let namespace: string;
let alice: TestCluster;
let bob: TestCluster;
const account = (name: string): ServiceAccount => ({ namespace, name });
const nameOf = (person: 'alice' | 'bob') => userNameOf(account(person));

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  const rules = [PodSetKind, BUILDS, NAMESPACES].map(({ group, plural }) => ({
    apiGroups: [group],
    resources: [plural, `${plural}/status`, `${plural}/finalize`, `${plural}/scale`],
    verbs: ['*'],
  }));
  await grant(cluster, { name: role, rules, accounts: ['alice', 'bob'].map(account) });
  [alice, bob] = [await aPerson('alice'), await aPerson('bob')];
  // One of its own each time: what was accepted would be no change the next time.
  await inForce(async () => alice.patch(await there('podset'), annotated({ [APPROVED_ANNOTATION]: PLAN })));
});

async function aPerson(name: string): Promise<TestCluster> {
  await cluster.create(SERVICE_ACCOUNTS, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace },
  });
  const person = new TestCluster(await kubeconfigOf(account(name)));
  people.push(person);
  return person;
}

type Kind = 'podset' | 'xxx' | 'namespace';
const KINDS: readonly Kind[] = ['podset', 'xxx', 'namespace'];

function manifestOf(kind: Kind, annotations: Readonly<Record<string, string>> = {}): Manifest {
  const metadata = { name: uniqueName(), annotations };
  switch (kind) {
    case 'podset':
      return { ...POD_SET_KIND, metadata: { ...metadata, namespace }, spec: { replicas: 0 } };
    case 'xxx':
      return { ...BUILD_KIND, metadata: { ...metadata, namespace }, spec: SAMPLE };
    case 'namespace':
      return { apiVersion: 'v1', kind: 'Namespace', metadata };
  }
}

const TYPES = { podset: PodSetKind, xxx: BUILDS, namespace: NAMESPACES } as const;

/** One that waits for approval. */
async function there(kind: Kind): Promise<At> {
  const { metadata } = await cluster.create(
    TYPES[kind],
    manifestOf(kind, { [APPROVAL_ANNOTATION]: 'required' }),
  );
  return {
    type: TYPES[kind],
    name: metadata.name,
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
  };
}

/** One that Alice has approved. */
async function approved(kind: Kind): Promise<At> {
  const at = await there(kind);
  await alice.patch(at, annotated(answer('alice')));
  return at;
}

const annotated = (annotations: Readonly<Record<string, string | null>>) => ({ metadata: { annotations } });
const answer = (by: 'alice' | 'bob') => ({
  [APPROVED_ANNOTATION]: PLAN,
  [ANSWERED_BY_ANNOTATION]: nameOf(by),
});
const annotationsOf = async (at: At) => (await cluster.get(at))?.metadata.annotations;

describe.each(KINDS)('of a %s, a person may', (kind) => {
  it('approve and reject in their own name, and say why', async () => {
    const at = await there(kind);
    const because = { ...answer('alice'), [ANSWERED_BECAUSE_ANNOTATION]: 'agreed in #shop' };
    await alice.patch(at, annotated(because));
    const rejected = {
      [APPROVED_ANNOTATION]: null,
      [REJECTED_ANNOTATION]: PLAN,
      [ANSWERED_BY_ANNOTATION]: nameOf('bob'),
      [ANSWERED_BECAUSE_ANNOTATION]: null,
    };
    await bob.patch(at, annotated(rejected));
    expect(await annotationsOf(at)).toMatchObject({
      [REJECTED_ANNOTATION]: PLAN,
      [ANSWERED_BY_ANNOTATION]: nameOf('bob'),
    });
  });
});

describe.each(KINDS)('of a %s, a person may not', (kind) => {
  it.each<[string, ContentType, (at: At) => unknown]>([
    [
      'server-side apply',
      'application/apply-patch+yaml',
      ({ name }) => {
        const { apiVersion, kind: type, metadata } = manifestOf(kind);
        return { apiVersion, kind: type, metadata: { ...metadata, name, annotations: answer('bob') } };
      },
    ],
    [
      'a JSON patch',
      'application/json-patch+json',
      () => [
        { op: 'add', path: `/metadata/annotations/${APPROVED_ANNOTATION.replace('/', '~1')}`, value: PLAN },
      ],
    ],
  ])('answer for another by %s', async (_, contentType, bodyFor) => {
    const at = await there(kind);
    const path = resourcePath(at.type, at);
    const query = contentType === 'application/apply-patch+yaml' ? { fieldManager: 'test', force: true } : {};
    const asked = alice.client.request({ method: 'PATCH', path, query, body: bodyFor(at), contentType });
    await expect(asked).rejects.toThrow(UNNAMED);
  });

  it('answer for another by an update of the whole', async () => {
    const at = await there(kind);
    const current = await alice.get(at);
    const body = {
      ...current,
      metadata: { ...current?.metadata, annotations: { ...current?.metadata.annotations, ...answer('bob') } },
    };
    const asked = alice.client.request({ method: 'PUT', path: resourcePath(at.type, at), body });
    await expect(asked).rejects.toThrow(UNNAMED);
  });

  it('answer for another by a write of the status', async () => {
    const at = await there(kind);
    await alice.patch(at, annotated(answer('bob')), 'status').catch((error: unknown) => {
      expect(String(error)).toContain(UNNAMED);
    });
    expect(await annotationsOf(at)).toEqual({ [APPROVAL_ANNOTATION]: 'required' });
  });
});

describe('after any sequence of requests by two people', () => {
  it('an answer names whose request it was, and nobody approves by removing a rejection', async () => {
    const people = [nameOf('alice'), nameOf('bob')];
    expect(await misleadingSequences({ people, plan: PLAN, reach })).toEqual([]);
  });

  async function reach(path: readonly Write[]): Promise<DryRun> {
    let name: string | undefined;
    for (const write of path) ({ name } = (await request(name, write)).metadata);
    return async (write) => {
      try {
        return (await request(name, write, { dryRun: 'All' })).metadata.annotations ?? {};
      } catch (error) {
        expect(String(error)).toContain(policy);
        return undefined;
      }
    };
  }

  function request(name: string | undefined, { person, change }: Write, query = {}) {
    const { client } = person === nameOf('alice') ? alice : bob;
    if (name !== undefined) {
      const path = resourcePath(PodSetKind, { namespace, name });
      return client.request<KubernetesObject>({ method: 'PATCH', path, query, body: annotated(change) });
    }
    const written = Object.entries(change).flatMap(([key, value]): [string, string][] =>
      value === null ? [] : [[key, value]],
    );
    const body = manifestOf('podset', Object.fromEntries(written));
    const path = resourcePath(PodSetKind, { namespace });
    return client.request<KubernetesObject>({ method: 'POST', path, query, body });
  }
});

describe('of a Namespace, a person may not', () => {
  it('answer for another by its subresource "finalize"', async () => {
    const at = await there('namespace');
    const current = await alice.get(at);
    const body = { ...current, metadata: { ...current?.metadata, annotations: answer('bob') } };
    const path = `${resourcePath(at.type, at)}/finalize`;
    await expect(alice.client.request({ method: 'PUT', path, body })).rejects.toThrow(UNNAMED);
  });
});

describe('whoever has the token of the operator may not', () => {
  it.each<[what: string, by: () => Readonly<Record<string, string | null>>]>([
    [
      'approve in its own name',
      () => ({ [APPROVED_ANNOTATION]: PLAN, [ANSWERED_BY_ANNOTATION]: userNameOf(OPERATOR) }),
    ],
    ['approve in the name of a person', () => answer('alice')],
    ['approve without a name', () => ({ [APPROVED_ANNOTATION]: PLAN })],
    ['take an answer back', () => ({ [APPROVED_ANNOTATION]: null, [ANSWERED_BY_ANNOTATION]: null })],
  ])('%s', async (_, annotations) => {
    // Of the three, it may change only builds.
    const at = await approved('xxx');
    const change = { ...annotations(), [ANSWERED_BECAUSE_ANNOTATION]: 'x' };
    await expect(thief.patch(at, annotated(change))).rejects.toThrow(BY_OPERATOR);
    await expect(thief.patch(at, { metadata: { labels: { a: 'b' } } })).resolves.toBeDefined();
  });
});

describe('the policy', () => {
  it('has only valid expressions', expectSoundExpressions);
});
