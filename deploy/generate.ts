import { join } from 'node:path';
import { BUILDS } from '../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../src/controllers/pod-set/kind.ts';
import { NAMESPACES } from '../src/api/kinds.ts';
import { durableOperator } from '../src/controllers/index.ts';
import { healthChecks } from './argocd/health.ts';
import { alertRules } from '../src/program/generate/alerts.ts';
import { approvalPolicy } from '../src/program/generate/approval-policy.ts';
import { kept } from '../src/program/generate/chart.ts';
import { definitionFiles, definitionsOf } from '../src/program/generate/field-schema.ts';
import { manifest, staleFiles, writeFiles, type Files } from '../src/program/generate/files.ts';
import { dashboard } from './monitoring/dashboard.ts';
import {
  changesBy,
  defaultControllers,
  watcherRules,
  workerRules,
} from '../src/program/generate/permissions.ts';
import { podPolicy } from './rbac/pod-policy.ts';
import { roleBindingPolicy } from './rbac/role-binding-policy.ts';
import { userRoles } from '../src/program/generate/user-roles.ts';

/*
 * Writes the files that follow from the code alone: `npm run generate`. With `--check` it writes nothing, and fails if a
 * committed file is stale. deploy/install.yaml needs Helm, so install.ts writes it, and a test says if it is stale.
 */

const ROOT = join(import.meta.dirname, '..');

/** The files that only the code decides: their paths in the project, and their texts. */
export function generatedFiles(): Files {
  return new Map([
    ['deploy/argocd/argocd-cm.yaml', manifest(healthChecks)],
    ...definitionFiles(durableOperator, 'deploy/crd'),
    ['deploy/helm/files/crds.yaml', manifest(...definitionsOf(durableOperator).map(kept))],
    ['deploy/helm/files/permissions.yaml', manifest(permissions())],
    ['deploy/helm/files/admission_policies.yaml', manifest(ADMISSION_POLICIES)],
    ['deploy/helm/files/alerts.yaml', manifest(ALERT_RULES)],
    ['deploy/helm/files/dashboard.json', `${JSON.stringify(dashboard, null, 2)}\n`],
  ]);
}

/** The value `metrics.alerts.runbooks` of the chart replaces the page by a URL. */
export const RUNBOOK = 'docs/operating.md';
export const ALERT_RULES = alertRules({ command: 'kubectl durable', runbook: RUNBOOK });

/** The chart chooses from it when it is rendered, and fills in the values in braces. */
function permissions(): object {
  const controllers = defaultControllers(durableOperator, {
    'namespace-role-binding': { roleBindingClusterRole: '{{ .Values.roleBinding.clusterRole }}' },
  });
  return {
    controllers: Object.fromEntries(
      controllers.map((controller) => [
        controller.name,
        {
          changes: changesBy(controller),
          watcher: watcherRules(controller),
          worker: workerRules(controller),
        },
      ]),
    ),
    people: {
      ...userRoles('podset', { ...PodSetKind, hasScale: true, isPowerful: false }),
      // A build writes to a directory of the node, usually as root. Pod Security denies that to most users with the role `edit`.
      ...userRoles('xxx', { ...BUILDS, hasScale: false, isPowerful: true }),
    },
  };
}

/** By the end of their names. */
const ADMISSION_POLICIES = {
  'role-bindings': roleBindingPolicy(),
  pods: podPolicy(),
  approvals: approvalPolicy(
    [PodSetKind, BUILDS, NAMESPACES],
    [{ name: 'in-the-namespaces-of-the-operator', expression: '{{ include "operator.inNamespaces" . }}' }],
  ),
};

async function main(): Promise<void> {
  const files = generatedFiles();
  await (process.argv.includes('--check') ? reportStale(files) : writeFiles(ROOT, files));
}

async function reportStale(files: Files): Promise<void> {
  for (const path of await staleFiles(ROOT, files)) {
    console.error(`${path} is stale: run npm run generate, and commit what it wrote`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
