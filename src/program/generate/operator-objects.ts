import { RBAC_GROUP } from '../../api/kinds.ts';
import type { Leaves } from '../../engine/controller.ts';
import type { PolicyRule } from '../../api/policy-rule.ts';
import type { ResourceType } from '../../api/resource-type.ts';
import { approvalPolicy } from './approval-policy.ts';
import type { Built } from './built.ts';

/*
 * What an operator is in a cluster, besides its custom resource definitions. `install.yaml` and the chart are these objects: one
 * with the values as they are, the other with what Helm fills in.
 */

/** Fills in the values of the chart, by their paths: `temporal.address`. */
export interface Fill {
  one(path: string): unknown;
  /** To be spread into a list. */
  each(path: string): readonly unknown[];
  /** A map with more entries. */
  merged(path: string, more: object): unknown;
}

export interface OperatorParts {
  readonly built: Built;
  /** The Namespace of the operator. */
  readonly namespace: unknown;
  readonly rules: readonly PolicyRule[];
  /** The types of its resources. */
  readonly types: readonly ResourceType[];
  /** By controller. */
  readonly leaves: Readonly<Record<string, Leaves>>;
}

/** Of the ClusterRole: what each controller may have left in clusters, so that `generate` notices what a new version forgets. */
export const LEAVES_ANNOTATION = 'durable-operator.dev/leaves';

export function operatorObjects(
  { built, namespace, rules, types, leaves }: OperatorParts,
  fill: Fill,
): object[] {
  const { name } = built;
  const labels = { 'app.kubernetes.io/name': name };
  const metadata = { name, namespace, labels };
  const account = { kind: 'ServiceAccount', name, namespace };
  return [
    {
      ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
      metadata: { ...metadata, annotations: fill.one('serviceAccountAnnotations') },
    },
    ...roleAndBinding('ClusterRole', {
      account,
      metadata: {
        name,
        labels: { ...labels, ...policyLabel(name) },
        annotations: { [LEAVES_ANNOTATION]: JSON.stringify(leaves) },
      },
      rules,
    }),
    ...checkOfApprovals(name, types),
    ...roleAndBinding('Role', {
      account,
      metadata: { ...metadata, name: `${name}-leader-election` },
      rules: leaseRules(name),
    }),
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata },
      spec: {
        replicas: fill.one('replicas'),
        selector: { matchLabels: labels },
        template: {
          metadata: { labels: fill.merged('podLabels', labels), annotations: fill.one('podAnnotations') },
          spec: podSpec(name, fill),
        },
      },
    },
    {
      ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' },
      metadata,
      spec: {
        maxUnavailable: 1,
        // A Pod that is not ready does no work. While Temporal is away, none is, and a node must still be drained.
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: labels },
      },
    },
  ];
}

/** Marks the ClusterRoleBinding whose service account the policy is about. */
function policyLabel(name: string): Readonly<Record<string, string>> {
  return { 'durable-operator.dev/admission-policy': name };
}

/** The API server then checks the name of a person who approves or rejects. */
function checkOfApprovals(name: string, types: readonly ResourceType[]): object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name: `${name}-approvals`, labels: { 'app.kubernetes.io/name': name } };
  const paramRef = {
    selector: { matchLabels: policyLabel(name) },
    // Without that ClusterRoleBinding, the operator has no rights. To deny would stop everybody.
    parameterNotFoundAction: 'Allow',
  };
  return [
    { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata, spec: approvalPolicy(types) },
    {
      ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata },
      spec: { policyName: metadata.name, paramRef, validationActions: ['Deny', 'Audit'] },
    },
  ];
}

interface Role {
  readonly metadata: { readonly name: string; readonly labels: object; readonly annotations?: object };
  readonly rules: readonly PolicyRule[];
  readonly account: object;
}

function roleAndBinding(kind: 'Role' | 'ClusterRole', { metadata, rules, account }: Role): object[] {
  const apiVersion = `${RBAC_GROUP}/v1`;
  return [
    { apiVersion, kind, metadata, rules },
    {
      ...{ apiVersion, kind: `${kind}Binding`, metadata },
      roleRef: { apiGroup: RBAC_GROUP, kind, name: metadata.name },
      subjects: [account],
    },
  ];
}

function leaseRules(name: string): PolicyRule[] {
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  return [
    { ...leases, verbs: ['create'] },
    { ...leases, resourceNames: [name], verbs: ['get', 'update'] },
  ];
}

function podSpec(serviceAccountName: string, fill: Fill): object {
  return {
    serviceAccountName,
    enableServiceLinks: false,
    imagePullSecrets: fill.one('imagePullSecrets'),
    // The process ends within 10 s.
    terminationGracePeriodSeconds: 10,
    priorityClassName: fill.one('priorityClassName'),
    securityContext: fill.one('securityContext'),
    topologySpreadConstraints: fill.one('topologySpreadConstraints'),
    nodeSelector: fill.one('nodeSelector'),
    tolerations: fill.one('tolerations'),
    affinity: fill.one('affinity'),
    containers: [container(fill)],
    volumes: [
      { name: CREDENTIALS.name, secret: { secretName: fill.one('temporal.secret'), optional: true } },
      ...fill.each('volumes'),
    ],
  };
}

/** A volume, for variables would keep what the Secret had at the start. */
const CREDENTIALS = { name: 'temporal', mountPath: '/etc/operator/temporal', readOnly: true };

function container(fill: Fill): object {
  const probe = (path: string) => ({ httpGet: { path, port: 'health' } });
  return {
    name: 'operator',
    image: fill.one('image'),
    args: ['run', '--enable-leader-election', '--approvers-checked', ...fill.each('extraArgs')],
    env: [...temporalVariables(fill), ...fill.each('extraEnv')],
    envFrom: fill.one('envFrom'),
    ports: [
      { name: 'metrics', containerPort: 9097 },
      { name: 'health', containerPort: 9098 },
    ],
    livenessProbe: { ...probe('/healthz'), initialDelaySeconds: 15, periodSeconds: 20 },
    readinessProbe: { ...probe('/readyz'), initialDelaySeconds: 2, periodSeconds: 5 },
    resources: fill.one('resources'),
    volumeMounts: [CREDENTIALS, ...fill.each('volumeMounts')],
    securityContext: fill.one('containerSecurityContext'),
  };
}

function temporalVariables(fill: Fill): object[] {
  return [
    { name: 'TEMPORAL_ADDRESS', value: fill.one('temporal.address') },
    { name: 'TEMPORAL_NAMESPACE', value: fill.one('temporal.namespace') },
    { name: 'TEMPORAL_CREDENTIALS_DIR', value: CREDENTIALS.mountPath },
  ];
}
