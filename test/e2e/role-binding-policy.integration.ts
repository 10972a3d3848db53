import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ContentType, Query } from '../../src/kubernetes/client.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { refOf, ROLE_BINDINGS, uniqueName, type Manifest } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { launchOperator } from '../support/operator.ts';
import { setUpPolicy } from '../support/policy-stage.ts';
import { aRoleBinding, OURS } from '../support/role-bindings.ts';
import { OPERATOR } from '../support/service-accounts.ts';

/*
 * What somebody who has the operator's token tries, with exactly its permissions. The other
 * end-to-end tests run under the same policy and show that it stops nothing that the operator does.
 */

jest.setTimeout(120_000);
const WITHIN_MS = 60_000;

const RBAC = 'rbac.authorization.k8s.io';

const { cluster, temporal, policy, thief, inForce, expectSoundExpressions } = setUpPolicy(
  'durable-operator-role-bindings',
);
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  await inForce(() => create(aRoleBinding(namespace).of('intruders').manifest));
});

const nameIn = (where: string) => `ad-kubernetes-${where}`;
const pathOf = (where: string, name?: string) => resourcePath(ROLE_BINDINGS, { namespace: where, name });

/** Nothing is kept, but all of it is checked. */
function create(manifest: object, where = namespace): Promise<unknown> {
  return thief.client.request({
    method: 'POST',
    path: pathOf(where),
    query: { dryRun: 'All' },
    body: manifest,
  });
}

const right = (): Manifest => aRoleBinding(namespace).manifest;
const group = (name: string) => ({ kind: 'Group', name, apiGroup: RBAC });

/** The wanted binding with something else in its metadata. */
const withMetadata = (more: object) => ({ ...right(), metadata: { ...right().metadata, ...more } });

describe('whoever has the token of the operator may create', () => {
  it('the RoleBinding that the namespace is to have', async () => {
    await expect(create(right())).resolves.toMatchObject({ metadata: { name: nameIn(namespace) } });
  });
});

const OTHER_NAME = 'may write no RoleBinding here but ad-kubernetes-';
const OTHER_GROUP = 'may bind only the Group ad-kubernetes-';
const OTHER_ROLE = 'may bind only the ClusterRole edit';
const NOT_OURS = 'may write only RoleBindings with the label app.kubernetes.io/managed-by=durable-operator';
const WAS_NOT_OURS = 'may change and delete only RoleBindings with the label';
const EXTRAS = 'may give a RoleBinding neither finalizers nor owner references';
const UNSELECTED = 'it is excluded, or not selected';

/** Of any other, the API server itself says that to bind it is an escalation. */
const ITS_OWN_ROLE = 'durable-operator-manager-role';

describe('whoever has the token of the operator may not create', () => {
  it.each<readonly [what: string, binding: () => object, why: string]>([
    ['one of another name', () => withMetadata({ name: 'mine' }), OTHER_NAME],
    ['one for system:masters', () => ofGroups('system:masters'), OTHER_GROUP],
    ['one for another team', () => ofGroups(nameIn('team-1')), OTHER_GROUP],
    ['one for nobody', () => of([]), OTHER_GROUP],
    ['one for a service account', () => of([{ kind: 'ServiceAccount', ...OPERATOR }]), OTHER_GROUP],
    ['one to a role whose rights it has itself', () => to('ClusterRole', ITS_OWN_ROLE), OTHER_ROLE],
    ['one without our label', () => aRoleBinding(namespace).foreign().manifest, NOT_OURS],
    ['one with a finalizer', () => withMetadata({ finalizers: ['example.com/keep'] }), EXTRAS],
  ])('%s', async (_what, binding, why) => {
    await aRoleNamed('edit');
    await expect(create(binding())).rejects.toThrow(`${policy} with binding`);
    await expect(create(binding())).rejects.toThrow(why);
  });

  const of = (subjects: readonly object[]) => ({ ...right(), subjects });
  const ofGroups = (...names: readonly string[]) => of(names.map(group));
  const to = (kind: string, name: string) => ({ ...right(), roleRef: { apiGroup: RBAC, kind, name } });

  /** With a right that the operator has: else the API server sees an escalation. */
  async function aRoleNamed(name: string): Promise<void> {
    const at = { type: { ...ROLE_BINDINGS, plural: 'roles' }, namespace, name };
    if ((await cluster.get(at)) !== undefined) return;
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }];
    await cluster.create(at.type, { kind: 'Role', metadata: { name, namespace }, rules });
  }
});

/** There before, made by a person. @returns where it is */
async function there(manifest: Manifest) {
  const { namespace: where = '', name } = manifest.metadata;
  await cluster.deleteAndWait({ type: ROLE_BINDINGS, namespace: where, name });
  await cluster.create(ROLE_BINDINGS, manifest);
  return { type: ROLE_BINDINGS, namespace: where, name };
}

const intruders = { subjects: [group('intruders')] };
const withoutLabel = { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } };

describe('whoever has the token of the operator may change', () => {
  it('the subjects of ours back to what they are to be', async () => {
    const at = await there(aRoleBinding(namespace).of('intruders').manifest);
    await expect(thief.patch(at, { subjects: right()['subjects'] })).resolves.toBeDefined();
  });

  it('ours in an excluded namespace to one that is not', async () => {
    const at = await there(aRoleBinding('kube-public').of('intruders').manifest);
    await expect(thief.patch(at, withoutLabel)).resolves.toBeDefined();
    await cluster.delete(at);
  });
});

describe('whoever has the token of the operator may not change', () => {
  it.each<readonly [what: string, binding: () => Manifest, change: () => object, why: string]>([
    ['the subjects of ours', right, () => intruders, OTHER_GROUP],
    ['ours to be somebody else’s, for others', right, () => ({ ...withoutLabel, ...intruders }), NOT_OURS],
    ['ours to be kept for ever', right, () => ({ metadata: { finalizers: ['example.com/keep'] } }), EXTRAS],
    ["somebody else's to be ours", foreign, () => ({ metadata: { labels: OURS } }), WAS_NOT_OURS],
    ["the subjects of somebody else's", foreign, () => intruders, WAS_NOT_OURS],
    ['one of another name that has our label', named('other'), () => intruders, OTHER_NAME],
    [
      'ours to be for the team, in an excluded namespace',
      () => aRoleBinding('kube-public').of('intruders').manifest,
      () => ({ subjects: [group(nameIn('kube-public'))] }),
      UNSELECTED,
    ],
    [
      'ours to be for the team, where it refers to another role',
      () => aRoleBinding(namespace).to(ITS_OWN_ROLE).of('intruders').manifest,
      () => ({ subjects: right()['subjects'] }),
      OTHER_ROLE,
    ],
  ])('%s', async (_what, binding, change, why) => {
    const at = await there(binding());
    const asked = () => thief.patch(at, change());
    await expect(asked()).rejects.toThrow(`${policy} with binding`);
    await expect(asked()).rejects.toThrow(why);
    await cluster.patch(at, { metadata: { finalizers: null } });
    await cluster.delete(at);
  });

  it.each<readonly [ContentType, body: () => unknown, query: Query]>([
    [
      'application/json-patch+json',
      () => [{ op: 'add', path: '/subjects/-', value: group('intruders') }],
      {},
    ],
    ['application/merge-patch+json', () => intruders, {}],
    [
      'application/apply-patch+yaml',
      () => aRoleBinding(namespace).of('intruders').manifest,
      { fieldManager: 'thief', force: true },
    ],
  ])('ours by %s', async (contentType, body, query) => {
    const { name } = await there(right());
    const path = pathOf(namespace, name);
    const asked = thief.client.request({ method: 'PATCH', path, query, body: body(), contentType });
    await expect(asked).rejects.toThrow(OTHER_GROUP);
  });
});

function foreign(): Manifest {
  return aRoleBinding(namespace).foreign().manifest;
}

function named(name: string): () => Manifest {
  return () => ({ ...right(), metadata: { ...right().metadata, name } });
}

const remove = (at: Awaited<ReturnType<typeof there>>) =>
  thief.client.request({ method: 'DELETE', path: resourcePath(at.type, at) });

describe('whoever has the token of the operator', () => {
  it('may delete ours where it refers to another role, which cannot be changed', async () => {
    const at = await there(aRoleBinding(namespace).to('view').manifest);
    await expect(remove(at)).resolves.toBeDefined();
    expect(await cluster.get(at)).toBeUndefined();
  });

  it.each<readonly [what: string, binding: () => Manifest, why: string]>([
    ['ours where it is as wanted', right, 'may delete a RoleBinding only where it refers to something else'],
    ["somebody else's", () => aRoleBinding(namespace).to('view').foreign().manifest, WAS_NOT_OURS],
    ['one of another name', named('other'), OTHER_NAME],
    ['one in an excluded namespace', () => aRoleBinding('kube-public').to('view').manifest, UNSELECTED],
  ])('may not delete %s', async (_what, binding, why) => {
    const at = await there(binding());
    await expect(remove(at)).rejects.toThrow(why);
    expect(await cluster.get(at)).toBeDefined();
    await cluster.delete(at);
  });
});

describe('others are not restricted', () => {
  it('a person may bind any group', async () => {
    await there(aRoleBinding('kube-public').of('intruders').foreign().manifest);
    await cluster.delete({ type: ROLE_BINDINGS, namespace: 'kube-public', name: nameIn('kube-public') });
  });
});

describe('the policy', () => {
  it('has only valid expressions', expectSoundExpressions);

  it('that does not know an option is named in the run and in an Event', async () => {
    const label = uniqueName();
    await launchOperator({
      args: [
        '--controllers=namespace-role-binding',
        `--namespace-selector=${label}`,
        '--role-binding-prefix=own-',
      ],
    });
    const about = await cluster.createNamespace(uniqueName(), { [label]: '' });
    const ref = refOf('namespace-role-binding', about);
    const words = `${policy} with binding`;
    await eventually(async () => {
      const { pendingActivities } = await temporal.openRunOf(ref);
      expect(pendingActivities).toMatchObject([{ type: 'createRoleBinding', lastFailure: 'Refused' }]);
      expect(pendingActivities[0]?.message).toContain(words);
      return true;
    }, WITHIN_MS);
    await eventually(async () => {
      const events = await cluster.eventsIn(about.metadata.name);
      expect(events.filter(({ regarding }) => regarding.uid === ref.uid)).toMatchObject([
        { type: 'Warning', reason: 'Refused', note: expect.stringContaining(words) },
      ]);
      return true;
    }, WITHIN_MS);
  });
});
