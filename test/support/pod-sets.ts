import type { RefusedStep } from '../../src/api/index.ts';
import type { Condition } from '../../src/api/condition.ts';
import { causeOfRefusal } from '../../src/api/refusal.ts';
import type { KubernetesObject, OwnerReference } from '../../src/api/object.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import type { LookupValues } from '../../src/engine/lookups.ts';
import type { DefinedObservation, StatusWrite } from '../../src/engine/observation.ts';
import type { DefinedView } from '../../src/engine/view.ts';
import { podSet as definition } from '../../src/controllers/pod-set/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import {
  hasLabels,
  labelsFor,
  ownershipOf,
  podSetReference,
  podOfSet,
  type Pod,
  type PodOfSet,
} from '../../src/controllers/pod-set/pod.ts';
import type { Manifest } from './cluster.ts';
import type { NextStep } from '../../src/runs/decision.ts';
import { isStatusWrite } from './status-write.ts';

export const POD_SET_KIND = {
  apiVersion: `${PodSetKind.group}/${PodSetKind.version}`,
  kind: PodSetKind.kind,
};

/** As the API server has it: what its schema refuses today may have been stored before. */
export interface PodSet extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: Partial<PodSetStatus>;
}

export interface PodSetStatus {
  readonly podNames: readonly string[];
  readonly readyReplicas: number;
  readonly selector: string;
  readonly observedGeneration: number;
  readonly conditions: readonly Condition[];
  readonly lastHandledReconcileAt?: string;
  readonly lastHandledApproval?: string;
}

export const NAMESPACE = 'default';
export const POD_SET_UID = 'uid-of-web';
/** When the tests take place. */
export const NOW_MS = Date.parse('2026-01-01T12:00:00Z');

/** A PodSet `default/web` of one Pod, without a status. */
export function aPodSet(): PodSetBuilder {
  return new PodSetBuilder({
    metadata: { name: 'web', namespace: NAMESPACE, uid: POD_SET_UID, resourceVersion: '1', generation: 1 },
    replicas: 1,
    status: {},
  });
}

interface PodSetFields {
  readonly metadata: PodSet['metadata'];
  readonly replicas: unknown;
  readonly status: Partial<PodSetStatus>;
}

export class PodSetBuilder {
  readonly #fields: PodSetFields;

  constructor(fields: PodSetFields) {
    this.#fields = fields;
  }

  /** Any value: what no schema has checked. */
  wanting(replicas: unknown): PodSetBuilder {
    return new PodSetBuilder({ ...this.#fields, replicas });
  }

  annotated(annotations: Readonly<Record<string, string>>): PodSetBuilder {
    return this.#withMetadata({ annotations });
  }

  named(name: string): PodSetBuilder {
    return this.#withMetadata({ name });
  }

  in(namespace: string): PodSetBuilder {
    return this.#withMetadata({ namespace });
  }

  ofVersion(resourceVersion: string): PodSetBuilder {
    return this.#withMetadata({ resourceVersion });
  }

  /** Its spec was changed so often, and once more. */
  ofGeneration(generation: number): PodSetBuilder {
    return this.#withMetadata({ generation });
  }

  beingDeleted(): PodSetBuilder {
    return this.#withMetadata({ deletionTimestamp: '2026-01-01T11:59:00Z' });
  }

  withStatus(status: Partial<PodSetStatus>): PodSetBuilder {
    return new PodSetBuilder({ ...this.#fields, status: { ...this.#fields.status, ...status } });
  }

  withCondition(condition: Condition): PodSetBuilder {
    const conditions = [...(this.#fields.status.conditions ?? []), condition];
    return this.withStatus({ conditions });
  }

  /** As the API server sends it. Its type is what the schema promises, which `wanting` may break. */
  get object(): PodSet & Manifest {
    const { metadata, replicas, status } = this.#fields;
    return { ...POD_SET_KIND, metadata: { ...metadata }, spec: { replicas: replicas as number }, status };
  }

  /** As the watcher keeps it. */
  get view(): DefinedView {
    const view = controller.primary.view(this.object);
    if (view === undefined) throw new Error('it is of no interest');
    return view;
  }

  /** As one writes it. */
  get manifest(): Manifest {
    const { metadata, replicas } = this.#fields;
    const { name, namespace } = metadata;
    return {
      ...POD_SET_KIND,
      metadata: { name, ...(namespace !== undefined && { namespace }) },
      spec: { replicas },
    };
  }

  #withMetadata(metadata: Partial<PodSet['metadata']>): PodSetBuilder {
    return new PodSetBuilder({ ...this.#fields, metadata: { ...this.#fields.metadata, ...metadata } });
  }
}

/** A Pod of the PodSet `web`: Running, Ready, on a node of its own, and an hour old. */
export function aPodOf(podSet: PodSetBuilder, name = 'web-pod-a'): OwnedPodBuilder {
  const { metadata } = podSet.object;
  return new OwnedPodBuilder({
    metadata: {
      name,
      namespace: metadata.namespace ?? NAMESPACE,
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      creationTimestamp: new Date(NOW_MS - 3_600_000).toISOString(),
      labels: labelsFor(metadata.name),
      ownerReferences: [podSetReference(metadata)],
    },
    spec: { nodeName: `node-of-${name}` },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: new Date(NOW_MS - 3_600_000).toISOString() },
      ],
    },
  });
}

export class OwnedPodBuilder {
  readonly #pod: Pod;

  constructor(pod: Pod) {
    this.#pod = pod;
  }

  named(name: string): OwnedPodBuilder {
    return this.#withMetadata({ name, uid: `uid-of-${name}` });
  }

  ofVersion(resourceVersion: string): OwnedPodBuilder {
    return this.#withMetadata({ resourceVersion });
  }

  /** Of another controller. */
  foreign(): OwnedPodBuilder {
    const controller = podSetReference({ name: 'other', uid: 'uid-of-other' });
    return this.#withMetadata({
      ownerReferences: [{ ...controller, apiVersion: 'apps/v1', kind: 'ReplicaSet' }],
    });
  }

  /** Of a PodSet of the same name that was there before. */
  ofAPredecessor(): OwnedPodBuilder {
    return this.#withMetadata({
      ownerReferences: [podSetReference({ name: 'web', uid: 'uid-of-the-predecessor' })],
    });
  }

  /** By these alone. */
  controllerReference(...ownerReferences: readonly OwnerReference[]): OwnedPodBuilder {
    return this.#withMetadata({ ownerReferences });
  }

  orphaned(): OwnedPodBuilder {
    return this.#withMetadata({ ownerReferences: [] });
  }

  relabelled(labels: Readonly<Record<string, string>> = { app: 'other', version: 'v0.1' }): OwnedPodBuilder {
    return this.#withMetadata({ labels });
  }

  beingDeleted(): OwnedPodBuilder {
    return this.#withMetadata({ deletionTimestamp: '2026-01-01T11:59:30Z' });
  }

  /** So many seconds ago. */
  createdAgo(seconds: number): OwnedPodBuilder {
    return this.#withMetadata({ creationTimestamp: new Date(NOW_MS - seconds * 1000).toISOString() });
  }

  costing(deletionCost: string): OwnedPodBuilder {
    return this.#withMetadata({
      annotations: { 'controller.kubernetes.io/pod-deletion-cost': deletionCost },
    });
  }

  failed(): OwnedPodBuilder {
    return this.inPhase('Failed').notReady();
  }

  /** So many seconds after its container began. @param turnedAway no container has run */
  evictedAfter(seconds: number, { turnedAway = false } = {}): OwnedPodBuilder {
    const at = (s: number) => new Date(NOW_MS - 600_000 + s * 1_000).toISOString();
    const terminated = { startedAt: at(0), finishedAt: at(seconds) };
    const containerStatuses = turnedAway ? [] : [{ name: 'busybox', state: { terminated } }];
    return this.failed().#withStatus({ reason: 'Evicted', containerStatuses });
  }

  succeeded(): OwnedPodBuilder {
    return this.inPhase('Succeeded').notReady();
  }

  pending(): OwnedPodBuilder {
    return this.inPhase('Pending').notReady();
  }

  inPhase(phase: string): OwnedPodBuilder {
    return this.#withStatus({ phase });
  }

  notReady(): OwnedPodBuilder {
    return this.#withStatus({ conditions: [{ type: 'Ready', status: 'False' }] });
  }

  unreadyFor(seconds: number): OwnedPodBuilder {
    const lastTransitionTime = new Date(NOW_MS - seconds * 1000).toISOString();
    return this.#withStatus({ conditions: [{ type: 'Ready', status: 'False', lastTransitionTime }] });
  }

  /** In the scheduler's words. */
  unschedulable(message: string): OwnedPodBuilder {
    const scheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    return this.pending().#withStatus({ conditions: [scheduled] });
  }

  gated(gate: string): OwnedPodBuilder {
    const scheduled = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' };
    const pod = this.pending().#withStatus({ conditions: [scheduled] }).#pod;
    return new OwnedPodBuilder({ ...pod, spec: { ...pod.spec, ...{ schedulingGates: [{ name: gate }] } } });
  }

  /** With one container, of which the kubelet says this. */
  withContainer(status: object): OwnedPodBuilder {
    const container = { name: 'busybox', image: 'busybox', restartCount: 0, ...status };
    return this.pending().#withStatus({ containerStatuses: [container] });
  }

  /** For so many seconds. */
  readyFor(seconds: number): OwnedPodBuilder {
    const lastTransitionTime = new Date(NOW_MS - seconds * 1000).toISOString();
    return this.#withStatus({ conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] });
  }

  restarted(times: number): OwnedPodBuilder {
    return this.#withStatus({ containerStatuses: [{ restartCount: times }] });
  }

  on(nodeName: string): OwnedPodBuilder {
    return new OwnedPodBuilder({ ...this.#pod, spec: { ...this.#pod.spec, nodeName } });
  }

  unscheduled(): OwnedPodBuilder {
    return new OwnedPodBuilder({ ...this.#pod, spec: {} });
  }

  /** As the API server sends it. */
  get object(): Pod {
    return this.#pod;
  }

  /** As the watcher keeps it. */
  get view(): PodOfSet {
    const view = podOfSet(this.#pod);
    if (view === undefined) throw new Error('no Pod');
    return view;
  }

  #withMetadata(metadata: Partial<Pod['metadata']>): OwnedPodBuilder {
    return new OwnedPodBuilder({ ...this.#pod, metadata: { ...this.#pod.metadata, ...metadata } });
  }

  #withStatus(status: NonNullable<Pod['status']>): OwnedPodBuilder {
    return new OwnedPodBuilder({ ...this.#pod, status: { ...this.#pod.status, ...status } });
  }
}

const controller = definedController(definition);

/** What a step has found out. */
export interface Known {
  /** `named`, or `node n1` */
  readonly lookups?: LookupValues;
  /** The step that was refused just now. */
  readonly refused?: RefusedStep;
}

/** @param known undefined: it is the watcher that decides */
export function observationOf(
  podSet: PodSetBuilder,
  pods: readonly OwnedPodBuilder[],
  known?: Known,
): DefinedObservation {
  const [child] = controller.children;
  const views = pods.flatMap(({ object }) => child?.view(object) ?? []);
  const seen = controller.observation(podSet.view, views, podSet.object.metadata);
  if (known === undefined || seen === 'gone') return seen;
  const { lookups = {}, refused } = known;
  return { ...seen, lookups, live: refused === undefined ? {} : { refused } };
}

/** As the operator decides. */
export function decided(...about: Parameters<typeof observationOf>): NextStep {
  return controller.decide(observationOf(...about), NOW_MS);
}

/** The write of the status while the next step is held. */
export function heldStatus(...about: Parameters<typeof observationOf>) {
  return controller.statusStep?.(observationOf(...about), NOW_MS);
}

/** @throws Error where it is not written */
export function statusWrite(...about: Parameters<typeof observationOf>): StatusWrite {
  const step = decided(...about);
  if (isStatusWrite(step)) return step;
  throw new Error(`the status is not written, but: ${step.do}`);
}

/** With the status that says all there is to say of these Pods. */
export function settled(...[podSet, pods, known = {}]: Parameters<typeof observationOf>): PodSetBuilder {
  const step = decided(podSet, pods, known);
  return isStatusWrite(step) ? podSet.withStatus(step.status) : podSet;
}

/** In the words of a server that refuses a step. */
export function refusedBecause(message: string, step = 'createPods'): Known {
  return { refused: { step, cause: causeOfRefusal(message, { namespace: NAMESPACE }) } };
}

/** That those Pods, which the status names, were looked for, and those of them found that are there. */
export function lookedFor(names: readonly string[], ...found: readonly OwnedPodBuilder[]): Known {
  const pods = found.map(({ object: { metadata } }) => ({
    ...ownershipOf(metadata),
    hasLabels: hasLabels(metadata, 'web'),
  }));
  return { lookups: { named: { names, found: pods } } };
}
