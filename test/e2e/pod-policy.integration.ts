import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { OwnerReference } from '../../src/api/object.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { podSetReference, labelsFor } from '../../src/controllers/pod-set/pod.ts';
import type { ContentType, Query } from '../../src/kubernetes/client.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { PODS, SERVICE_ACCOUNTS, type TestCluster } from '../support/cluster.ts';
import { aPod, type PodBuilder } from '../support/pods.ts';
import { setUpPolicy } from '../support/policy-stage.ts';

/*
 * What somebody who has the operator's token tries with Pods, with exactly its permissions. The
 * tests of pod-label and pod-set run under the same policy and show that it stops nothing that the operator does.
 */

jest.setTimeout(120_000);

const IMAGE = 'example.com/other';

const { cluster, policy, thief, inForce, expectSoundExpressions } = setUpPolicy(
  'durable-operator-pods',
  async () => {
    await Promise.all(kept.map(free));
  },
);
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  // Then the containers are as they are written here, without a volume for the token.
  const account = { type: SERVICE_ACCOUNTS, namespace, name: 'default' };
  await cluster.patch(account, { automountServiceAccountToken: false });
  const name = await there(aPod().named('first'));
  await inForce(() => patch(name, otherImage()));
});

let pods = 0;
/** Those that cannot be deleted. */
const kept: string[] = [];

/** Made by a person. @returns its name */
async function there(pod: PodBuilder): Promise<string> {
  const name = `web-${(pods += 1)}`;
  await cluster.create(PODS, pod.in(namespace).named(name).manifest);
  return name;
}

/** The owners are not there: but for the finalizer, the garbage collector would delete it at once. */
async function ownedPod(pod: PodBuilder, ownerReferences: readonly object[]): Promise<string> {
  const name = `owned-${(pods += 1)}`;
  const { metadata, ...rest } = pod.in(namespace).named(name).heldBy('example.com/keep').manifest;
  await cluster.create(PODS, { ...rest, metadata: { ...metadata, ownerReferences } });
  kept.push(name);
  return name;
}

function free(name: string): Promise<unknown> {
  return cluster.patch({ type: PODS, namespace, name }, { metadata: { finalizers: null } });
}

const pathOf = (name: string, subresource?: 'status') =>
  resourcePath(PODS, { namespace, name, ...(subresource && { subresource }) });

/** Nothing is kept, but all of it is checked. */
function patch(
  name: string,
  body: unknown,
  { as = thief, contentType, query }: { as?: TestCluster; contentType?: ContentType; query?: Query } = {},
): Promise<unknown> {
  return as.client.request({
    method: 'PATCH',
    path: pathOf(name),
    query: { dryRun: 'All', ...query },
    body,
    ...(contentType && { contentType }),
  });
}

const otherImage = () => ({ spec: { containers: [{ name: 'web', image: IMAGE }] } });
const labels = (all: Readonly<Record<string, string | null>>) => ({ metadata: { labels: all } });
const nameLabel = (value: string | null) => labels({ [POD_NAME_LABEL]: value });
const owners = (...ownerReferences: readonly object[]) => ({ metadata: { ownerReferences } });

const POD_SET = podSetReference({ name: 'set', uid: 'uid-of-set' });
const OTHER: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'uid-of-other' };
const MEMBER = aPod().labelled(labelsFor('set'));
const LOST = aPod().labelled({ ...labelsFor('set'), app: 'under-inspection' });

/** What a Pod is before, besides what its builder says. */
type Case = readonly [what: string, pod: PodBuilder, owners: readonly object[], change: object];

describe('whoever has the token of the operator may', () => {
  it('give a Pod its name as a label where the annotation asks for it', async () => {
    const name = await there(aPod().annotated());
    await expect(patch(name, nameLabel(name))).resolves.toMatchObject(nameLabel(name));
  });

  it('remove the name of a Pod as a label where the annotation does not ask for it', async () => {
    const name = await nameLabelled(aPod().annotated('false'));
    await expect(patch(name, nameLabel(null))).resolves.toBeDefined();
  });

  it.each<Case>([
    ['adopt a Pod that has the labels of a PodSet', MEMBER, [], owners(POD_SET)],
    ['release a Pod that has lost the labels', LOST, [POD_SET], owners()],
  ])('%s', async (_what, pod, ownerReferences, change) => {
    const name = await ownedPod(pod, ownerReferences);
    await expect(patch(name, change)).resolves.toBeDefined();
  });
});

const SPEC = 'may not change the spec of a Pod';
const LABELS = `may change no label of a Pod but ${POD_NAME_LABEL}`;
const NAME_LABEL = `may change the label ${POD_NAME_LABEL} only to the name of the Pod`;
const OWNERS = 'may only make a PodSet the controller of a Pod that has its labels and no controller';
const REST = 'may change nothing else in the metadata of a Pod';

describe('whoever has the token of the operator may not', () => {
  it.each<readonly [what: string, pod: PodBuilder, change: object, why: string]>([
    ['change the image', aPod(), otherImage(), SPEC],
    ['change the image of one of a PodSet', MEMBER, { ...owners(POD_SET), ...otherImage() }, SPEC],
    ['add a label', aPod(), labels({ app: 'payments' }), LABELS],
    ['remove a label', MEMBER, labels({ app: null }), LABELS],
    ['add the label that the annotation does not ask for', aPod(), nameLabel('first'), NAME_LABEL],
    ['give it the name of another Pod', aPod().annotated(), nameLabel('first'), NAME_LABEL],
    [
      'remove the label of another name',
      aPod().labelled({ [POD_NAME_LABEL]: 'first' }),
      nameLabel(null),
      NAME_LABEL,
    ],
    [
      'remove the label that the annotation asks for',
      aPod()
        .annotated()
        .labelled({ [POD_NAME_LABEL]: 'first' }),
      nameLabel(null),
      NAME_LABEL,
    ],
    ['add an annotation', aPod(), { metadata: { annotations: { 'example.com/a': 'b' } } }, REST],
    ['ask for the label', aPod(), { metadata: { annotations: { [POD_NAME_ANNOTATION]: 'true' } } }, REST],
    [
      'change an annotation',
      aPod().annotated(),
      { metadata: { annotations: { [POD_NAME_ANNOTATION]: 'no' } } },
      REST,
    ],
    ['add a finalizer', aPod(), { metadata: { finalizers: ['example.com/keep'] } }, REST],
    ['remove a finalizer', aPod().heldBy('example.com/keep'), { metadata: { finalizers: null } }, REST],
  ])('%s', async (_what, pod, change, why) => {
    const name = await there(pod);
    await expect(patch(name, change)).rejects.toThrow(`${policy} with binding`);
    await expect(patch(name, change)).rejects.toThrow(why);
    await free(name);
  });

  it.each<Case>([
    ['let something else own it', MEMBER, [], owners(OTHER)],
    ['let something else control it', MEMBER, [], owners({ ...OTHER, controller: true })],
    ['let a PodSet of another group control it', MEMBER, [], owners({ ...POD_SET, apiVersion: 'apps/v1' })],
    ['let a PodSet control it that does not wait for it', MEMBER, [], owners(withoutBlocking())],
    ['let a PodSet of another name control it', MEMBER, [], owners({ ...POD_SET, name: 'other' })],
    ['adopt one that does not have the labels', aPod(), [], owners(POD_SET)],
    ['adopt one and take its other owners from it', MEMBER, [OTHER], owners(POD_SET)],
    ['adopt one that somebody else controls', MEMBER, [controlling()], owners(POD_SET)],
    ['take one that another PodSet controls', MEMBER, [{ ...POD_SET, uid: 'other' }], owners(POD_SET)],
    ['release one that has the labels', MEMBER, [POD_SET], owners()],
    ['release one and take its other owners from it', LOST, [POD_SET, OTHER], owners()],
    ['release one of another controller', LOST, [controlling()], owners()],
  ])('%s', async (_what, pod, ownerReferences, change) => {
    const name = await ownedPod(pod, ownerReferences);
    await expect(patch(name, change)).rejects.toThrow(`${policy} with binding`);
    await expect(patch(name, change)).rejects.toThrow(OWNERS);
  });
});

describe('others are not restricted', () => {
  it('a person may change anything', async () => {
    const name = await there(MEMBER);
    const change = {
      metadata: { labels: { app: null }, annotations: { a: 'b' }, ...owners(OTHER).metadata },
    };
    await expect(patch(name, { ...otherImage(), ...change }, { as: cluster })).resolves.toBeDefined();
  });
});

describe('the policy', () => {
  it('has only valid expressions', expectSoundExpressions);
});

/** Created under another annotation, or none. */
async function nameLabelled(pod: PodBuilder): Promise<string> {
  const name = await there(pod);
  await cluster.patch({ type: PODS, namespace, name }, nameLabel(name));
  return name;
}

function withoutBlocking(): object {
  return { ...POD_SET, blockOwnerDeletion: undefined };
}

function controlling(): object {
  return { ...OTHER, controller: true };
}
