import { BUILD_UID_LABEL, SPEC_HASH_ANNOTATION } from '../../src/controllers/git-build/kind.ts';
import type { Requests } from './requests.ts';
import { UNNAMED_ANNOTATION } from './place.ts';

/** Which requests an admission policy is about, and what it makes of them, as a merge patch of what was sent. */
interface Policy {
  readonly requests: Requests;
  readonly patch: object;
}

const write = (resource: string, method?: Requests['method']): Requests => ({
  kind: 'write',
  resource,
  ...(method && { method }),
});

/** What admission changes of what the operator sends. */
export const POLICIES = {
  'label of Pod': { requests: write('pods', 'PATCH'), patch: { metadata: { labels: null } } },
  // Such a Pod was never the PodSet's, and is left out of the state.
  'version of Pods': {
    requests: write('pods', 'POST'),
    patch: { metadata: { labels: { version: 'v0.2' }, annotations: { [UNNAMED_ANNOTATION]: 'true' } } },
  },
  'owner of Pods': { requests: write('pods'), patch: { metadata: { ownerReferences: null } } },
  'status of PodSet': { requests: write('podsets', 'PATCH'), patch: { status: { podNames: null } } },
  'label of Job': {
    requests: write('jobs', 'POST'),
    patch: {
      metadata: { labels: { [BUILD_UID_LABEL]: null } },
      spec: { template: { metadata: { labels: { [BUILD_UID_LABEL]: null } } } },
    },
  },
  'hash of Job': {
    requests: write('jobs', 'POST'),
    patch: { metadata: { annotations: { [SPEC_HASH_ANNOTATION]: null } } },
  },
  'finalizer of build': { requests: write('xxxes', 'PATCH'), patch: { metadata: { finalizers: null } } },
  'subjects of RoleBinding': { requests: write('rolebindings'), patch: { subjects: [] } },
} satisfies Record<string, Policy>;

export type Rewrite = keyof typeof POLICIES;

/** Source: RFC 7396, JSON Merge Patch. */
export function merged(target: unknown, patch: object): object {
  const before = isRecord(target) ? target : {};
  const changed = Object.entries(patch).map(([name, value]) => [
    name,
    isRecord(value) ? merged(before[name], value) : (value as unknown),
  ]);
  const after = { ...before, ...(Object.fromEntries(changed) as object) };
  return Object.fromEntries(Object.entries(after).filter(([, value]) => value !== null));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
