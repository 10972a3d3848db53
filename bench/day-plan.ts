import { BUILDS, type Build } from '../src/controllers/git-build/resource.ts';
import { RESOURCE_QUOTAS } from '../src/controllers/kinds.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { POD_SETS, type PodSet } from '../src/controllers/pod-set/resource.ts';
import { aBuild } from '../test/support/builds.ts';
import { PODS, type TestCluster } from '../test/support/cluster.ts';
import { eventually } from '../testing/eventually.ts';
import { aPodSet } from '../test/support/pod-sets.ts';
import { aPod } from '../test/support/pods.ts';
import { inFlight } from './load.ts';
import { namesOf } from './names.ts';

/** Where a day takes place. */
export interface Day {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly changeLeader: () => Promise<void>;
}

interface Happening {
  /** From 0 to 23. */
  readonly hour: number;
  readonly what: string;
  /** Resolves once the operator has done all that it calls for. */
  readonly happen: (day: Day) => Promise<unknown>;
}

const WITHIN_MS = 300_000;
const PLENTY = 10_000;
const LABELLED = namesOf('web', 100);
const SETS = namesOf('set', 10);
const BUILT = namesOf('build', 10);
const BROKEN = 'broken';

/** In the order of the hours; at night, nothing happens. */
export const DAY: readonly Happening[] = [
  { hour: 6, what: '100 Pods are to be labelled', happen: createPods },
  { hour: 7, what: '10 PodSets of 2 Pods are created', happen: createPodSets },
  { hour: 8, what: 'they are scaled to 10', happen: (day) => scale(day, 10) },
  { hour: 9, what: 'the labels are taken away', happen: (day) => annotate(day, false) },
  { hour: 10, what: '10 builds are created', happen: createBuilds },
  { hour: 11, what: 'the leader is replaced while labels are set', happen: changeLeaderUnderLoad },
  { hour: 13, what: 'the quota does not admit 20 Pods a PodSet', happen: scaleBeyondQuota },
  { hour: 14, what: 'the quota is raised', happen: raiseQuota },
  { hour: 15, what: 'a build fails', happen: failBuild },
  { hour: 16, what: 'its command is corrected', happen: correctBuild },
  { hour: 17, what: 'the builds are deleted', happen: deleteBuilds },
  { hour: 18, what: 'the PodSets are scaled to 1', happen: (day) => scale(day, 1) },
];

async function createPods(day: Day): Promise<void> {
  const { cluster, namespace } = day;
  await inFlight(LABELLED, (name) =>
    cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest),
  );
  await untilLabelled(day, true);
}

async function annotate(day: Day, isWanted: boolean): Promise<void> {
  const annotations = { [POD_NAME_ANNOTATION]: isWanted ? 'true' : null };
  await inFlight(LABELLED, (name) =>
    day.cluster.patch({ type: PODS, namespace: day.namespace, name }, { metadata: { annotations } }),
  );
  await untilLabelled(day, isWanted);
}

function untilLabelled({ cluster, namespace }: Day, isWanted: boolean): Promise<void> {
  return inFlight(LABELLED, (name) =>
    eventually(async () => {
      const pod = await cluster.get({ type: PODS, namespace, name });
      return (pod?.metadata.labels?.[POD_NAME_LABEL] === name) === isWanted;
    }, WITHIN_MS),
  );
}

async function createPodSets(day: Day): Promise<void> {
  const { cluster, namespace } = day;
  await inFlight(SETS, (name) =>
    cluster.create(POD_SETS, aPodSet().in(namespace).named(name).wanting(2).manifest),
  );
  await untilAll(day, isScaledTo(2));
}

async function scale(day: Day, replicas: number): Promise<void> {
  await want(day, replicas);
  await untilAll(day, isScaledTo(replicas));
}

function want({ cluster, namespace }: Day, replicas: number): Promise<void> {
  return inFlight(SETS, (name) => cluster.patch({ type: POD_SETS, namespace, name }, { spec: { replicas } }));
}

/** Of all PodSets. */
function untilAll({ cluster, namespace }: Day, isSo: (podSet: PodSet) => boolean): Promise<void> {
  return inFlight(SETS, (name) =>
    eventually(async () => {
      const podSet = await cluster.get<PodSet>({ type: POD_SETS, namespace, name });
      return podSet !== undefined && isSo(podSet);
    }, WITHIN_MS),
  );
}

function isScaledTo(replicas: number) {
  return ({ status }: PodSet) => status?.readyReplicas === replicas;
}

function isStalled({ status }: PodSet): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Stalled' && is === 'True') ?? false;
}

async function changeLeaderUnderLoad(day: Day): Promise<void> {
  await Promise.all([annotate(day, true), day.changeLeader()]);
}

const quotaOf = ({ namespace }: Day) => ({ type: RESOURCE_QUOTAS, namespace, name: 'pods' });

async function scaleBeyondQuota(day: Day): Promise<void> {
  const { name, namespace } = quotaOf(day);
  const pods = LABELLED.length + SETS.length * 10;
  await day.cluster.create(RESOURCE_QUOTAS, {
    ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
    ...{ metadata: { name, namespace }, spec: { hard: { pods: String(pods) } } },
  });
  await want(day, 20);
  await untilAll(day, isStalled);
}

async function raiseQuota(day: Day): Promise<void> {
  await day.cluster.patch(quotaOf(day), { spec: { hard: { pods: String(PLENTY) } } });
  await untilAll(day, isScaledTo(20));
}

const buildOf = ({ namespace }: Day, name: string) => aBuild(namespace, name).with({ jobName: name });

async function createBuilds(day: Day): Promise<void> {
  await inFlight(BUILT, (name) => day.cluster.create(BUILDS, buildOf(day, name).manifest));
  await inFlight(BUILT, (name) => untilBuilt(day, name, 'Succeeded'));
}

async function failBuild(day: Day): Promise<void> {
  await day.cluster.create(BUILDS, buildOf(day, BROKEN).failing().manifest);
  await untilBuilt(day, BROKEN, 'Failed');
}

async function correctBuild(day: Day): Promise<void> {
  const at = { type: BUILDS, namespace: day.namespace, name: BROKEN };
  await day.cluster.patch(at, { spec: { buildCommand: 'go build' } });
  await untilBuilt(day, BROKEN, 'Succeeded');
}

async function untilBuilt({ cluster, namespace }: Day, name: string, phase: string): Promise<void> {
  await eventually(async () => {
    const build = await cluster.get<Build>({ type: BUILDS, namespace, name });
    return build?.status?.phase === phase && build.status.observedGeneration === build.metadata.generation;
  }, WITHIN_MS);
}

async function deleteBuilds({ cluster, namespace }: Day): Promise<void> {
  await inFlight([...BUILT, BROKEN], (name) => cluster.deleteAndWait({ type: BUILDS, namespace, name }));
}
