import type { ResourceType } from '../../api/resource-type.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Cause } from '../../api/cause.ts';
import { fieldsOf, listOf, numberOf, textOf, type Fields } from '../../api/fields.ts';
import { troubleIn } from '../../api/pod-trouble.ts';

/**
 * Whether an object is as it should be; the words follow its kind and name: `is not ready yet`, `failed: BackoffLimitExceeded`.
 * Without counts, which would change too often.
 */
export type Readiness =
  | { readonly is: 'ready' }
  | { readonly is: 'progressing' }
  /** `cause`: in the words of the author. */
  | { readonly is: 'failed'; readonly because: string; readonly cause?: Cause };

/** A Deployment without a deadline has the largest int32, and no condition Progressing. */
const NO_DEADLINE = 2 ** 31 - 1;
const READY: Readiness = { is: 'ready' };
const PROGRESSING: Readiness = { is: 'progressing' };

/**
 * As kstatus has it, except that a Job is ready once it is complete, a Service of type LoadBalancer once it has an address, and a
 * StatefulSet of OnDelete once its Pods are; and that a Pod, a Deployment, a ReplicaSet or an autoscaler that cannot go on has failed.
 * Source: kubernetes-sigs/cli-utils, pkg/kstatus/status/core.go and generic.go.
 */
export function readinessOf(
  { group, kind }: Pick<ResourceType, 'group' | 'kind'>,
  object: KubernetesObject,
): Readiness {
  const status = fieldsOf(object['status']);
  const { generation } = object.metadata;
  const observed = status['observedGeneration'] ?? (isObserved(group, kind) ? 0 : generation);
  if (generation !== undefined && observed !== generation) return PROGRESSING;
  if (conditionOf(status, 'Reconciling')?.['status'] === 'True') return PROGRESSING;
  const stalled = conditionOf(status, 'Stalled');
  if (stalled?.['status'] === 'True') return failed(`is stalled: ${wordsOf(stalled)}`);
  const judge = BY_TYPE[`${group}/${kind}`] ?? byReady;
  return judge({ object, status, spec: fieldsOf(object['spec']) });
}

/** The controllers of these say which generation they have seen. */
function isObserved(group: string, kind: string): boolean {
  return group === 'apps' || kind === 'PodDisruptionBudget' || kind === 'HorizontalPodAutoscaler';
}

interface Subject {
  readonly object: KubernetesObject;
  readonly spec: Fields;
  readonly status: Fields;
}

const BY_TYPE: Readonly<Record<string, (subject: Subject) => Readiness>> = {
  'apps/Deployment': deployment,
  'apps/ReplicaSet': replicaSet,
  'apps/StatefulSet': statefulSet,
  'apps/DaemonSet': daemonSet,
  'batch/Job': job,
  '/Pod': pod,
  '/Service': service,
  '/PersistentVolumeClaim': ({ status }) => readyIf(status['phase'] === 'Bound'),
  'autoscaling/HorizontalPodAutoscaler': autoscaler,
  'apiextensions.k8s.io/CustomResourceDefinition': definition,
};

function deployment({ spec, status }: Subject): Readiness {
  const progressing = conditionOf(status, 'Progressing');
  if (progressing?.['reason'] === 'ProgressDeadlineExceeded')
    return failed('made no progress within its progressDeadlineSeconds');
  const failure = conditionOf(status, 'ReplicaFailure');
  if (failure?.['status'] === 'True') return failed(`cannot create its Pods: ${wordsOf(failure)}`);
  const wanted = numberOf(spec['replicas']) ?? 1;
  const { replicas, updated, ready } = countsOf(status);
  const isAvailable = conditionOf(status, 'Available')?.['status'] === 'True';
  const isDone = updated >= wanted && replicas <= wanted && count(status, 'availableReplicas') >= updated;
  const isRolledOut =
    numberOf(spec['progressDeadlineSeconds']) === undefined ||
    spec['progressDeadlineSeconds'] === NO_DEADLINE ||
    (progressing?.['status'] === 'True' && progressing['reason'] === 'NewReplicaSetAvailable');
  return readyIf(isDone && ready >= wanted && isRolledOut && isAvailable);
}

function replicaSet({ spec, status }: Subject): Readiness {
  const failure = conditionOf(status, 'ReplicaFailure');
  if (failure?.['status'] === 'True') return failed(`cannot create its Pods: ${wordsOf(failure)}`);
  const wanted = numberOf(spec['replicas']) ?? 1;
  const names = ['fullyLabeledReplicas', 'availableReplicas', 'readyReplicas'] as const;
  const isDone = names.every((name) => count(status, name) >= wanted);
  return readyIf(isDone && count(status, 'replicas') <= wanted);
}

function statefulSet({ spec, status }: Subject): Readiness {
  const { type, rollingUpdate } = fieldsOf(spec['updateStrategy']);
  const wanted = numberOf(spec['replicas']) ?? 1;
  const { replicas, updated, ready } = countsOf(status);
  if (type === 'OnDelete') return readyIf(ready >= wanted);
  if (ready < wanted || replicas !== wanted) return PROGRESSING;
  const partition = numberOf(fieldsOf(rollingUpdate)['partition']);
  if (partition !== undefined) return readyIf(updated >= wanted - partition);
  return readyIf(status['currentRevision'] === status['updateRevision']);
}

function daemonSet({ status }: Subject): Readiness {
  const wanted = numberOf(status['desiredNumberScheduled']);
  if (wanted === undefined) return PROGRESSING;
  const names = [
    'currentNumberScheduled',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberReady',
  ] as const;
  return readyIf(names.every((name) => count(status, name) >= wanted));
}

function job({ status }: Subject): Readiness {
  const failure = conditionOf(status, 'Failed');
  if (failure?.['status'] === 'True') return failed(`failed: ${wordsOf(failure)}`);
  return readyIf(conditionOf(status, 'Complete')?.['status'] === 'True');
}

function pod({ object, status }: Subject): Readiness {
  const phase = textOf(status['phase']);
  if (phase === 'Succeeded') return READY;
  if (phase === 'Failed')
    return failed(`failed: ${textOf(status['reason']) ?? 'a container ended with an error'}`);
  if (conditionOf(status, 'Ready')?.['status'] === 'True') return READY;
  const trouble = troubleIn(object);
  return trouble === undefined ? PROGRESSING : failed(trouble.text);
}

function service({ spec, status }: Subject): Readiness {
  const { ingress } = fieldsOf(status['loadBalancer']);
  return readyIf(spec['type'] !== 'LoadBalancer' || listOf(ingress).length > 0);
}

/** One without metrics is ready: they come once there are Pods. */
function autoscaler({ status }: Subject): Readiness {
  const able = conditionOf(status, 'AbleToScale');
  return able?.['status'] === 'False' ? failed(`cannot scale: ${wordsOf(able)}`) : READY;
}

function definition({ status }: Subject): Readiness {
  const names = conditionOf(status, 'NamesAccepted');
  if (names?.['status'] === 'False') return failed(`is not accepted: ${wordsOf(names)}`);
  const established = conditionOf(status, 'Established');
  const isRefused = established?.['status'] === 'False' && established['reason'] !== 'Installing';
  if (isRefused) return failed(`is not established: ${wordsOf(established)}`);
  return readyIf(established?.['status'] === 'True');
}

function byReady({ status }: Subject): Readiness {
  const ready = conditionOf(status, 'Ready');
  return readyIf(ready === undefined || ready['status'] === 'True');
}

function countsOf(status: Fields) {
  return {
    replicas: count(status, 'replicas'),
    updated: count(status, 'updatedReplicas'),
    ready: count(status, 'readyReplicas'),
  };
}

function count(status: Fields, name: string): number {
  return numberOf(status[name]) ?? 0;
}

function readyIf(isReady: boolean): Readiness {
  return isReady ? READY : PROGRESSING;
}

function failed(because: string): Readiness {
  return { is: 'failed', because };
}

function conditionOf(status: Fields, type: string): Fields | undefined {
  return listOf(status['conditions']).find((each) => each['type'] === type);
}

function wordsOf({ reason, message }: Fields): string {
  return textOf(message) ?? textOf(reason) ?? 'it does not say why';
}
