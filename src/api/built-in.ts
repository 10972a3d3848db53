import type { ResourceType } from '../contract/controller.ts';

/*
 * Types of Kubernetes' own that controllers often declare, watch or read. Any other is written in the same way:
 * `{ group: 'gateway.networking.k8s.io', version: 'v1', plural: 'httproutes', kind: 'HTTPRoute', namespaced: true }`.
 */

export const CONFIG_MAPS: ResourceType = {
  ...{ group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
  shortNames: ['cm'],
};
export const SECRETS: ResourceType = {
  ...{ group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true },
};
export const SERVICES: ResourceType = {
  ...{ group: '', version: 'v1', plural: 'services', kind: 'Service', namespaced: true },
  shortNames: ['svc'],
};
export const SERVICE_ACCOUNTS: ResourceType = {
  ...{ group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount', namespaced: true },
  shortNames: ['sa'],
};
export const PERSISTENT_VOLUME_CLAIMS: ResourceType = {
  ...{ group: '', version: 'v1', plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim' },
  ...{ namespaced: true, shortNames: ['pvc'] },
};
export const DEPLOYMENTS: ResourceType = {
  ...{ group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true },
  shortNames: ['deploy'],
};
export const STATEFUL_SETS: ResourceType = {
  ...{ group: 'apps', version: 'v1', plural: 'statefulsets', kind: 'StatefulSet', namespaced: true },
  shortNames: ['sts'],
};
export const DAEMON_SETS: ResourceType = {
  ...{ group: 'apps', version: 'v1', plural: 'daemonsets', kind: 'DaemonSet', namespaced: true },
  shortNames: ['ds'],
};
export const CRON_JOBS: ResourceType = {
  ...{ group: 'batch', version: 'v1', plural: 'cronjobs', kind: 'CronJob', namespaced: true },
  shortNames: ['cj'],
};
export const INGRESSES: ResourceType = {
  ...{ group: 'networking.k8s.io', version: 'v1', plural: 'ingresses', kind: 'Ingress', namespaced: true },
  shortNames: ['ing'],
};
export const NETWORK_POLICIES: ResourceType = {
  ...{ group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies', kind: 'NetworkPolicy' },
  ...{ namespaced: true, shortNames: ['netpol'] },
};
export const POD_DISRUPTION_BUDGETS: ResourceType = {
  ...{ group: 'policy', version: 'v1', plural: 'poddisruptionbudgets', kind: 'PodDisruptionBudget' },
  ...{ namespaced: true, shortNames: ['pdb'] },
};
export const HORIZONTAL_POD_AUTOSCALERS: ResourceType = {
  ...{ group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers' },
  ...{ kind: 'HorizontalPodAutoscaler', namespaced: true, shortNames: ['hpa'] },
};
