import { SPEC_HASH_ANNOTATION } from '../../src/controllers/git-build/kind.ts';
import { UNNAMED_ANNOTATION, type Controller } from './place.ts';
import type { Requests } from './requests.ts';

/** A policy that changes what the operator sends about one object. */
interface Policy {
  readonly controller: Controller;
  readonly requests: Requests;
  /** A merge patch of the body. */
  readonly patch: object;
}

export const POLICIES = {
  'label of Pod': {
    controller: 'pod-label',
    requests: { kind: 'write', resource: 'pods', method: 'PATCH' },
    patch: { metadata: { labels: null } },
  },
  // Such a Pod was never the PodSet's, and is left out of the state.
  'version of Pods': {
    controller: 'pod-set',
    requests: { kind: 'write', resource: 'pods', method: 'POST' },
    patch: { metadata: { labels: { version: 'v0.2' }, annotations: { [UNNAMED_ANNOTATION]: 'true' } } },
  },
  'owner of Pods': {
    controller: 'pod-set',
    requests: { kind: 'write', resource: 'pods' },
    patch: { metadata: { ownerReferences: null } },
  },
  'status of PodSet': {
    controller: 'pod-set',
    requests: { kind: 'write', resource: 'podsets', method: 'PATCH' },
    patch: { status: { podNames: null } },
  },
  'hash of Job': {
    controller: 'git-build',
    requests: { kind: 'write', resource: 'jobs', method: 'POST' },
    patch: { metadata: { annotations: { [SPEC_HASH_ANNOTATION]: null } } },
  },
  'finalizer of build': {
    controller: 'git-build',
    requests: { kind: 'write', resource: 'xxxes', method: 'PATCH' },
    patch: { metadata: { finalizers: null } },
  },
  'subjects of RoleBinding': {
    controller: 'namespace-role-binding',
    requests: { kind: 'write', resource: 'rolebindings' },
    patch: { subjects: [] },
  },
} satisfies Record<string, Policy>;

export type PolicyName = keyof typeof POLICIES;
