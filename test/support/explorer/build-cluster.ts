import type { ResourceType } from '../../../src/api/resource-type.ts';
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';
import { type JobView, type PodView, jobView, podView } from '../../../src/controllers/git-build/views.ts';
import {
  BINARY_NAME_ANNOTATION,
  BUILDS,
  type StoredBuild as Build,
  type JobPurpose,
} from '../../../src/controllers/git-build/kind.ts';
import { JOBS, NODES, PODS } from '../../../src/api/kinds.ts';
import { FOREGROUND, KUBELET } from '../../../testing/explorer/api-server.ts';
import { objectKey, type SimulatedCluster, type Found } from '../../../testing/explorer/cluster.ts';
import type { Move } from '../../../testing/explorer/world.ts';

/** What is on the disk of a node: no object of Kubernetes'. */
export const DISKS: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'disks',
  kind: 'Disk',
  namespaced: false,
};

interface Disk extends KubernetesObject {
  readonly files: readonly string[];
}

/** A Job as the operator creates it, as far as the Job controller looks at it. */
export interface Job extends KubernetesObject {
  readonly spec: { readonly template: { readonly metadata: Pick<ObjectMeta, 'labels' | 'annotations'> } };
}

/** Source: kubernetes/pkg/apis/batch/types.go, `ControllerUidLabel`. */
const CONTROLLER_UID_LABEL = 'batch.kubernetes.io/controller-uid';
/**
 * On Pods whose Job somebody else has deleted. One that runs is given time to end, 30 s by default, in which the operator
 * records where it ran; one that has ended goes at once, and the model takes it that the operator has read it before.
 */
const LINGERS_ANNOTATION = 'explorer/lingers';

/** What has come to pass, and is no object of Kubernetes'. */
export const MARKS: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'marks',
  kind: 'Mark',
  namespaced: false,
};

export function mark(cluster: SimulatedCluster, name: string): void {
  if (!isMarked(cluster, name)) cluster.create(MARKS, { metadata: { name, uid: `uid-of-mark-${name}` } });
}

export function isMarked(cluster: SimulatedCluster, name: string): boolean {
  return cluster.get(objectKey(MARKS, name)) !== undefined;
}

/** The operator has listed these Pods. */
export function markRead(pods: readonly KubernetesObject[], cluster: SimulatedCluster): void {
  for (const { metadata } of pods) {
    if (metadata.annotations?.[LINGERS_ANNOTATION] !== undefined) mark(cluster, `read-${metadata.name}`);
  }
}

interface Running {
  readonly key: string;
  readonly object: KubernetesObject;
  readonly pod: PodView;
}

interface Working {
  readonly key: string;
  readonly object: Job;
  readonly job: JobView;
}

/** What the Job controller, the scheduler, the kubelets and the garbage collector do with the operator's Jobs. */
export class BuildCluster {
  readonly cluster: SimulatedCluster;
  readonly #jobs: readonly Working[];
  readonly #pods: readonly Running[];

  constructor(cluster: SimulatedCluster) {
    this.cluster = cluster;
    this.#jobs = cluster.list<Job>(JOBS).flatMap(({ key, object }) => {
      const job = jobView(object);
      return job === undefined ? [] : [{ key, object, job }];
    });
    this.#pods = cluster.list(PODS).flatMap(({ key, object }) => {
      const pod = podView(object);
      return pod === undefined ? [] : [{ key, object, pod }];
    });
  }

  get #build(): Build | undefined {
    return this.cluster.list<Build>(BUILDS)[0]?.object;
  }

  happenings(): readonly Move[] {
    return [
      ...this.#jobs.flatMap((job) => this.#ofJob(job)),
      ...this.#pods.flatMap((pod) => this.#ofPod(pod)),
    ];
  }

  #ofJob({ key, object, job }: Working): Move[] {
    const pods = this.#podsOf(job);
    if (job.deleting) return this.#collected(key, pods);
    const isOrphan = job.owned && this.#build?.metadata.uid !== job.buildUid;
    if (isOrphan)
      return [{ what: `${key} is collected`, change: (cluster) => cluster.markDeleted(key, [FOREGROUND]) }];
    if (job.state !== 'active') return [];
    if (pods.some(({ pod }) => pod.phase === 'succeeded')) return [ends(key, 'Complete')];
    const isBusy = pods.some(({ pod }) => pod.phase === 'unfinished');
    return isBusy ? [] : this.#starts(key, object, job);
  }

  /** In the foreground, the Job goes after its Pods. */
  #collected(key: string, pods: readonly Running[]): Move[] {
    if (pods.length === 0) return [{ what: `${key} is gone`, change: (cluster) => cluster.remove(key) }];
    return [];
  }

  #starts(key: string, job: Job, { purpose, node }: JobView): Move[] {
    const nodes = this.cluster.list(NODES).map(({ object }) => object.metadata.name);
    if (purpose === 'build')
      return nodes.map((each) => ({
        what: `${key} runs on ${each}`,
        change: (cluster) => run(cluster, job, each),
      }));
    if (nodes.includes(node))
      return [{ what: `${key} runs on ${node}`, change: (cluster) => run(cluster, job, node) }];
    return [{ what: `${key} finds no node`, change: (cluster) => run(cluster, job, undefined) }];
  }

  #ofPod({ key, object, pod }: Running): Move[] {
    const job = this.#jobs.find(({ job: { uid } }) => uid === pod.jobUid)?.job;
    if (object.metadata.deletionTimestamp !== undefined) {
      const goes: Move = { what: `${key} is gone`, change: (cluster) => cluster.remove(key) };
      return this.#mayGo(object, pod) ? [...this.#writesAgain(key, pod), goes] : this.#writesAgain(key, pod);
    }
    if (job === undefined || job.deleting)
      return [{ what: `${key} is collected`, change: (cluster) => cluster.markDeleted(key, [KUBELET]) }];
    if (pod.phase !== 'unfinished' || !pod.started) return [];
    return [...this.#writesAgain(key, pod), succeeds(key, pod, job)];
  }

  /** A Pod that runs may copy its binary at any time. */
  #writesAgain(key: string, { purpose, phase, node, binary }: PodView): Move[] {
    const disk = this.cluster.get<Disk>(objectKey(DISKS, node));
    if (purpose !== 'build' || phase !== 'unfinished' || disk === undefined || disk.files.includes(binary))
      return [];
    return [{ what: `${key} writes again`, change: (cluster) => write(cluster, node, binary) }];
  }

  #mayGo({ metadata }: KubernetesObject, { node, binary, phase, buildUid }: PodView): boolean {
    if (metadata.annotations?.[LINGERS_ANNOTATION] === undefined) return true;
    const build = this.#build;
    // What was deleted by force has nobody who records anything.
    if (build?.metadata.uid !== buildUid) return true;
    if (phase !== 'unfinished' && isMarked(this.cluster, `read-${metadata.name}`)) return true;
    const { artifacts = [] } = build.status ?? {};
    return artifacts.some((each) => each.node === node && each.binary === binary);
  }

  /** A Pod fails: the Job fails with it, or tries again. */
  failures(of: JobPurpose, then: 'the Job fails' | 'another is started'): readonly Move[] {
    return this.#pods
      .filter(
        ({ object, pod }) =>
          pod.purpose === of && pod.phase === 'unfinished' && pod.started && !isDeleted(object),
      )
      .flatMap(({ key, pod }) => {
        const job = this.#jobs.find((each) => each.job.uid === pod.jobUid && !each.job.deleting);
        return job === undefined ? [] : [{ key, jobKey: job.key }];
      })
      .map(({ key, jobKey }) => ({
        what: `${key} fails: ${then}`,
        change: (cluster) => {
          cluster.change(key, (pod) => ({ ...pod, status: endedPod('Failed', 1, cluster.now) }));
          if (then === 'the Job fails') ends(jobKey, 'Failed').change(cluster);
        },
      }));
  }

  /** They lose their owner references. */
  strips(): readonly Move[] {
    return this.#jobs
      .filter(({ job }) => job.owned)
      .map(({ key }) => ({
        what: `${key} loses its owner`,
        change: (cluster) => cluster.changeMetadata(key, () => ({ ownerReferences: [] })),
      }));
  }

  /** By somebody else: at once, or after its Pods. */
  deletionsOfJobs(): readonly Move[] {
    return this.#jobs
      .filter(({ job }) => !job.deleting)
      .flatMap((working) => [
        {
          what: `somebody deletes ${working.key}`,
          change: (cluster: SimulatedCluster) => {
            this.#lingerPodsOf(working, cluster);
            cluster.remove(working.key);
          },
        },
        {
          what: `somebody deletes ${working.key} in the foreground`,
          change: (cluster: SimulatedCluster) => this.#deleteInForeground(working, cluster),
        },
      ]);
  }

  /** As the garbage collector does where the build is deleted in the foreground. */
  deleteOwned(): void {
    for (const working of this.#jobs) {
      if (working.job.owned && !working.job.deleting) this.#deleteInForeground(working, this.cluster);
    }
  }

  #deleteInForeground(working: Working, cluster: SimulatedCluster): void {
    this.#lingerPodsOf(working, cluster);
    cluster.markDeleted(working.key, [FOREGROUND]);
  }

  #lingerPodsOf({ job }: Working, cluster: SimulatedCluster): void {
    for (const { key, pod } of this.#podsOf(job)) {
      if (pod.purpose === 'build') lingers(cluster, key);
    }
  }

  lossesOfNodes(): readonly Move[] {
    return this.cluster.list(NODES).map(({ key, object: { metadata } }) => ({
      what: `node ${metadata.name} is lost`,
      change: (cluster) => {
        cluster.remove(key);
        cluster.remove(objectKey(DISKS, metadata.name));
        for (const { key: pod, pod: view } of this.#pods) {
          if (view.node === metadata.name && view.phase === 'unfinished') cluster.remove(pod);
        }
      },
    }));
  }

  /** A cleanup whose node is gone: no watch shows that. */
  isStrandedCleanup(name: string): boolean {
    const job = this.#jobs.find((each) => each.job.name === name)?.job;
    if (job === undefined || this.cluster.get(objectKey(NODES, job.node)) !== undefined) return false;
    return this.#podsOf(job).some(({ pod }) => pod.trouble !== undefined);
  }

  #podsOf({ uid }: JobView): readonly Running[] {
    return this.#pods.filter(({ pod }) => pod.jobUid === uid);
  }

  /** `n1/x` */
  files(): readonly string[] {
    return this.cluster
      .list<Disk>(DISKS)
      .flatMap(({ object }: Found<Disk>) => object.files.map((file) => `${object.metadata.name}/${file}`));
  }

  /** The Jobs that run something, or may yet. One whose Pod has succeeded starts no other, which it says a little later. */
  running(): readonly string[] {
    return this.#jobs
      .filter(({ job }) => {
        const pods = this.#podsOf(job);
        const runs = pods.some(({ pod }) => pod.started && pod.phase === 'unfinished');
        const startsNone = job.deleting || pods.some(({ pod }) => pod.phase === 'succeeded');
        return job.state === 'active' && (runs || !startsNone);
      })
      .map(({ key }) => key);
  }

  /** What of the build is left anywhere, or could put it back. */
  remains(): readonly string[] {
    return [
      ...this.files().map((file) => `${file} stays`),
      ...this.running().map((key) => `${key} still runs`),
      ...this.#pods
        .filter(({ pod }) => pod.purpose === 'build' && pod.phase === 'unfinished')
        .map(({ key }) => `${key} still builds`),
    ];
  }
}

/** The Job counts its Pods, so it changes with them. */
function run(cluster: SimulatedCluster, job: Job, node: string | undefined): void {
  const { name, uid } = job.metadata;
  const { labels, annotations } = job.spec.template.metadata;
  cluster.change(objectKey(JOBS, name), (before) => ({ ...before, status: { active: 1 } }));
  cluster.create(PODS, {
    metadata: {
      name: freeNameIn(cluster, `${name}-${uid}`),
      namespace: 'shop',
      labels: { ...labels, [CONTROLLER_UID_LABEL]: uid },
      annotations: annotations ?? {},
    },
    spec: node === undefined ? {} : { nodeName: node },
    status: node === undefined ? UNSCHEDULABLE : RUNNING,
  });
  const binary = annotations?.[BINARY_NAME_ANNOTATION];
  if (node !== undefined && binary !== undefined) write(cluster, node, binary);
}

function freeNameIn(cluster: SimulatedCluster, prefix: string): string {
  for (let ordinal = 0; ; ordinal += 1) {
    const name = `${prefix}-${ordinal}`;
    if (cluster.get(objectKey(PODS, name)) === undefined) return name;
  }
}

const RUNNING = { phase: 'Running', containerStatuses: [{ state: { running: {} } }] };
const UNSCHEDULABLE = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node' }],
};

function succeeds(key: string, { purpose, node }: PodView, job: JobView): Move {
  return {
    what: `${key} succeeds`,
    change: (cluster) => {
      cluster.change(key, (pod) => ({ ...pod, status: endedPod('Succeeded', 0, cluster.now) }));
      if (purpose === 'cleanup') clean(cluster, node, job.binaries);
    },
  };
}

function endedPod(phase: 'Succeeded' | 'Failed', exitCode: number, finishedAt: string) {
  return { phase, containerStatuses: [{ state: { terminated: { exitCode, finishedAt } } }] };
}

function ends(key: string, type: 'Complete' | 'Failed'): Move {
  return {
    what: `${key} is ${type}`,
    change: (cluster) => {
      const condition = { type, status: 'True', lastTransitionTime: cluster.now };
      cluster.change(key, (job) => ({ ...job, status: { conditions: [condition] } }));
    },
  };
}

function write(cluster: SimulatedCluster, node: string, file: string): void {
  const change = (disk: Disk) => ({ ...disk, files: [...new Set([...disk.files, file])].sort() });
  cluster.change<Disk>(objectKey(DISKS, node), change);
}

function clean(cluster: SimulatedCluster, node: string, files: readonly string[]): void {
  const change = (disk: Disk) => ({ ...disk, files: disk.files.filter((file) => !files.includes(file)) });
  cluster.change<Disk>(objectKey(DISKS, node), change);
}

function lingers(cluster: SimulatedCluster, key: string): void {
  cluster.changeMetadata(key, ({ annotations }) => ({
    annotations: { ...annotations, [LINGERS_ANNOTATION]: 'true' },
  }));
}

function isDeleted({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}
