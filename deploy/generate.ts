import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { defaultOptions } from '../src/config/config.ts';
import type { Controller } from '../src/contract/controller.ts';
import { controllersFor } from '../src/controllers/index.ts';
import { BUILDS } from '../src/controllers/git-build/resource.ts';
import { POD_SETS } from '../src/controllers/pod-set/resource.ts';
import { healthChecks } from './argocd/health.ts';
import { buildDefinition } from './crd/git-build.ts';
import { podSetDefinition } from './crd/pod-set.ts';
import { alertRules } from './monitoring/alerts.ts';
import { dashboard } from './monitoring/dashboard.ts';
import { POLICY_LABEL } from './rbac/admission-policy.ts';
import { approvalPolicy } from './rbac/approval-policy.ts';
import { chartPermissions } from './rbac/chart-permissions.ts';
import {
  clusterRole,
  clusterRoleBinding,
  clusterScopedRules,
  labelled,
  leaderElectionRole,
  managerRules,
  metricsAuthRole,
  metricsReader,
  NAMESPACE,
  roleBindingInEach,
  roleInEach,
  serviceAccount,
  watcherRules,
  workerRules,
  type AccountName,
  type RbacObject,
} from './rbac/operator-roles.ts';
import { podPolicy } from './rbac/pod-policy.ts';
import { roleBindingPolicy } from './rbac/role-binding-policy.ts';
import { userRoles } from './rbac/user-roles.ts';

/*
 * Writes the manifests that follow from the code: `npm run generate`. With `--check` it writes nothing and
 * fails where what is committed differs, for CI.
 */

/** The controllers as they are with default options, save for the ClusterRole to bind. */
export function defaultControllers(clusterRole?: string): readonly Controller[] {
  const { roleBinding, ...options } = defaultOptions();
  return controllersFor({
    ...options,
    roleBinding: { ...roleBinding, clusterRole: clusterRole ?? roleBinding.clusterRole },
  });
}

type Manifests = ReadonlyMap<string, string>;

/** Every generated file: its path in `deploy/`, and its text. */
export function allManifests(): Manifests {
  const controllers = defaultControllers();
  return new Map([
    ...customResources(),
    ...managerManifests(controllers),
    ...splitManifests(controllers),
    ...namespacedManifests(controllers),
    ...chartFiles(),
    ...monitoring(),
    ...argoCd(),
  ]);
}

const DEFINITIONS = { podsets: podSetDefinition, xxxes: buildDefinition };

/** In the chart they stay when a release is removed: with a CRD go all resources of its kind. */
function* customResources(): Iterable<[string, string]> {
  for (const [plural, definition] of Object.entries(DEFINITIONS)) {
    yield [`crd/${plural}.yaml`, manifest(definition)];
    const annotations = { 'helm.sh/resource-policy': 'keep' };
    const kept = { ...definition, metadata: { ...definition.metadata, annotations } };
    yield [`helm/files/crd/${plural}.yaml`, manifest(kept)];
  }
}

const PEOPLE = [
  ...userRoles('podset', { ...POD_SETS, hasScale: true, isPowerful: false }),
  // A build writes to a directory of the node, most often as root, which a Pod of `edit` may not where Pod Security is enforced.
  ...userRoles('xxx', { ...BUILDS, hasScale: false, isPowerful: true }),
];

const ROLE_BINDING_POLICY = 'durable-operator-role-bindings';
const POD_POLICY = 'durable-operator-pods';
const APPROVAL_POLICY = 'durable-operator-approvals';
/** With default options. */
function defaultRoleBindingPolicy(): readonly object[] {
  const { prefix, clusterRole, excludeNamespaces } = defaultOptions().roleBinding;
  return roleBindingPolicy(
    { name: ROLE_BINDING_POLICY, label: NAMESPACE },
    {
      prefix: JSON.stringify(prefix),
      clusterRole: JSON.stringify(clusterRole),
      excludeNamespaces: JSON.stringify(excludeNamespaces),
      namespaceSelected: 'true',
    },
  );
}

/** For all controllers. */
function defaultPodPolicy(): readonly object[] {
  return podPolicy({ name: POD_POLICY, label: NAMESPACE }, { podLabel: 'true', podSet: 'true' });
}

function defaultApprovalPolicy(): readonly object[] {
  return approvalPolicy({ name: APPROVAL_POLICY, label: NAMESPACE }, { inNamespaces: 'true' });
}

/** All of them, with default options. */
function defaultPolicies(): readonly object[] {
  return [...defaultRoleBindingPolicy(), ...defaultPodPolicy(), ...defaultApprovalPolicy()];
}

/** Marks the accounts that the policies are about. */
function limited(binding: RbacObject): RbacObject {
  return labelled(binding, { [POLICY_LABEL]: NAMESPACE });
}

/** Where only Roles give rights: it gives none, and says whom the policies are about. */
function limitedAccounts(accounts: readonly AccountName[]): readonly RbacObject[] {
  return [clusterRole('limited-role', []), limited(clusterRoleBinding('limited-role', accounts))];
}

/** Watcher and worker in one process, for the whole cluster: a file each. */
export function managerManifests(controllers: readonly Controller[]): Manifests {
  const account = 'controller-manager';
  const [electionRole, electionBinding] = leaderElectionRole(account);
  const [metricsRole, metricsBinding] = metricsAuthRole([account]);
  const objects = {
    role: clusterRole('manager-role', managerRules(controllers, 'cluster')),
    role_binding: limited(clusterRoleBinding('manager-role', [account])),
    service_account: serviceAccount(account),
    leader_election_role: electionRole,
    leader_election_role_binding: electionBinding,
    metrics_auth_role: metricsRole,
    metrics_auth_role_binding: metricsBinding,
    metrics_reader: metricsReader(),
  };
  const people = PEOPLE.map((role) => [role.metadata.name.replaceAll('-', '_'), role] as const);
  const files = [...Object.entries(objects), ...people];
  return new Map([
    ...files.map(([name, object]) => [`rbac/${name}.yaml`, manifest(object)] as const),
    ['rbac/role_binding_policy.yaml', manifest(...defaultRoleBindingPolicy())],
    ['rbac/pod_policy.yaml', manifest(...defaultPodPolicy())],
    ['rbac/approval_policy.yaml', manifest(...defaultApprovalPolicy())],
  ]);
}

/** Watcher and worker apart. */
function splitManifests(controllers: readonly Controller[]): Manifests {
  const text = manifest(
    serviceAccount('watcher'),
    serviceAccount('worker'),
    clusterRole('watcher-role', watcherRules(controllers, 'cluster')),
    clusterRoleBinding('watcher-role', ['watcher']),
    clusterRole('worker-role', workerRules(controllers, 'cluster')),
    limited(clusterRoleBinding('worker-role', ['worker'])),
    ...defaultPolicies(),
    ...leaderElectionRole('watcher'),
    ...metricsAuthRole(['watcher', 'worker']),
    metricsReader(),
    ...PEOPLE,
  );
  return new Map([['overlays/split/rbac.yaml', text]]);
}

const IN_EACH_NAMESPACE = 'overlays/namespaced/in-each-namespace';

/** Only for some namespaces, by a Role in each: the controllers that need no more than that, or all of them. */
function namespacedManifests(controllers: readonly Controller[]): Manifests {
  const account = 'controller-manager';
  const contained = controllers.filter((controller) => clusterScopedRules([controller]).length === 0);
  const inEach = (running: readonly Controller[]) =>
    manifest(
      roleInEach('manager-role', managerRules(running, 'namespaces')),
      roleBindingInEach('manager-role', [account]),
    );
  const nodeReader = manifest(
    clusterRole('node-reader-role', clusterScopedRules(controllers)),
    clusterRoleBinding('node-reader-role', [account]),
  );
  return new Map([
    [
      'overlays/namespaced/operator/rbac.yaml',
      manifest(
        serviceAccount(account),
        ...limitedAccounts([account]),
        ...defaultPolicies(),
        ...leaderElectionRole(account),
        ...PEOPLE,
      ),
    ],
    [`${IN_EACH_NAMESPACE}/rbac.yaml`, inEach(contained)],
    [`${IN_EACH_NAMESPACE}-with-build/rbac.yaml`, inEach(controllers)],
    ['components/node-reader/rbac.yaml', nodeReader],
  ]);
}

/** What the chart's templates read. */
function chartFiles(): Manifests {
  // Braces: the chart fills in the option's value when it is rendered.
  const controllers = defaultControllers('{{ .Values.roleBinding.clusterRole }}');
  return new Map([
    ['helm/files/permissions.yaml', manifest(chartPermissions(controllers))],
    ['helm/files/role_binding_policy.yaml', manifest(...chartRoleBindingPolicy())],
    ['helm/files/pod_policy.yaml', manifest(...chartPodPolicy())],
    ['helm/files/approval_policy.yaml', manifest(...chartApprovalPolicy())],
    ['helm/files/user_roles.yaml', manifest(...PEOPLE.map(namedByChart))],
  ]);
}

/** What nobody else in the cluster has: Helm sees to it. */
const CHART_LABEL = '{{ include "operator.fullname" . }}';

function namedByChart({ metadata, ...role }: ReturnType<typeof userRoles>[number]): object {
  return { ...role, metadata: { ...metadata, name: `{{ include "operator.fullname" . }}-${metadata.name}` } };
}

function chartRoleBindingPolicy(): readonly object[] {
  return roleBindingPolicy(
    { name: '{{ include "operator.roleBindingPolicy" . }}', label: CHART_LABEL },
    {
      prefix: '{{ .Values.roleBinding.prefix | toJson }}',
      clusterRole: '{{ .Values.roleBinding.clusterRole | toJson }}',
      excludeNamespaces: '{{ .Values.roleBinding.excludeNamespaces | toJson }}',
      namespaceSelected: '{{ include "operator.namespaceSelected" . }}',
    },
  );
}

function chartPodPolicy(): readonly object[] {
  const runs = (name: string) => `{{ has "${name}" (include "operator.controllers" . | fromYamlArray) }}`;
  return podPolicy(
    { name: '{{ include "operator.podPolicy" . }}', label: CHART_LABEL },
    { podLabel: runs('pod-label'), podSet: runs('pod-set') },
  );
}

function chartApprovalPolicy(): readonly object[] {
  return approvalPolicy(
    { name: '{{ include "operator.approvalPolicy" . }}', label: CHART_LABEL },
    { inNamespaces: '{{ include "operator.inNamespaces" . }}' },
  );
}

/** The same for those who use Kustomize and those who use the chart. */
function* monitoring(): Iterable<[string, string]> {
  for (const folder of ['components/alerts', 'helm/files']) {
    yield [`${folder}/alerts.yaml`, manifest(alertRules)];
  }
  for (const folder of ['components/dashboard', 'helm/files']) {
    yield [`${folder}/dashboard.json`, `${JSON.stringify(dashboard, null, 2)}\n`];
  }
}

function* argoCd(): Iterable<[string, string]> {
  yield ['argocd/argocd-cm.yaml', manifest(healthChecks)];
}

function manifest(...objects: readonly object[]): string {
  const documents = objects.map((object) =>
    stringify(object, { singleQuote: true, lineWidth: 0, aliasDuplicateObjects: false }),
  );
  return `# Generated by "npm run generate" from what the code declares: do not edit.\n${documents.join('---\n')}`;
}

export async function writeManifests(directory: string, manifests: Manifests): Promise<void> {
  for (const [path, text] of manifests) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** The paths of the files in a directory that are missing or not what they should be. */
export async function staleManifests(directory: string, manifests: Manifests): Promise<string[]> {
  const stale: string[] = [];
  for (const [path, text] of manifests) {
    if ((await readIfThere(join(directory, path))) !== text) stale.push(path);
  }
  return stale;
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissingFile(error)) return undefined;
    throw error;
  }
}

function isMissingFile(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}

/** One export a controller: the workflows that the bundle is made of. */
function workflowIndex(): string {
  const lines = defaultControllers().map(
    ({ name, workflowType }) => `export { ${workflowType} } from './${name}.ts';\n`,
  );
  return `// Generated by "npm run generate" from src/controllers/index.ts: do not edit.\n${lines.sort().join('')}`;
}

async function main(): Promise<void> {
  const project = join(import.meta.dirname, '..');
  const manifests = [...allManifests()].map(([path, text]) => [`deploy/${path}`, text] as const);
  const files = new Map([...manifests, ['workflows/index.ts', workflowIndex()]]);
  if (!process.argv.includes('--check')) return writeManifests(project, files);
  for (const path of await staleManifests(project, files)) {
    console.error(`${path} is stale: run npm run generate, and commit what it wrote`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
