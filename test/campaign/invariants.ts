import type { KubernetesObject } from '../../src/api/object.ts';
import {
  BINARIES_ANNOTATION,
  BINARY_NAME_ANNOTATION,
  BUILD_FINALIZER,
  BUILD_UID_LABEL,
  NODE_ANNOTATION,
  PURPOSE_LABEL,
  SKIP_CLEANUP_ANNOTATION,
} from '../../src/controllers/git-build/kind.ts';
import { controllerOf } from '../../src/api/kinds.ts';
import type { Journalled } from '../../testing/stack/api-proxy.ts';
import type { Version } from './observer.ts';
import type { Place } from './place.ts';
import { phaseOf } from './pods.ts';

/** What a run of a schedule has left to be judged. */
export interface Evidence {
  readonly place: Place;
  readonly journal: readonly Journalled[];
  /** Of home and team, in their order. */
  readonly versions: readonly Version[];
  /** UIDs of what the operator must not write. */
  readonly foreign: ReadonlySet<string>;
  /** Whether the database was restored: then versions repeat, and what was made may have been made twice. */
  readonly isRestored: boolean;
}

/** `I3: …`: each is one sentence, which names the object. */
export function violationsIn(evidence: Evidence): readonly string[] {
  return [
    ...preconditions(evidence),
    ...foreignWrites(evidence),
    ...observedGenerations(evidence),
    ...retryStorms(evidence),
    ...inVain(evidence),
    ...(evidence.isRestored ? [] : [...unheldJobs(evidence), ...leftBinaries(evidence)]),
  ];
}

/** The writes that the real server has accepted, Events apart. */
export function writesOf(journal: readonly Journalled[]): readonly Journalled[] {
  return journal.filter(
    ({ method, about, status = 500, path }) =>
      method !== 'GET' &&
      status < 300 &&
      !['events', 'leases', ''].includes(about.resource) &&
      !path.includes('dryRun'),
  );
}

export function nameOf({ method, about }: Journalled, { home, team }: Place): string {
  const { resource, namespace, name, subresource } = about;
  const where = namespace.replace(home, 'home').replace(team, 'team');
  return `${method} ${resource}${subresource && `/${subresource}`} ${where}/${name}`;
}

/** I3, of all that was sent, whatever came of it. */
function preconditions({ journal, place }: Evidence): string[] {
  return journal
    .filter(({ about }) => !['events', 'leases'].includes(about.resource))
    .flatMap((request) => {
      if (request.method === 'DELETE' && textAt(request.body, 'preconditions', 'uid') === undefined) {
        return `I3: ${nameOf(request, place)} carries no UID precondition`;
      }
      const isUpdate = request.method === 'PATCH' || request.method === 'PUT';
      return isUpdate && textAt(request.body, 'metadata', 'resourceVersion') === undefined
        ? `I3: ${nameOf(request, place)} carries no resourceVersion`
        : [];
    });
}

/** I4: by the very version that a write was conditional on, and by what a delete answers with. */
function foreignWrites({ journal, place, foreign, versions }: Evidence): string[] {
  const byVersion = new Map(
    versions.map(({ object }) => [`${object.metadata.uid} ${object.metadata.resourceVersion}`, object]),
  );
  // Also where an admission policy has kept it from being done.
  const tried = journal.filter(
    ({ method, body }) => method === 'DELETE' && foreign.has(textAt(body, 'preconditions', 'uid') ?? ''),
  );
  const done = writesOf(journal).flatMap((request) => {
    const object = objectIn(request.answer);
    const name = nameOf(request, place);
    const uid = uidIn(request.answer);
    if (uid !== undefined && foreign.has(uid)) return `I4: ${name} changed what is not the operator's`;
    if (object === undefined) return [];
    const isAdoption =
      request.method === 'PATCH' && Array.isArray(valueAt(request.body, 'metadata', 'ownerReferences'));
    const before = byVersion.get(
      `${object.metadata.uid} ${textAt(request.body, 'metadata', 'resourceVersion') ?? ''}`,
    );
    const owner = before && controllerOf(before.metadata)?.kind;
    return isAdoption && owner !== undefined && owner !== 'PodSet'
      ? `I4: ${name} took a Pod of ${owner}`
      : [];
  });
  return [
    ...tried.map((request) => `I4: ${nameOf(request, place)} is about what is not the operator's`),
    ...done,
  ];
}

/** I6: each status that is written is about the generation that it was decided from. */
function observedGenerations({ journal, place, versions }: Evidence): string[] {
  const wrong = writesOf(journal).flatMap((request) => {
    const object = objectIn(request.answer);
    if (request.about.subresource !== 'status' || object === undefined) return [];
    // Whoever says what holds it back observes no generation.
    if (isOfControls(valueAt(request.body, 'status')) || isOfFailure(request.body, object)) return [];
    const observed = valueAt(object, 'status', 'observedGeneration');
    return observed === object.metadata.generation
      ? []
      : `I6: ${nameOf(request, place)} observes generation ${String(observed)} of ${object.metadata.generation}`;
  });
  return [...wrong, ...readyTooSoon(versions)];
}

/** Where a write of a PodSet failed, its status says what there is, but observes no generation: Ready it may not be called then. */
function isOfFailure(body: unknown, answer: unknown): boolean {
  const status = valueAt(body, 'status');
  return status !== undefined && valueAt(status, 'observedGeneration') === undefined && !isReady(answer);
}

function isReady(object: unknown): boolean {
  return conditionsOf(object).some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** I6: whoever says Ready has what the spec asks for. */
function readyTooSoon(versions: readonly Version[]): string[] {
  const wrong = versions.find(({ resource, object }) => {
    const { metadata } = object;
    if (resource !== 'podsets' || valueAt(object, 'status', 'observedGeneration') !== metadata.generation)
      return false;
    return (
      isReady(object) && valueAt(object, 'status', 'readyReplicas') !== valueAt(object, 'spec', 'replicas')
    );
  });
  return wrong === undefined ? [] : [`I6: PodSet ${wrong.object.metadata.name} was Ready without its Pods`];
}

const OF_CONTROLS: readonly string[] = ['conditions', 'lastHandledReconcileAt', 'lastHandledApproval'];

function isOfControls(status: unknown): boolean {
  const fields = Object.keys(status ?? {});
  return fields.length > 0 && fields.every((field) => OF_CONTROLS.includes(field));
}

function conditionsOf(object: unknown): readonly { readonly type?: unknown; readonly status?: unknown }[] {
  const conditions = valueAt(object, 'status', 'conditions');
  return Array.isArray(conditions) ? (conditions as { type?: unknown; status?: unknown }[]) : [];
}

/** The first tries come after 0, 0, 0.5, 1, 2 and 4 s; a change and a second process may begin anew. */
const RETRIES = { most: 24, withinMs: 10_000 };

/** I7: what fails is tried again ever more slowly. */
function retryStorms({ journal, place }: Evidence): string[] {
  const failed = journal.filter(
    ({ method, about, status = 500 }) => method !== 'GET' && about.resource !== 'events' && status >= 400,
  );
  return tooOften(failed, place, RETRIES).map((what) => `I7: tried again and again: ${what}`);
}

const VAIN_PATCHES = { most: 10, withinMs: 60_000 };

/** I7: a PATCH that changes nothing, since admission undoes it, is made ever more slowly. */
function inVain({ journal, place }: Evidence): string[] {
  const vain = writesOf(journal).filter(({ method, body, answer }) => {
    const before = textAt(body, 'metadata', 'resourceVersion');
    const after = textAt(answer, 'metadata', 'resourceVersion');
    return method === 'PATCH' && before !== undefined && before === after;
  });
  return tooOften(vain, place, VAIN_PATCHES).map((what) => `I7: in vain: ${what}`);
}

interface Frequency {
  readonly most: number;
  readonly withinMs: number;
}

/** `PATCH pods home/web: more than 24 times in 10 s`, of each that was made so often. */
function tooOften(requests: readonly Journalled[], place: Place, { most, withinMs }: Frequency): string[] {
  const times = new Map<string, number[]>();
  for (const request of requests) {
    const created = request.method === 'POST' ? (textAt(request.body, 'metadata', 'name') ?? '') : '';
    const name = `${nameOf(request, place)}${created}`;
    times.set(name, [...(times.get(name) ?? []), request.atMs]);
  }
  return [...times].flatMap(([name, each]) => {
    const isStorm = each.some((at, index) => (each[index + most] ?? Infinity) - at < withinMs);
    return isStorm ? `${name}: more than ${most} times in ${withinMs / 1000} s` : [];
  });
}

/** I8: the finalizer comes first. */
function unheldJobs({ journal, versions }: Evidence): string[] {
  return writesOf(journal).flatMap(({ about, method, answer }) => {
    const job = objectIn(answer)?.metadata;
    const uid = job?.labels?.[BUILD_UID_LABEL];
    if (method !== 'POST' || about.resource !== 'jobs' || uid === undefined) return [];
    const isHeld = versions.some(
      ({ object: { metadata } }) =>
        metadata.uid === uid &&
        metadata.finalizers?.includes(BUILD_FINALIZER) === true &&
        Number(metadata.resourceVersion) < Number(job?.resourceVersion),
    );
    return isHeld ? [] : `I8: Job ${job?.name ?? ''} was created before the finalizer was there`;
  });
}

/**
 * I8, by what is on the disks of the nodes: a build's Pod that ran may have put its binary there, a cleanup's that
 * succeeded has removed it. A build that is gone has left nothing, and one that has succeeded nothing but its own, unless it is to skip the
 * cleanup.
 */
function leftBinaries({ versions, journal }: Evidence): string[] {
  const disks = disksAfter(versions, journal);
  const builds = new Map<string, Version>();
  for (const version of versions)
    if (version.resource === 'xxxes') builds.set(version.object.metadata.uid, version);
  return [...disks].flatMap((file) => {
    const [uid = '', node = '', binary = ''] = file.split(' ');
    const { object, isDeleted } = builds.get(uid) ?? {};
    if (object === undefined) return [];
    const { name, annotations } = object.metadata;
    if (isDeleted === true && annotations?.[SKIP_CLEANUP_ANNOTATION] !== 'true') {
      return `I8: build ${name} is gone, and ${binary} is still on ${node}`;
    }
    const isBuilt = valueAt(object, 'status', 'phase') === 'Succeeded';
    return isDeleted !== true && isBuilt && valueAt(object, 'spec', 'binaryName') !== binary
      ? `I8: build ${name} has another binary, and ${binary} is still on ${node}`
      : [];
  });
}

/**
 * `<uid of the build> <node> <binary>` of every file. Where a build ran whose Job somebody else has deleted, with its
 * Pods, before the operator came to see it, nobody can know: docs/controllers/git-build.md, "Limits".
 */
function disksAfter(versions: readonly Version[], journal: readonly Journalled[]): ReadonlySet<string> {
  const files = new Set<string>();
  const ended = new Set<string>();
  const taken = jobsTakenAway(versions, journal);
  const recorded = recordedFiles(versions);
  for (const { resource, object } of versions) {
    const { uid, labels = {}, annotations = {} } = object.metadata;
    const build = labels[BUILD_UID_LABEL];
    const isBuild = labels[PURPOSE_LABEL] === 'build';
    const phases = isBuild ? ['Running', 'Succeeded'] : ['Succeeded'];
    if (resource !== 'pods' || build === undefined || ended.has(uid)) continue;
    if (!phases.includes(String(phaseOf(object)))) continue;
    ended.add(uid);
    if (isBuild) {
      const node = valueAt(object, 'spec', 'nodeName');
      const file = `${build} ${String(node)} ${annotations[BINARY_NAME_ANNOTATION] ?? ''}`;
      if (recorded.has(file) || !taken.has(controllerOf(object.metadata)?.uid ?? '')) files.add(file);
    } else {
      const binaries = (annotations[BINARIES_ANNOTATION] ?? '').split(',');
      for (const binary of binaries) files.delete(`${build} ${annotations[NODE_ANNOTATION] ?? ''} ${binary}`);
    }
  }
  return files;
}

/** UIDs of Jobs whose deletion others have asked for, as a foreground deletion of the build does, while it was there. */
function jobsTakenAway(versions: readonly Version[], journal: readonly Journalled[]): ReadonlySet<string> {
  const deletes = writesOf(journal).filter(
    ({ method, about }) => method === 'DELETE' && about.resource === 'jobs',
  );
  const own = new Set(deletes.map(({ body }) => textAt(body, 'preconditions', 'uid')));
  const goneBuilds = new Set<string>();
  const taken = new Set<string>();
  for (const { resource, object, isDeleted } of versions) {
    const { uid, labels = {}, deletionTimestamp } = object.metadata;
    if (resource === 'xxxes' && isDeleted) goneBuilds.add(uid);
    const isGoing = isDeleted || deletionTimestamp !== undefined;
    const build = labels[BUILD_UID_LABEL];
    if (resource !== 'jobs' || build === undefined || !isGoing) continue;
    if (!own.has(uid) && !goneBuilds.has(build)) taken.add(uid);
  }
  return taken;
}

/** What any status has named. */
function recordedFiles(versions: readonly Version[]): ReadonlySet<string> {
  return new Set(
    versions.flatMap(({ resource, object }) => {
      const artifacts = valueAt(object, 'status', 'artifacts');
      if (resource !== 'xxxes' || !Array.isArray(artifacts)) return [];
      return artifacts.map((artifact: unknown) => {
        const [node, binary] = [valueAt(artifact, 'node'), valueAt(artifact, 'binary')];
        return `${object.metadata.uid} ${String(node)} ${String(binary)}`;
      });
    }),
  );
}

/** A Status is no object. */
export function objectIn(answer: unknown): KubernetesObject | undefined {
  const uid = valueAt(answer, 'metadata', 'uid');
  return typeof uid === 'string' ? (answer as KubernetesObject) : undefined;
}

/** Some deletes are answered with a Status, and not with the object. */
export function uidIn(answer: unknown): string | undefined {
  return objectIn(answer)?.metadata.uid ?? textAt(answer, 'details', 'uid');
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const field of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[field];
  }
  return found;
}
