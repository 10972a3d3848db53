import type { Client } from '@temporalio/client';
import { AWAITING_APPROVAL, PAUSED, RECONCILE_REQUESTED_ANNOTATION } from '../../src/api/annotations.ts';
import { type Condition } from '../../src/api/condition.ts';
import type { KubernetesObject, ObjectMeta } from '../../src/api/object.ts';
import { BUILD_FINALIZER, BUILDS, type StoredBuild as Build } from '../../src/controllers/git-build/kind.ts';
import { controllerOf } from '../../src/api/kinds.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet } from '../support/pod-sets.ts';
import { NAMESPACES, PODS, ROLE_BINDINGS, type TestCluster } from '../support/cluster.ts';
import { bindingOf, TEAM_LABEL, UNNAMED_ANNOTATION, type Place } from './place.ts';
import { hasLabelsOf, isPodOf } from './pods.ts';

/** What there is, without what differs from run to run: by the name of the object, in words. */
export type State = ReadonlyMap<string, string>;

interface Objects {
  readonly pods: readonly KubernetesObject[];
  readonly sets: readonly PodSet[];
  readonly builds: readonly Build[];
}

/** An open run, by what its id says. */
export interface OpenRun {
  readonly workflowId: string;
  readonly controller: string;
  readonly name: string;
  readonly uid: string;
}

/** The state of a run of a schedule, with the runs that are open. */
export async function stateOf(cluster: TestCluster, temporal: Client, place: Place): Promise<State> {
  const objects = await readAll(cluster, place);
  const runs = await openRuns(temporal, place);
  return new Map([
    ...objects.pods.flatMap(podFact),
    ...objects.sets.map((set) => setFact(set, objects.pods)),
    ...objects.builds.map(buildFact),
    ['namespace team', await teamFact(cluster, place.team)],
    ['namespace home', await teamFact(cluster, place.home)],
    [
      'open runs',
      runs
        .map((run) => nameOf(run, place))
        .sort()
        .join(', '),
    ],
  ]);
}

/** The differences between two states, one line each. */
export function differences(state: State, wanted: State): readonly string[] {
  const names = [...new Set([...state.keys(), ...wanted.keys()])].sort();
  return names
    .filter((name) => state.get(name) !== wanted.get(name))
    .map((name) => `${name}: ${state.get(name) ?? 'absent'}; undisturbed: ${wanted.get(name) ?? 'absent'}`);
}

async function readAll(cluster: TestCluster, { home }: Place): Promise<Objects> {
  const [pods, sets, builds] = await Promise.all([
    cluster.list(PODS, { namespace: home }),
    cluster.list<PodSet>(PodSetKind, { namespace: home }),
    cluster.list<Build>(BUILDS, { namespace: home }),
  ]);
  return { pods, sets, builds };
}

/** All whose task queue is the place's own. */
export async function openRuns(temporal: Client, { taskQueue }: Place): Promise<readonly OpenRun[]> {
  const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  const runs: OpenRun[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query })) {
    const [controller = '', , name = '', uid = ''] = workflowId.split('/');
    runs.push({ workflowId, controller, name, uid });
  }
  return runs;
}

/** By hand. One that has ended by now is left. */
export async function terminateRuns(temporal: Client, place: Place): Promise<void> {
  for (const { workflowId } of await openRuns(temporal, place)) {
    await temporal.workflow
      .getHandle(workflowId)
      .terminate('by hand')
      .catch(() => undefined);
  }
}

function nameOf({ controller, name }: OpenRun, { home, team }: Place): string {
  return `${controller} ${name.replace(home, 'home').replace(team, 'team')}`;
}

/** Those that no controller has made: what the operator may write of them is the label. */
function podFact({ metadata }: KubernetesObject): [string, string][] {
  const { name, labels, ownerReferences = [] } = metadata;
  if (ownerReferences.length > 0 || labels?.['app'] !== undefined) return [];
  const label = labels?.[POD_NAME_LABEL];
  return [
    [`pod ${name}`, label === undefined ? 'no label' : label === name ? 'its label' : `label ${label}`],
  ];
}

function setFact({ metadata, spec, status }: PodSet, pods: readonly KubernetesObject[]): [string, string] {
  const available = pods.filter(
    (pod) => pod.metadata.deletionTimestamp === undefined && isPodOf(metadata, pod),
  );
  const ours = available.map((pod) => pod.metadata.name);
  const orphans = pods.filter((pod) => hasLabelsOf(metadata.name, pod) && !controllerOf(pod.metadata));
  const conditions = factsIn(status?.conditions);
  const unreleased = pods.filter((pod) => isUnreleased(metadata, pod));
  const fact = {
    replicas: spec?.replicas,
    pods: ours.length,
    orphans: orphans.length,
    unreleased: unreleased.length,
    readyReplicas: status?.readyReplicas,
    namesThem: (status?.podNames ?? []).toSorted().join() === ours.toSorted().join(),
    isCurrent: status?.observedGeneration === metadata.generation,
    isRequestMet: isRequestMet(metadata, status),
    conditions: conditions.sort(),
  };
  return [`set ${metadata.name}`, JSON.stringify(fact)];
}

/** Whether the last reconcile that was requested has looked; true where none was. */
function isRequestMet({ annotations = {} }: ObjectMeta, status: PodSet['status'] | Build['status']): boolean {
  const requestedAt = annotations[RECONCILE_REQUESTED_ANNOTATION];
  return requestedAt === undefined || status?.lastHandledReconcileAt === requestedAt;
}

/** Whether somebody once held it is a matter of time. */
function factsIn(conditions: readonly Condition[] = []): string[] {
  return conditions
    .filter(({ type, status }) => status === 'True' || ![PAUSED, AWAITING_APPROVAL].includes(type))
    .map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}

/** It has lost the labels of the set that still controls it, after the status of the set had named it. */
function isUnreleased({ uid, name }: ObjectMeta, pod: KubernetesObject): boolean {
  const wasNamed = pod.metadata.annotations?.[UNNAMED_ANNOTATION] === undefined;
  return controllerOf(pod.metadata)?.uid === uid && !hasLabelsOf(name, pod) && wasNamed;
}

/** How often it was built, and where, is a matter of time; what is left of earlier specs is, until it has succeeded. */
function buildFact({ metadata, status }: Build): [string, string] {
  const conditions = factsIn(status?.conditions);
  const binaries = [...new Set((status?.artifacts ?? []).map(({ binary }) => binary))].sort();
  const fact = {
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    hasFinalizer: metadata.finalizers?.includes(BUILD_FINALIZER) ?? false,
    phase: status?.phase,
    jobName: status?.jobName,
    binaryName: status?.binaryName,
    isCurrent: status?.observedGeneration === metadata.generation,
    isRequestMet: isRequestMet(metadata, status),
    ...(status?.phase === 'Succeeded' && { binaries }),
    conditions: conditions.sort(),
  };
  return [`build ${metadata.name}`, JSON.stringify(fact)];
}

/** Whether the binding still has our label is a matter of history where it is as it should be anyway. */
async function teamFact(cluster: TestCluster, name: string): Promise<string> {
  const namespace = await cluster.get({ type: NAMESPACES, name });
  if (namespace === undefined) return 'absent';
  if (namespace.metadata.deletionTimestamp !== undefined) return 'being deleted';
  const selected = namespace.metadata.labels?.[TEAM_LABEL] !== 'no';
  const binding = await cluster.get({ type: ROLE_BINDINGS, namespace: name, name: bindingOf(name) });
  const isOurs = binding?.metadata.labels?.['app.kubernetes.io/managed-by'] === 'durable-operator';
  const bound = binding && JSON.stringify([binding['subjects'], binding['roleRef']]).replaceAll(name, 'NAME');
  return JSON.stringify({ selected, bound, ...(!selected && { isOurs }) });
}
