import { describe, expect, it } from '@jest/globals';
import type { ResourceType } from '../../src/api/resource-type.ts';
import type { OwnerReference } from '../../src/api/object.ts';
import {
  CLUSTER_ROLES,
  controllerOf,
  EVENTS,
  isObjectName,
  JOBS,
  keyOf,
  NAMESPACES,
  NODES,
  PODS,
  RESOURCE_QUOTAS,
  ROLE_BINDINGS,
} from '../../src/api/kinds.ts';

describe('a type of Kubernetes’ own is what kubectl api-resources prints', () => {
  // NAME, SHORTNAMES, APIVERSION, NAMESPACED, KIND
  it.each([
    ['namespaces      ns     v1                            false  Namespace', NAMESPACES],
    ['nodes           no     v1                            false  Node', NODES],
    ['pods            po     v1                            true   Pod', PODS],
    ['resourcequotas  quota  v1                            true   ResourceQuota', RESOURCE_QUOTAS],
    ['jobs                   batch/v1                      true   Job', JOBS],
    ['events          ev     events.k8s.io/v1              true   Event', EVENTS],
    ['clusterroles           rbac.authorization.k8s.io/v1  false  ClusterRole', CLUSTER_ROLES],
    ['rolebindings           rbac.authorization.k8s.io/v1  true   RoleBinding', ROLE_BINDINGS],
  ])('%s', (printed, type) => {
    const [name, ...columns] = printed.split(/ +/);
    const shortNames = columns.length > 3 ? columns.shift()?.split(',') : [];
    expect([type.plural, apiVersionOf(type), String(type.namespaced), type.kind]).toEqual([name, ...columns]);
    expect(shortNames).toEqual(expect.arrayContaining([...(type.shortNames ?? [])]));
  });

  function apiVersionOf({ group, version }: ResourceType): string {
    return group === '' ? version : `${group}/${version}`;
  }
});

/** Kubernetes docs, "Object Names and IDs", DNS subdomains. */
describe('the name of an object', () => {
  it.each([
    'a',
    '1',
    'web',
    'web-pod-x7',
    'a--b',
    'a.b',
    '10.0.0.1',
    'node-1.eu-west.example',
    'a'.repeat(253),
  ])('may be %s', (name) => {
    expect(isObjectName(name)).toBe(true);
  });

  it.each([
    '',
    'Web',
    'web_1',
    '-web',
    'web-',
    '.web',
    'web.',
    'a..b',
    'a.-b',
    'a-.b',
    'a.b-',
    'a'.repeat(254),
    // In a path, these would lead elsewhere.
    '../secrets',
    'web/status',
    'web?watch',
    'web%2f',
    'web\n',
  ])('is never %j', (name) => {
    expect(isObjectName(name)).toBe(false);
  });
});

describe('the controller of an object', () => {
  const owner = (name: string, controller?: boolean): OwnerReference => {
    const reference = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: `uid-of-${name}` };
    return controller === undefined ? reference : { ...reference, controller };
  };
  const withOwners = (...ownerReferences: OwnerReference[]) =>
    controllerOf({ name: 'web', uid: 'uid-1', resourceVersion: '7', ownerReferences });

  it('is the one among its owners that says so', () => {
    expect(withOwners(owner('a'), owner('b', false), owner('c', true))).toEqual(owner('c', true));
  });

  it('is nobody where its owners only keep it from being collected, or it has none', () => {
    expect(withOwners(owner('a'), owner('b', false))).toBeUndefined();
    expect(controllerOf({ name: 'web', uid: 'uid-1', resourceVersion: '7' })).toBeUndefined();
  });
});

it('an object is known by its namespace and name, and by its name alone where it is in no namespace', () => {
  expect(keyOf({ namespace: 'shop', name: 'web' })).toBe('shop/web');
  expect(keyOf({ name: 'team-1' })).toBe('team-1');
});
