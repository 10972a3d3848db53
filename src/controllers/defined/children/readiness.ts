import type { KubernetesObject } from '../../../contract/object.ts';
import { fieldsOf, listOf, numberOf, textOf, type Fields } from '../../fields.ts';
import { troubleIn } from '../../pod-trouble.ts';

/**
 * Whether an object is as it should be; the words follow its kind and name: `is not ready yet`, `failed: BackoffLimitExceeded`.
 * Without counts, which would change too often.
 */
export type Readiness =
  | { readonly is: 'ready' }
  | { readonly is: 'progressing' }
  | { readonly is: 'failed'; readonly because: string };

const READY: Readiness = { is: 'ready' };
const PROGRESSING: Readiness = { is: 'progressing' };

/**
 * As kstatus has it, except that a Job is ready once it is complete, and that a Pod or a Deployment that cannot go on has failed.
 * Source: kubernetes-sigs/cli-utils, pkg/kstatus/status/core.go.
 */
export function readinessOf(kind: string, object: KubernetesObject): Readiness {
  const status = fieldsOf(object['status']);
  const { observedGeneration } = status;
  const { generation } = object.metadata;
  if (observedGeneration !== undefined && observedGeneration !== generation) return PROGRESSING;
  return (BY_KIND[kind] ?? byConditions)({ object, status, spec: fieldsOf(object['spec']) });
}

interface Subject {
  readonly object: KubernetesObject;
  readonly spec: Fields;
  readonly status: Fields;
}

const BY_KIND: Readonly<Record<string, (subject: Subject) => Readiness>> = {
  Deployment: deployment,
  StatefulSet: statefulSet,
  DaemonSet: daemonSet,
  Job: job,
  Pod: pod,
  Service: ({ spec }) => readyIf(spec['type'] !== 'LoadBalancer' || spec['clusterIP'] !== ''),
  PersistentVolumeClaim: ({ status }) => readyIf(status['phase'] === 'Bound'),
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
  const isDone = updated >= wanted && replicas <= updated && count(status, 'availableReplicas') >= updated;
  return readyIf(isDone && ready >= wanted && isAvailable);
}

function statefulSet({ spec, status }: Subject): Readiness {
  const { type, rollingUpdate } = fieldsOf(spec['updateStrategy']);
  const wanted = numberOf(spec['replicas']) ?? 1;
  const { replicas, updated, ready } = countsOf(status);
  if (type === 'OnDelete') return readyIf(ready >= wanted);
  if (ready < wanted || replicas !== wanted) return PROGRESSING;
  const partition = numberOf(fieldsOf(rollingUpdate)['partition']) ?? 0;
  if (partition > 0) return readyIf(updated >= wanted - partition);
  return readyIf(status['currentRevision'] === status['updateRevision']);
}

function daemonSet({ status }: Subject): Readiness {
  const wanted = numberOf(status['desiredNumberScheduled']);
  if (wanted === undefined || numberOf(status['observedGeneration']) === undefined) return PROGRESSING;
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

function byConditions({ status }: Subject): Readiness {
  const stalled = conditionOf(status, 'Stalled');
  if (stalled?.['status'] === 'True') return failed(`is stalled: ${wordsOf(stalled)}`);
  const isReconciling = conditionOf(status, 'Reconciling')?.['status'] === 'True';
  const ready = conditionOf(status, 'Ready');
  return readyIf(!isReconciling && (ready === undefined || ready['status'] === 'True'));
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
