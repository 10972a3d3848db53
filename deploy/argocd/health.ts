import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResourceType } from '../../src/api/resource-type.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';

/** One script for both kinds: their conditions mean the same. */
const SCRIPT = readFileSync(join(import.meta.dirname, 'health.lua'), 'utf8');

/**
 * Additions to Argo CD's own ConfigMap. Source: Argo CD, "Resource Health", "Define a Custom Health Check in argocd-cm
 * ConfigMap".
 */
export const healthChecks = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'argocd-cm',
    namespace: 'argocd',
    labels: { 'app.kubernetes.io/name': 'argocd-cm', 'app.kubernetes.io/part-of': 'argocd' },
  },
  data: Object.fromEntries([PodSetKind, BUILDS].map((type) => [keyOf(type), SCRIPT])),
};

function keyOf({ group, kind }: ResourceType): string {
  return `resource.customizations.health.${group}_${kind}`;
}
