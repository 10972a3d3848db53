import { setTimeout as pause } from 'node:timers/promises';
import {
  BUILD_KIND,
  BUILDS,
  BUILD_UID_LABEL,
  SKIP_CLEANUP_ANNOTATION,
} from '../../src/controllers/git-build/resource.ts';
import { controllerOf, JOBS, NAMESPACES, PODS, QUOTAS } from '../../src/controllers/kinds.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { labelsFor, selectorFor } from '../../src/controllers/pod-set/pod.ts';
import { POD_SET_KIND, POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import {
  APPROVAL_ANNOTATION,
  PAUSED_ANNOTATION,
  POLL_INTERVAL_ANNOTATION,
  RECONCILE_REQUESTED_ANNOTATION,
} from '../../src/contract/control.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { unreachable } from '../../src/contract/unreachable.ts';
import type { ResourceType } from '../../src/kubernetes/paths.ts';
import { type At, type Manifest, type TestCluster } from '../support/cluster.ts';
import { aPod } from '../support/pods.ts';
import { approvalOf, awaitedPlanIn, rejectionOf, type Annotations } from './approvals.ts';
import type { Change, Target } from './events.ts';
import { InsistentCluster } from './insistent-cluster.ts';
import { buildSpec, gitUrlOf, UNNAMED_ANNOTATION, type Place } from './place.ts';
import { Team } from './team.ts';

const CONFIG_MAPS: ResourceType = { group: '', version: 'v1', plural: 'configmaps' };
const OTHER_OWNER = 'another-controller';
const PLANNED_WITHIN_MS = 6_000;
/** How long failed Pods stay before somebody deletes them: the set has seen all of them by then, and waits for minutes. */
const LOOKED_INTO_MS = 14_000;

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
    const made = before.then(() => this.#make(change)).catch((error: unknown) => this.#failed(change, error));
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

  #failed({ change }: Change, error: unknown): void {
    if (!this.#leaving.signal.aborted) this.failures.push(`${change}: ${String(error)}`);
  }

  async #make(change: Change): Promise<void> {
    switch (change.change) {
      case 'create pod':
        return this.#createPod(change.pod, change.annotation);
      case 'probe':
        return this.#createPod(change.pod, 'true');
      case 'annotate pod':
        return this.#cluster.patch(this.#pod(change.pod), {
          metadata: { annotations: { [POD_NAME_ANNOTATION]: change.annotation } },
        });
      case 'label pod':
        return this.#cluster.patch(this.#pod(change.pod), {
          metadata: { labels: { [POD_NAME_LABEL]: change.label } },
        });
      case 'delete pod':
        return this.#cluster.delete(this.#pod(change.pod));
      case 'create set':
        return this.#cluster.create(POD_SETS, {
          ...POD_SET_KIND,
          metadata: this.#at(change.set),
          spec: { replicas: change.replicas },
        });
      case 'scale set':
        return this.#cluster.patch(this.#set(change.set), { spec: { replicas: change.replicas } });
      case 'delete set':
        return this.#cluster.delete(this.#set(change.set), change.propagation);
      case 'delete Pods of set':
        return this.#eachPod(change, (at) => this.#cluster.delete(at));
      case 'relabel Pods of set':
        return this.#eachPod(change, (at) => this.#relabel(at, change.set));
      case 'take out Pods of set':
        return this.#takeOut(change.set, change.count);
      case 'orphan Pods of set':
        return this.#eachPod(change, (at) =>
          this.#cluster.patch(at, { metadata: { ownerReferences: null } }),
        );
      case 'fail Pods of set':
        return this.#failPods(change.set);
      case 'create orphan':
        return this.#cluster.create(PODS, podOf(this.#at(change.pod), change.set));
      case 'create foreign pod':
        return this.#createForeignPod(change.set, change.pod);
      case 'create build':
        return this.#cluster.create(BUILDS, {
          ...BUILD_KIND,
          metadata: this.#at(change.build),
          spec: buildSpec(change.spec, this.#place),
        });
      case 'edit build': {
        const { repository, ...spec } = change.spec;
        const gitUrl = repository === undefined ? {} : { gitUrl: gitUrlOf(repository, this.#place.secret) };
        return this.#cluster.patch(this.#build(change.build), { spec: { ...spec, ...gitUrl } });
      }
      case 'delete build':
        return this.#cluster.delete(this.#build(change.build), change.propagation);
      case 'skip cleanup':
        return this.#cluster.patch(this.#build(change.build), {
          metadata: { annotations: { [SKIP_CLEANUP_ANNOTATION]: 'true' } },
        });
      case 'delete Jobs of build':
        return this.#eachJob(change.build, (at) => this.#cluster.delete(at, 'Background'));
      case 'strip Jobs of build':
        return this.#eachJob(change.build, (at) =>
          this.#cluster.patch(at, { metadata: { ownerReferences: null } }),
        );
      case 'create foreign job':
        return this.#createForeignJob(change.job);
      case 'delete foreign job':
        return this.#deleteForeignJob(change.job);
      case 'forbid Pods':
        return this.#forbidPods(change.forbidden);
      case 'select team':
        return this.#team.select(change.selected);
      case 'delete binding':
        return this.#team.deleteBinding();
      case 'edit binding':
        return this.#team.editBinding();
      case 'replace binding':
        return this.#team.replaceBinding();
      case 'create foreign binding':
        return this.#team.createForeignBinding();
      case 'delete team':
        return this.#team.delete();
      case 'create team':
        return this.#team.create();
      case 'pause':
        return this.#annotate(change.on, { [PAUSED_ANNOTATION]: change.paused ? 'true' : null });
      case 'request reconcile':
        return this.#annotate(change.on, { [RECONCILE_REQUESTED_ANNOTATION]: new Date().toISOString() });
      case 'require approval':
        return this.#annotate(change.on, { [APPROVAL_ANNOTATION]: change.required ? 'required' : null });
      case 'approve':
        return this.#answer(change.on, approvalOf);
      case 'reject':
        return this.#answer(change.on, rejectionOf);
      case 'poll':
        return this.#annotate(change.on, { [POLL_INTERVAL_ANNOTATION]: change.interval });
      case 'approve all':
        void this.#approveAll().catch((error: unknown) => this.#failed(change, error));
        return;
      default:
        return unreachable(change);
    }
  }

  #at(name: string): { readonly name: string; readonly namespace: string } {
    return { name, namespace: this.#place.home };
  }

  readonly #pod = (name: string): At => ({ type: PODS, ...this.#at(name) });
  readonly #set = (name: string): At => ({ type: POD_SETS, ...this.#at(name) });
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
    return this.#cluster.patch(this.#target(on), { metadata: { annotations } });
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
      for (const [kind, type] of [['set', POD_SETS] as const, ['build', BUILDS] as const]) {
        for (const object of await this.#cluster.list(type, this.#place.home)) {
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

  async #eachPod(
    { set, count }: { readonly set: string; readonly count: number },
    act: (at: At) => Promise<void>,
  ): Promise<void> {
    const pods = await this.#podsOf(set);
    for (const { metadata } of pods.slice(0, count)) await act(this.#pod(metadata.name));
  }

  /** Once the first of them is deleted, by turns. */
  async #takeOut(set: string, count: number): Promise<void> {
    const before = await this.#podsOf(set);
    const deadline = performance.now() + PLANNED_WITHIN_MS;
    let pods = before;
    while (pods.length === before.length && performance.now() < deadline) {
      await this.#cluster.pause();
      pods = (await this.#podsOf(set)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    }
    const owner = await this.#otherOwner();
    for (const [index, { metadata }] of pods.slice(0, count).entries()) {
      const at = this.#pod(metadata.name);
      if (index % 2 === 0) await this.#relabel(at, set);
      else await this.#cluster.patch(at, { metadata: { ownerReferences: owner } });
    }
  }

  /** The operator finds it again by what the status says; docs/controllers/pod-set.md says what becomes of others. */
  async #relabel(at: At, set: string): Promise<void> {
    const found = await this.#cluster.get<PodSet>(this.#set(set));
    const isNamed = found?.status?.podNames?.includes(at.name) ?? false;
    await this.#cluster.patch(at, {
      metadata: {
        labels: { app: 'somebody-elses' },
        ...(!isNamed && { annotations: { [UNNAMED_ANNOTATION]: 'true' } }),
      },
    });
  }

  async #podsOf(set: string): Promise<readonly KubernetesObject[]> {
    const pods = await this.#cluster.list(PODS, this.#place.home, selectorFor(set));
    return pods.filter(({ metadata }) => controllerOf(metadata)?.kind === POD_SET_KIND.kind);
  }

  async #eachJob(build: string, act: (at: At) => Promise<void>): Promise<void> {
    const found = await this.#cluster.get(this.#build(build));
    if (found === undefined) return;
    for (const { metadata } of await this.#cluster.list(
      JOBS,
      this.#place.home,
      `${BUILD_UID_LABEL}=${found.metadata.uid}`,
    )) {
      await act({ type: JOBS, ...this.#at(metadata.name) });
    }
  }

  #forbidPods(isForbidden: boolean): Promise<void> {
    const at = this.#at('no-pods');
    if (!isForbidden) return this.#cluster.delete({ type: QUOTAS, ...at });
    return this.#cluster.create(QUOTAS, {
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
  // While others scale it down.
  if (change.change === 'take out Pods of set') return `Pods of set ${change.set}`;
  if ('set' in change && !('pod' in change)) return `set ${change.set}`;
  if ('pod' in change) return `pod ${change.pod}`;
  if ('build' in change) return `build ${change.build}`;
  if ('job' in change) return `job ${change.job}`;
  return change.change === 'forbid Pods' ? 'quota' : 'team';
}
