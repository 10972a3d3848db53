import { PAUSED_ANNOTATION } from '../../src/contract/control.ts';
import type { ResourceType } from '../../src/contract/controller.ts';
import {
  BUILD_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  BUILDS,
  PURPOSE_LABEL,
} from '../../src/controllers/git-build/resource.ts';
import {
  JOBS,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  ROLE_BINDINGS,
} from '../../src/controllers/kinds.ts';
import { labelsFor } from '../../src/controllers/pod-set/pod.ts';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { aBuild } from './builds.ts';
import type { Manifest } from './cluster.ts';
import { aPodSet } from './pod-sets.ts';
import { aPod } from './pods.ts';
import { aRoleBinding } from './role-bindings.ts';

/** The PodSet and the build that the Pods and Jobs claim to belong to. */
export const CLAIMED = 'crowd';

/** Together almost the 256 KiB that the annotations of one object may have. */
const LARGE = {
  'durable-operator.dev/x': 'x'.repeat(125 * 1024),
  'example.com/x': 'x'.repeat(125 * 1024),
};
const OF_A_BUILD = {
  [MANAGED_BY_LABEL]: MANAGED_BY,
  [BUILD_UID_LABEL]: 'uid-of-nothing',
  [PURPOSE_LABEL]: 'build',
};

export interface LargeKind {
  readonly type: ResourceType;
  readonly manifest: (namespace: string, name: string) => Manifest;
}

/** Objects of every kind that the operator watches. The Pods are of interest to three controllers. */
export const LARGE_KINDS: readonly LargeKind[] = [
  { type: PODS, manifest: largePod },
  { type: JOBS, manifest: (namespace, name) => ofABuild({ namespace, name }, suspendedJob()) },
  {
    type: POD_SETS,
    manifest: (namespace, name) => large(aPodSet().in(namespace).named(name).wanting(0).manifest),
  },
  {
    // Paused: a thousand Jobs would be a test of something else.
    type: BUILDS,
    manifest: (namespace, name) => large(aBuild(namespace, name).manifest, { [PAUSED_ANNOTATION]: 'true' }),
  },
  {
    type: ROLE_BINDINGS,
    manifest: (namespace, name) => large(renamed(aRoleBinding(namespace).manifest, name)),
  },
  {
    type: RESOURCE_QUOTAS,
    manifest: (namespace, name) =>
      large({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { namespace, name }, spec: { hard: {} } }),
  },
  {
    type: NAMESPACES,
    manifest: (namespace, name) =>
      large({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${namespace}-${name}` } }),
  },
];

export function largePod(namespace: string, name: string): Manifest {
  const { metadata, ...pod } = aPod().in(namespace).named(name).manifest;
  return ofABuild(metadata, pod);
}

function ofABuild(metadata: Manifest['metadata'], rest: object): Manifest {
  const labels = { ...OF_A_BUILD, ...labelsFor(CLAIMED) };
  return large({ ...rest, metadata: { ...metadata, labels } }, { [BUILD_NAME_ANNOTATION]: CLAIMED });
}

function suspendedJob() {
  const podSpec = { restartPolicy: 'Never', containers: [{ name: 'build', image: 'busybox' }] };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    spec: { suspend: true, template: { spec: podSpec } },
  };
}

function large(manifest: Manifest, annotations: Readonly<Record<string, string>> = {}): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, annotations: { ...LARGE, ...annotations } } };
}

function renamed(manifest: Manifest, name: string): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, name } };
}
