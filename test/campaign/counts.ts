import { BUILD_UID_LABEL } from '../../src/controllers/git-build/kind.ts';
import type { OwnerReference } from '../../src/api/object.ts';
import { controllerOf } from '../../src/api/kinds.ts';
import type { Journalled } from '../../testing/stack/api-proxy.ts';
import { isFault, type Schedule } from './events.ts';
import type { Change } from './people.ts';
import { objectIn, valueAt, writesOf } from './invariants.ts';
import type { Place } from './place.ts';

/** How often something is created, or deleted, by name: `create Pods of web-a`. */
export type Counts = ReadonlyMap<string, number>;

/** What the operator has created and deleted, by the API server's answers. */
export function countsIn(journal: readonly Journalled[], { home, team }: Place): Counts {
  const counts = new Map<string, number>();
  for (const { method, about, body, answer } of writesOf(journal)) {
    const verb = method === 'POST' ? 'create' : 'delete';
    const isOurs = about.namespace === home || about.namespace === team;
    if (!isOurs || (method !== 'POST' && method !== 'DELETE')) continue;
    const what = whatIn(about.resource, method === 'POST' ? body : answer);
    const where =
      about.resource === 'rolebindings' ? ` in ${about.namespace === team ? 'team' : 'home'}` : '';
    if (what !== undefined) add(counts, `${verb} ${what}${where}`, 1);
  }
  return counts;
}

function whatIn(resource: string, object: unknown): string | undefined {
  switch (resource) {
    case 'pods':
      return `Pods of ${ownerIn(object)}`;
    case 'rolebindings':
      return 'RoleBindings';
    case 'jobs':
      return valueAt(object, 'metadata', 'labels', BUILD_UID_LABEL) === undefined
        ? undefined
        : `${String(valueAt(object, 'metadata', 'labels', 'durable-operator.dev/job'))} Jobs of ${nameOfBuild(object)}`;
    default:
      return undefined;
  }
}

/** It may have lost the labels. */
function ownerIn(pod: unknown): string {
  const controller = controllerIn(pod);
  return controller?.kind === 'PodSet' ? controller.name : String(valueAt(pod, 'metadata', 'labels', 'app'));
}

function controllerIn(pod: unknown): OwnerReference | undefined {
  const object = objectIn(pod);
  return object && controllerOf(object.metadata);
}

function nameOfBuild(job: unknown): string {
  return String(valueAt(job, 'metadata', 'annotations', 'durable-operator.dev/build-name'));
}

/**
 * The most that the changes call for. Who follows each of them at once creates and deletes so much; who is late, and sees
 * several of them as one, does less. So an undisturbed run's counts are between nothing and these, and a disturbed
 * run's have to be, too. While admission changes what is created, two may be created in vain.
 */
export function mostCounts({ events }: Pick<Schedule, 'events'>): Counts {
  const most = new Map<string, number>([
    ['create RoleBindings in home', 1],
    ['create RoleBindings in team', 1],
  ]);
  const replicas = new Map<string, number>();
  for (const { what: change } of events) {
    if (isFault(change)) {
      if (change.fault === 'admission') addInVain(most, change.of);
      continue;
    }
    if ('set' in change) addForSet(most, replicas, change);
    if ('build' in change) addForBuild(most, change);
    addForTeam(most, change);
  }
  return most;
}

function addForSet(
  most: Map<string, number>,
  replicas: Map<string, number>,
  change: Change & { readonly set: string },
): void {
  const { set } = change;
  const before = replicas.get(set) ?? 0;
  const [creates, deletes] = [`create Pods of ${set}`, `delete Pods of ${set}`];
  if (change.change === 'create set' || change.change === 'scale set') {
    const more = change.replicas - (change.change === 'create set' ? 0 : before);
    add(most, creates, Math.max(0, more));
    // What an earlier set of the name has left to this one is adopted, and may be too many.
    add(most, deletes, change.change === 'create set' ? before : Math.max(0, -more));
    replicas.set(set, change.replicas);
  }
  if (change.change === 'delete Pods of set' || change.change === 'relabel Pods of set')
    add(most, creates, change.count);
  if (change.change === 'fail Pods of set') {
    add(most, creates, before + 1);
    add(most, deletes, before + 1);
  }
  if (change.change === 'orphan Pods of set' || change.change === 'create orphan') add(most, deletes, 1);
}

function addForBuild(
  most: Map<string, number>,
  { change, build }: Change & { readonly build: string },
): void {
  const creates = change === 'create build' || change === 'edit build' || change === 'delete Jobs of build';
  if (!creates) return;
  add(most, `create build Jobs of ${build}`, 1);
  add(most, `delete build Jobs of ${build}`, 1);
  // Each may have run on another node; and one that people delete is made again.
  add(most, `create cleanup Jobs of ${build}`, 2);
  add(most, `delete cleanup Jobs of ${build}`, 2);
}

function addForTeam(most: Map<string, number>, { change }: Change): void {
  const creates = [
    'delete binding',
    'replace binding',
    'create foreign binding',
    'create team',
    'select team',
  ];
  if (creates.includes(change)) add(most, 'create RoleBindings in team', 2);
  if (change === 'replace binding') add(most, 'delete RoleBindings in team', 1);
}

const IN_VAIN = 2;

function addInVain(most: Map<string, number>, name: string): void {
  for (const verb of ['create', 'delete'])
    for (const what of ['Pods', 'build Jobs', 'cleanup Jobs'])
      add(most, `${verb} ${what} of ${name}`, IN_VAIN);
}

/** I2: one sentence each. */
export function tooMany(counts: Counts, most: Counts): readonly string[] {
  return [...counts].flatMap(([what, count]) => {
    const limit = most.get(what) ?? 0;
    return count > limit ? `I2: ${what}: ${count} times, where the changes call for ${limit} at most` : [];
  });
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}
