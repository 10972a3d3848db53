import type { V1APIService } from '@kubernetes/client-node/dist/gen/models/V1APIService.js';
import type { V1CSIDriver } from '@kubernetes/client-node/dist/gen/models/V1CSIDriver.js';
import type { V1CSINode } from '@kubernetes/client-node/dist/gen/models/V1CSINode.js';
import type { V1CSIStorageCapacity } from '@kubernetes/client-node/dist/gen/models/V1CSIStorageCapacity.js';
import type { V1CertificateSigningRequest } from '@kubernetes/client-node/dist/gen/models/V1CertificateSigningRequest.js';
import type { V1ClusterRole } from '@kubernetes/client-node/dist/gen/models/V1ClusterRole.js';
import type { V1ClusterRoleBinding } from '@kubernetes/client-node/dist/gen/models/V1ClusterRoleBinding.js';
import type { V1ConfigMap } from '@kubernetes/client-node/dist/gen/models/V1ConfigMap.js';
import type { V1CronJob } from '@kubernetes/client-node/dist/gen/models/V1CronJob.js';
import type { V1CustomResourceDefinition } from '@kubernetes/client-node/dist/gen/models/V1CustomResourceDefinition.js';
import type { V1DaemonSet } from '@kubernetes/client-node/dist/gen/models/V1DaemonSet.js';
import type { V1Deployment } from '@kubernetes/client-node/dist/gen/models/V1Deployment.js';
import type { V1DeviceClass } from '@kubernetes/client-node/dist/gen/models/V1DeviceClass.js';
import type { V1EndpointSlice } from '@kubernetes/client-node/dist/gen/models/V1EndpointSlice.js';
import type { V1Endpoints } from '@kubernetes/client-node/dist/gen/models/V1Endpoints.js';
import type { V1FlowSchema } from '@kubernetes/client-node/dist/gen/models/V1FlowSchema.js';
import type { V1IPAddress } from '@kubernetes/client-node/dist/gen/models/V1IPAddress.js';
import type { V1Ingress } from '@kubernetes/client-node/dist/gen/models/V1Ingress.js';
import type { V1IngressClass } from '@kubernetes/client-node/dist/gen/models/V1IngressClass.js';
import type { V1Job } from '@kubernetes/client-node/dist/gen/models/V1Job.js';
import type { V1Lease } from '@kubernetes/client-node/dist/gen/models/V1Lease.js';
import type { V1LimitRange } from '@kubernetes/client-node/dist/gen/models/V1LimitRange.js';
import type { V1MutatingAdmissionPolicy } from '@kubernetes/client-node/dist/gen/models/V1MutatingAdmissionPolicy.js';
import type { V1MutatingAdmissionPolicyBinding } from '@kubernetes/client-node/dist/gen/models/V1MutatingAdmissionPolicyBinding.js';
import type { V1MutatingWebhookConfiguration } from '@kubernetes/client-node/dist/gen/models/V1MutatingWebhookConfiguration.js';
import type { V1Namespace } from '@kubernetes/client-node/dist/gen/models/V1Namespace.js';
import type { V1NetworkPolicy } from '@kubernetes/client-node/dist/gen/models/V1NetworkPolicy.js';
import type { V1PersistentVolume } from '@kubernetes/client-node/dist/gen/models/V1PersistentVolume.js';
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node/dist/gen/models/V1PersistentVolumeClaim.js';
import type { V1Pod } from '@kubernetes/client-node/dist/gen/models/V1Pod.js';
import type { V1PodDisruptionBudget } from '@kubernetes/client-node/dist/gen/models/V1PodDisruptionBudget.js';
import type { V1PriorityClass } from '@kubernetes/client-node/dist/gen/models/V1PriorityClass.js';
import type { V1PriorityLevelConfiguration } from '@kubernetes/client-node/dist/gen/models/V1PriorityLevelConfiguration.js';
import type { V1ReplicaSet } from '@kubernetes/client-node/dist/gen/models/V1ReplicaSet.js';
import type { V1ResourceClaim } from '@kubernetes/client-node/dist/gen/models/V1ResourceClaim.js';
import type { V1ResourceClaimTemplate } from '@kubernetes/client-node/dist/gen/models/V1ResourceClaimTemplate.js';
import type { V1ResourceQuota } from '@kubernetes/client-node/dist/gen/models/V1ResourceQuota.js';
import type { V1ResourceSlice } from '@kubernetes/client-node/dist/gen/models/V1ResourceSlice.js';
import type { V1Role } from '@kubernetes/client-node/dist/gen/models/V1Role.js';
import type { V1RoleBinding } from '@kubernetes/client-node/dist/gen/models/V1RoleBinding.js';
import type { V1RuntimeClass } from '@kubernetes/client-node/dist/gen/models/V1RuntimeClass.js';
import type { V1Secret } from '@kubernetes/client-node/dist/gen/models/V1Secret.js';
import type { V1Service } from '@kubernetes/client-node/dist/gen/models/V1Service.js';
import type { V1ServiceAccount } from '@kubernetes/client-node/dist/gen/models/V1ServiceAccount.js';
import type { V1ServiceCIDR } from '@kubernetes/client-node/dist/gen/models/V1ServiceCIDR.js';
import type { V1StatefulSet } from '@kubernetes/client-node/dist/gen/models/V1StatefulSet.js';
import type { V1StorageClass } from '@kubernetes/client-node/dist/gen/models/V1StorageClass.js';
import type { V1ValidatingAdmissionPolicy } from '@kubernetes/client-node/dist/gen/models/V1ValidatingAdmissionPolicy.js';
import type { V1ValidatingAdmissionPolicyBinding } from '@kubernetes/client-node/dist/gen/models/V1ValidatingAdmissionPolicyBinding.js';
import type { V1ValidatingWebhookConfiguration } from '@kubernetes/client-node/dist/gen/models/V1ValidatingWebhookConfiguration.js';
import type { V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/models/V1VolumeAttachment.js';
import type { V1VolumeAttributesClass } from '@kubernetes/client-node/dist/gen/models/V1VolumeAttributesClass.js';
import type { V2HorizontalPodAutoscaler } from '@kubernetes/client-node/dist/gen/models/V2HorizontalPodAutoscaler.js';
import type { ChildManifest } from './child.ts';

/** The kinds of Kubernetes' own that can be declared: the `apiVersion` that a manifest has, and the type of `@kubernetes/client-node`. */
interface BuiltIn {
  APIService: ['apiregistration.k8s.io/v1', V1APIService];
  CSIDriver: ['storage.k8s.io/v1', V1CSIDriver];
  CSINode: ['storage.k8s.io/v1', V1CSINode];
  CSIStorageCapacity: ['storage.k8s.io/v1', V1CSIStorageCapacity];
  CertificateSigningRequest: ['certificates.k8s.io/v1', V1CertificateSigningRequest];
  ClusterRole: ['rbac.authorization.k8s.io/v1', V1ClusterRole];
  ClusterRoleBinding: ['rbac.authorization.k8s.io/v1', V1ClusterRoleBinding];
  ConfigMap: ['v1', V1ConfigMap];
  CronJob: ['batch/v1', V1CronJob];
  CustomResourceDefinition: ['apiextensions.k8s.io/v1', V1CustomResourceDefinition];
  DaemonSet: ['apps/v1', V1DaemonSet];
  Deployment: ['apps/v1', V1Deployment];
  DeviceClass: ['resource.k8s.io/v1', V1DeviceClass];
  EndpointSlice: ['discovery.k8s.io/v1', V1EndpointSlice];
  Endpoints: ['v1', V1Endpoints];
  FlowSchema: ['flowcontrol.apiserver.k8s.io/v1', V1FlowSchema];
  HorizontalPodAutoscaler: ['autoscaling/v2', V2HorizontalPodAutoscaler];
  IPAddress: ['networking.k8s.io/v1', V1IPAddress];
  Ingress: ['networking.k8s.io/v1', V1Ingress];
  IngressClass: ['networking.k8s.io/v1', V1IngressClass];
  Job: ['batch/v1', V1Job];
  Lease: ['coordination.k8s.io/v1', V1Lease];
  LimitRange: ['v1', V1LimitRange];
  MutatingAdmissionPolicy: ['admissionregistration.k8s.io/v1', V1MutatingAdmissionPolicy];
  MutatingAdmissionPolicyBinding: ['admissionregistration.k8s.io/v1', V1MutatingAdmissionPolicyBinding];
  MutatingWebhookConfiguration: ['admissionregistration.k8s.io/v1', V1MutatingWebhookConfiguration];
  Namespace: ['v1', V1Namespace];
  NetworkPolicy: ['networking.k8s.io/v1', V1NetworkPolicy];
  PersistentVolume: ['v1', V1PersistentVolume];
  PersistentVolumeClaim: ['v1', V1PersistentVolumeClaim];
  Pod: ['v1', V1Pod];
  PodDisruptionBudget: ['policy/v1', V1PodDisruptionBudget];
  PriorityClass: ['scheduling.k8s.io/v1', V1PriorityClass];
  PriorityLevelConfiguration: ['flowcontrol.apiserver.k8s.io/v1', V1PriorityLevelConfiguration];
  ReplicaSet: ['apps/v1', V1ReplicaSet];
  ResourceClaim: ['resource.k8s.io/v1', V1ResourceClaim];
  ResourceClaimTemplate: ['resource.k8s.io/v1', V1ResourceClaimTemplate];
  ResourceQuota: ['v1', V1ResourceQuota];
  ResourceSlice: ['resource.k8s.io/v1', V1ResourceSlice];
  Role: ['rbac.authorization.k8s.io/v1', V1Role];
  RoleBinding: ['rbac.authorization.k8s.io/v1', V1RoleBinding];
  RuntimeClass: ['node.k8s.io/v1', V1RuntimeClass];
  Secret: ['v1', V1Secret];
  Service: ['v1', V1Service];
  ServiceAccount: ['v1', V1ServiceAccount];
  ServiceCIDR: ['networking.k8s.io/v1', V1ServiceCIDR];
  StatefulSet: ['apps/v1', V1StatefulSet];
  StorageClass: ['storage.k8s.io/v1', V1StorageClass];
  ValidatingAdmissionPolicy: ['admissionregistration.k8s.io/v1', V1ValidatingAdmissionPolicy];
  ValidatingAdmissionPolicyBinding: ['admissionregistration.k8s.io/v1', V1ValidatingAdmissionPolicyBinding];
  ValidatingWebhookConfiguration: ['admissionregistration.k8s.io/v1', V1ValidatingWebhookConfiguration];
  VolumeAttachment: ['storage.k8s.io/v1', V1VolumeAttachment];
  VolumeAttributesClass: ['storage.k8s.io/v1', V1VolumeAttributesClass];
}

/** As JSON has it: the types of the client have dates. */
type Written<T> = 0 extends 1 & T
  ? T
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Written<Item>[]
      : T extends object
        ? { readonly [Field in keyof T]: Written<T[Field]> }
        : T;

/**
 * The manifest of a kind of Kubernetes' own. A field that the kind does not have does not compile.
 *
 * @typeParam Kind `Deployment`
 * @example
 * const service: Manifest<'Service'> = {
 *   apiVersion: 'v1',
 *   kind: 'Service',
 *   metadata: { name: 'web' },
 *   spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
 * };
 */
export type Manifest<Kind extends keyof BuiltIn> = Pick<ChildManifest, 'metadata'> & {
  readonly apiVersion: BuiltIn[Kind][0];
  readonly kind: Kind;
} & Written<Omit<BuiltIn[Kind][1], 'apiVersion' | 'kind' | 'metadata' | 'status'>>;
