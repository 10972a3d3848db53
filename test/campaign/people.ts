import { setTimeout as pause } from 'node:timers/promises';
import {
  BUILD_KIND,
  BUILDS,
  BUILD_UID_LABEL,
  SKIP_CLEANUP_ANNOTATION,
} from '../../src/controllers/git-build/kind.ts';
import { controllerOf, JOBS, NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../src/api/kinds.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { labelsFor, selectorFor } from '../../src/controllers/pod-set/pod.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { POD_SET_KIND, type PodSet } from '../support/pod-sets.ts';
import {
  APPROVAL_ANNOTATION,
  PAUSED_ANNOTATION,
  POLL_INTERVAL_ANNOTATION,
  RECONCILE_REQUESTED_ANNOTATION,
} from '../../src/api/annotations.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { PathType } from '../../src/kubernetes/paths.ts';
import { type At, type Manifest, type TestCluster } from '../support/cluster.ts';
import { aPod } from '../support/pods.ts';
import { approvalOf, awaitedPlanIn, rejectionOf, type Annotations } from './approvals.ts';
import type { OneOf } from './one-of.ts';
import { InsistentCluster, type Propagation } from './insistent-cluster.ts';
import { buildSpec, gitUrlOf, UNNAMED_ANNOTATION, type BuildFields, type Place } from './place.ts';
import { Team } from './team.ts';

const CONFIG_MAPS: PathType = { group: '', version: 'v1', plural: 'configmaps' };
const OTHER_OWNER = 'another-controller';
const PLANNED_WITHIN_MS = 6_000;
/** How long failed Pods stay before somebody deletes them: the set has seen all of them by then, and waits for minutes. */
const LOOKED_INTO_MS = 14_000;

/** What an annotation is set on: a resource, or the Namespace that resources are in. */
export interface Target {
  readonly kind: 'pod' | 'set' | 'build' | 'namespace';
  /** Of a Namespace: `home` or `team`. */
  readonly name: string;
}

type Of<Name extends string, Value = string> = Readonly<Record<Name, Value>>;
type OfPod = Of<'pod'>;
type OfSet = Of<'set'>;
type OfBuild = Of<'build'>;
type OfJob = Of<'job'>;
type PodsOfSet = OfSet & Of<'count', number>;
type Annotated = Of<'annotation', string | null>;
type Scaled = Of<'replicas', number>;
type Propagated = Of<'propagation', Propagation>;
type OnTarget = Of<'on', Target>;

/** What a person does, with its fields. */
export type Change = OneOf<'change', People['changes']>;

/**
 * What people do during a schedule, straight at the API server. Who finds it away tries again. Changes of one object are
 * made one after the other; nobody waits for the operator, but for an object to be gone whose successor is created.
 */
export class People {
  readonly #admin: TestCluster;
  readonly #cluster: InsistentCluster;
  readonly #place: Place;
  readonly #team: Team;
  /** The last change of each object. */
  readonly #queues = new Map<string, Promise<void>>();
  /** Ends when nobody need wait any more. */
  readonly #leaving = new AbortController();
  /** UIDs of what the operator must never write. */
  readonly foreign = new Set<string>();
  readonly failures: string[] = [];

  constructor(cluster: TestCluster, place: Place) {
    this.#admin = cluster;
    this.#cluster = new InsistentCluster(cluster, this.#leaving.signal);
    this.#place = place;
    this.#team = new Team(this.#cluster, place.team, this.foreign);
  }

  async moveIn(): Promise<void> {
    const { home, team } = this.#place;
    for (const name of [home, team]) await this.#admin.createNamespace(name);
    await this.#admin.create(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: OTHER_OWNER, namespace: home },
    });
  }

  /** Begins it once the earlier changes of the same object are made. */
  do(change: Change): void {
    const key = objectOf(change);
    const before = this.#queues.get(key) ?? Promise.resolve();
    const made = before
      .then(() => this.#make(change))
      .catch((error: unknown) => this.#failed(change.change, error));
    this.#queues.set(key, made);
  }

  /** Resolves once all that was begun is made. */
  async done(): Promise<void> {
    await Promise.all(this.#queues.values());
  }

  /** What is not made by now never is. */
  leave(): void {
    this.#leaving.abort();
  }

  #failed(change: string, error: unknown): void {
    if (!this.#leaving.signal.aborted) this.failures.push(`${change}: ${String(error)}`);
  }

  /** What people can do. Each is safe where its object is not there: then nothing is done. */
  readonly changes = {
    'create pod': ({ pod, annotation }: OfPod & Annotated) => this.#createPod(pod, annotation),
    /** A Pod that has to get its label within 20 s although something else goes wrong. */
    probe: ({ pod }: OfPod) => this.#createPod(pod, 'true'),
    'annotate pod': ({ pod, annotation }: OfPod & Annotated) =>
      this.#edit(this.#pod(pod), { annotations: { [POD_NAME_ANNOTATION]: annotation } }),
    /** Null: the label is taken away. */
    'label pod': ({ pod, label }: OfPod & Of<'label', string | null>) =>
      this.#edit(this.#pod(pod), { labels: { [POD_NAME_LABEL]: label } }),
    'delete pod': ({ pod }: OfPod) => this.#cluster.delete(this.#pod(pod)),
    'create set': ({ set, replicas }: OfSet & Scaled) =>
      this.#cluster.create(PodSetKind, { ...POD_SET_KIND, metadata: this.#at(set), spec: { replicas } }),
    'scale set': ({ set, replicas }: OfSet & Scaled) =>
      this.#cluster.patch(this.#set(set), { spec: { replicas } }),
    'delete set': ({ set, propagation }: OfSet & Propagated) =>
      this.#cluster.delete(this.#set(set), propagation),
    /** Of the set's Pods, as many as there are at most. */
    'delete Pods of set': (pods: PodsOfSet) => this.#eachPod(pods, (at) => this.#cluster.delete(at)),
    /** They are given other labels, so that the set has to release them. */
    'relabel Pods of set': (pods: PodsOfSet) => this.#eachPod(pods, (at) => this.#relabel(at, pods.set)),
    /** They lose their owner references, so that the set has to adopt them. */
    'orphan Pods of set': (pods: PodsOfSet) =>
      this.#eachPod(pods, (at) => this.#edit(at, { ownerReferences: null })),
    /** All fail at once, and are deleted by hand while the set waits before it replaces them. */
    'fail Pods of set': ({ set }: OfSet) => this.#failPods(set),
    /** Has the set's labels, and no controller: it is adopted. */
    'create orphan': ({ set, pod }: OfSet & OfPod) => this.#cluster.create(PODS, podOf(this.#at(pod), set)),
    /** Has the set's labels, and another controller. */
    'create foreign pod': ({ set, pod }: OfSet & OfPod) => this.#createForeignPod(set, pod),
    'create build': ({ build, spec }: OfBuild & Of<'spec', BuildFields>) =>
      this.#cluster.create(BUILDS, {
        ...BUILD_KIND,
        metadata: this.#at(build),
        spec: buildSpec(spec, this.#place),
      }),
    'edit build': ({ build, spec: { repository, ...spec } }: OfBuild & Of<'spec', Partial<BuildFields>>) => {
      const gitUrl = repository === undefined ? {} : { gitUrl: gitUrlOf(repository, this.#place.secret) };
      return this.#cluster.patch(this.#build(build), { spec: { ...spec, ...gitUrl } });
    },
    'delete build': ({ build, propagation }: OfBuild & Propagated) =>
      this.#cluster.delete(this.#build(build), propagation),
    'skip cleanup': ({ build }: OfBuild) =>
      this.#edit(this.#build(build), { annotations: { [SKIP_CLEANUP_ANNOTATION]: 'true' } }),
    'delete Jobs of build': ({ build }: OfBuild) =>
      this.#eachJob(build, (at) => this.#cluster.delete(at, 'Background')),
    /** The Jobs lose their owner references. */
    'strip Jobs of build': ({ build }: OfBuild) =>
      this.#eachJob(build, (at) => this.#edit(at, { ownerReferences: null })),
    'create foreign job': ({ job }: OfJob) => this.#createForeignJob(job),
    'delete foreign job': ({ job }: OfJob) => this.#deleteForeignJob(job),
    /** No Pod can be created in the home namespace while it is there. */
    'forbid Pods': ({ forbidden }: Of<'forbidden', boolean>) => this.#forbidPods(forbidden),
    'select team': ({ selected }: Of<'selected', boolean>) => this.#team.select(selected),
    'delete binding': () => this.#team.deleteBinding(),
    'edit binding': () => this.#team.editBinding(),
    /** Another role: the roleRef cannot be changed. */
    'replace binding': () => this.#team.replaceBinding(),
    /** One that is not the operator's has its name. */
    'create foreign binding': () => this.#team.createForeignBinding(),
    'delete team': () => this.#team.delete(),
    'create team': () => this.#team.create(),
    pause: ({ on, paused }: OnTarget & Of<'paused', boolean>) =>
      this.#annotate(on, { [PAUSED_ANNOTATION]: paused ? 'true' : null }),
    'request reconcile': ({ on }: OnTarget) =>
      this.#annotate(on, { [RECONCILE_REQUESTED_ANNOTATION]: new Date().toISOString() }),
    'require approval': ({ on, required }: OnTarget & Of<'required', boolean>) =>
      this.#annotate(on, { [APPROVAL_ANNOTATION]: required ? 'required' : null }),
    /** The plan that its status shows, or will show soon. */
    approve: ({ on }: OnTarget) => this.#answer(on, approvalOf),
    reject: ({ on }: OnTarget) => this.#answer(on, rejectionOf),
    /** Null: no longer. */
    poll: ({ on, interval }: OnTarget & Of<'interval', string | null>) =>
      this.#annotate(on, { [POLL_INTERVAL_ANNOTATION]: interval }),
    /** From now on, each plan that a status shows, rejected before or not. */
    'approve all': () => {
      this.#approveAll().catch((error: unknown) => this.#failed('approve all', error));
      return Promise.resolve();
    },
  };

  #make(change: Change): Promise<void> {
    // Each takes the fields of the change that it is named after.
    const make = this.changes[change.change] as (fields: Change) => Promise<void>;
    return make(change);
  }

  #edit(at: At, metadata: object): Promise<void> {
    return this.#cluster.patch(at, { metadata });
  }

  #at(name: string): { readonly name: string; readonly namespace: string } {
    return { name, namespace: this.#place.home };
  }

  readonly #pod = (name: string): At => ({ type: PODS, ...this.#at(name) });
  readonly #set = (name: string): At => ({ type: PodSetKind, ...this.#at(name) });
  readonly #build = (name: string): At => ({ type: BUILDS, ...this.#at(name) });

  #target({ kind, name }: Target): At {
    switch (kind) {
      case 'pod':
        return this.#pod(name);
      case 'set':
        return this.#set(name);
      case 'build':
        return this.#build(name);
      case 'namespace':
        return { type: NAMESPACES, name: name === 'home' ? this.#place.home : this.#place.team };
    }
  }

  #annotate(on: Target, annotations: Annotations): Promise<void> {
    return this.#edit(this.#target(on), { annotations });
  }

  /** Nobody waits for a plan for ever: what is not to be deleted needs none. */
  async #answer(on: Target, answerOf: (plan: string) => Annotations): Promise<void> {
    const deadline = performance.now() + PLANNED_WITHIN_MS;
    while (performance.now() < deadline) {
      const plan = awaitedPlanIn(await this.#cluster.get(this.#target(on)));
      if (plan !== undefined) return this.#annotate(on, answerOf(plan));
      await this.#cluster.pause();
    }
  }

  async #approveAll(): Promise<void> {
    while (!this.#leaving.signal.aborted) {
      for (const [kind, type] of [['set', PodSetKind] as const, ['build', BUILDS] as const]) {
        for (const object of await this.#cluster.list(type, { namespace: this.#place.home })) {
          const plan = awaitedPlanIn(object);
          const on = { kind, name: object.metadata.name };
          if (plan !== undefined) await this.#annotate(on, approvalOf(plan));
        }
      }
      await this.#cluster.pause();
    }
  }

  #createPod(name: string, annotation: string | null): Promise<void> {
    const pod = aPod().in(this.#place.home).named(name);
    return this.#cluster.create(PODS, (annotation === null ? pod : pod.annotated(annotation)).manifest);
  }

  async #createForeignPod(set: string, pod: string): Promise<void> {
    const manifest = podOf({ ...this.#at(pod), ownerReferences: await this.#otherOwner() }, set);
    await this.#cluster.create(PODS, manifest);
    await this.#noteForeign(this.#pod(pod));
  }

  /** As owner references. */
  async #otherOwner(): Promise<readonly object[]> {
    const owner = await this.#cluster.get({ type: CONFIG_MAPS, ...this.#at(OTHER_OWNER) });
    if (owner === undefined) return [];
    const { uid } = owner.metadata;
    return [{ apiVersion: 'v1', kind: 'ConfigMap', name: OTHER_OWNER, uid, controller: true }];
  }

  async #createForeignJob(name: string): Promise<void> {
    const containers = [
      { name: 'other', image: 'busybox', env: [{ name: 'COMMAND', value: 'sleep infinity' }] },
    ];
    const at = this.#at(name);
    await this.#cluster.create(JOBS, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: at,
      spec: { template: { spec: { restartPolicy: 'Never', containers } } },
    });
    const job = await this.#cluster.get({ type: JOBS, ...at });
    if (job !== undefined && job.metadata.labels?.[BUILD_UID_LABEL] === undefined)
      this.foreign.add(job.metadata.uid);
  }

  async #deleteForeignJob(name: string): Promise<void> {
    const at = { type: JOBS, ...this.#at(name) };
    const job = await this.#cluster.get(at);
    if (job !== undefined && this.foreign.has(job.metadata.uid)) await this.#cluster.delete(at, 'Background');
  }

  async #noteForeign(at: At): Promise<void> {
    const object = await this.#cluster.get(at);
    if (object !== undefined) this.foreign.add(object.metadata.uid);
  }

  async #failPods(set: string): Promise<void> {
    const failed: KubernetesObject[] = [];
    for (const pod of await this.#podsOf(set)) {
      const at = this.#pod(pod.metadata.name);
      await this.#cluster.patch(at, { status: { phase: 'Failed' } }, 'status');
      failed.push(pod);
    }
    await pause(LOOKED_INTO_MS);
    for (const { metadata } of failed) await this.#cluster.delete(this.#pod(metadata.name));
  }

  async #eachPod({ set, count }: PodsOfSet, act: (at: At) => Promise<void>): Promise<void> {
    const pods = await this.#podsOf(set);
    for (const { metadata } of pods.slice(0, count)) await act(this.#pod(metadata.name));
  }

  /** The operator finds it again by what the status says; docs/controllers/pod-set.md says what becomes of others. */
  async #relabel(at: At, set: string): Promise<void> {
    const found = await this.#cluster.get<PodSet>(this.#set(set));
    const isNamed = found?.status?.podNames?.includes(at.name) ?? false;
    await this.#edit(at, {
      labels: { app: 'somebody-elses' },
      ...(!isNamed && { annotations: { [UNNAMED_ANNOTATION]: 'true' } }),
    });
  }

  async #podsOf(set: string): Promise<readonly KubernetesObject[]> {
    const pods = await this.#cluster.list(PODS, {
      namespace: this.#place.home,
      labelSelector: selectorFor(set),
    });
    return pods.filter(({ metadata }) => controllerOf(metadata)?.kind === POD_SET_KIND.kind);
  }

  async #eachJob(build: string, act: (at: At) => Promise<void>): Promise<void> {
    const found = await this.#cluster.get(this.#build(build));
    if (found === undefined) return;
    const jobs = await this.#cluster.list(JOBS, {
      namespace: this.#place.home,
      labelSelector: `${BUILD_UID_LABEL}=${found.metadata.uid}`,
    });
    for (const { metadata } of jobs) await act({ type: JOBS, ...this.#at(metadata.name) });
  }

  #forbidPods(isForbidden: boolean): Promise<void> {
    const at = this.#at('no-pods');
    if (!isForbidden) return this.#cluster.delete({ type: RESOURCE_QUOTAS, ...at });
    return this.#cluster.create(RESOURCE_QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: at,
      spec: { hard: { pods: '0' } },
    });
  }
}

function podOf(metadata: Manifest['metadata'], set: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, labels: labelsFor(set) },
    spec: { containers: [{ name: 'busybox', image: 'busybox', command: ['sleep', '3600'] }] },
  };
}

function objectOf(change: Change): string {
  if ('on' in change) return change.on.name === 'team' ? 'team' : `${change.on.kind} ${change.on.name}`;
  if ('set' in change && !('pod' in change)) return `set ${change.set}`;
  if ('pod' in change) return `pod ${change.pod}`;
  if ('build' in change) return `build ${change.build}`;
  if ('job' in change) return `job ${change.job}`;
  return change.change === 'forbid Pods' ? 'quota' : 'team';
}
