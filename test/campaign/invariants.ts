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
  /** The operator's option; undefined: it does not have it. */
  readonly requireApprovalOver?: number;
  /** Whether the API server was restarted: its authorizer refuses everybody until it has read the roles again. */
  readonly isRestarted: boolean;
}

/** `I3: …`: each is one sentence, which names the object. */
export function violationsIn(evidence: Evidence): readonly string[] {
  return [
    ...preconditions(evidence),
    ...foreignWrites(evidence),
    ...observedGenerations(evidence),
    ...retryStorms(evidence),
    ...(evidence.isRestored ? [] : [...finalizers(evidence), ...leftBinaries(evidence)]),
    ...(evidence.isRestarted ? [] : forbidden(evidence)),
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

/** I4: by the very version that a write was conditional on, and by what a delete answers with; Pods: see taken-out.ts. */
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
  const written = writesOf(journal).flatMap((request) => {
    const object = objectIn(request.answer);
    if (request.about.subresource !== 'status' || object === undefined) return [];
    // Whoever says what holds it back observes no generation.
    if (isOfControls(valueAt(request.body, 'status')) || isOfFailure(request.body, object)) return [];
    const observed = valueAt(object, 'status', 'observedGeneration');
    return observed === object.metadata.generation
      ? []
      : `I6: ${nameOf(request, place)} observes generation ${String(observed)} of ${object.metadata.generation}`;
  });
  const ahead = versions.flatMap(({ resource, object }) => {
    const observed = valueAt(object, 'status', 'observedGeneration');
    const isAhead = typeof observed === 'number' && observed > (object.metadata.generation ?? 0);
    const isOfOurs = resource === 'podsets' || resource === 'xxxes';
    return isOfOurs && isAhead
      ? `I6: the status of ${resource} ${object.metadata.name} is ahead of its spec`
      : [];
  });
  return [...written, ...ahead.slice(0, 1), ...readyTooSoon(versions)];
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

const STORM_MS = 10_000;
/** The first tries come after 0, 0, 0.5, 1, 2 and 4 s; a change and a second process may begin anew. */
const STORM_MOST = 24;

/** I7: what fails is tried again ever more slowly. */
function retryStorms({ journal, place }: Evidence): string[] {
  const failed = new Map<string, number[]>();
  for (const request of journal) {
    if (request.method === 'GET' || request.about.resource === 'events') continue;
    if (request.status !== undefined && request.status < 400) continue;
    const created = textAt(request.body, 'metadata', 'name') ?? '';
    const key = `${nameOf(request, place)}${request.method === 'POST' ? created : ''}`;
    failed.set(key, [...(failed.get(key) ?? []), request.atMs]);
  }
  return [...failed].flatMap(([key, times]) => {
    const isStorm = times.some((at, index) => (times[index + STORM_MOST] ?? Infinity) - at < STORM_MS);
    return isStorm ? `I7: ${key} was tried more than ${STORM_MOST} times in ${STORM_MS / 1000} s` : [];
  });
}

/** I8: the finalizer comes first, goes last, and never returns. */
function finalizers({ journal, place, versions }: Evidence): string[] {
  const writes = writesOf(journal);
  const held = new Set(
    versions.filter(({ object }) => isHeld(object)).map(({ object }) => object.metadata.uid),
  );
  const unheld = writes.flatMap((request) => {
    const { about, method, answer } = request;
    const uid = objectIn(answer)?.metadata.labels?.[BUILD_UID_LABEL];
    if (method !== 'POST' || about.resource !== 'jobs' || uid === undefined) return [];
    return held.has(uid) && wasHeldBefore(versions, uid, request)
      ? []
      : `I8: Job ${objectIn(answer)?.metadata.name ?? ''} was created before the finalizer was there`;
  });
  return [
    ...unheld,
    ...returned(versions),
    ...goneTooSoon(writes, versions, place),
    ...unawaited(writes, versions, place),
  ];
}

function wasHeldBefore(versions: readonly Version[], uid: string, { answer }: Journalled): boolean {
  const created = Number(objectIn(answer)?.metadata.resourceVersion);
  return versions.some(
    ({ object }) =>
      object.metadata.uid === uid && isHeld(object) && Number(object.metadata.resourceVersion) < created,
  );
}

function isHeld({ metadata }: KubernetesObject): boolean {
  return metadata.finalizers?.includes(BUILD_FINALIZER) ?? false;
}

function returned(versions: readonly Version[]): string[] {
  const released = new Set<string>();
  for (const { resource, object, isDeleted } of versions) {
    const { uid, name, deletionTimestamp } = object.metadata;
    if (resource !== 'xxxes' || deletionTimestamp === undefined || isDeleted) continue;
    if (!isHeld(object)) released.add(uid);
    else if (released.has(uid))
      return [`I8: the finalizer of build ${name} returned while it is being deleted`];
  }
  return [];
}

/** Where the finalizer goes, nothing of the build may run any more that is not being deleted. */
function goneTooSoon(writes: readonly Journalled[], versions: readonly Version[], place: Place): string[] {
  return writes.flatMap((request) => {
    const { about, body, answer } = request;
    const finalizersLeft = valueAt(body, 'metadata', 'finalizers');
    const build = objectIn(answer);
    if (about.resource !== 'xxxes' || !Array.isArray(finalizersLeft) || build === undefined) return [];
    if (finalizersLeft.includes(BUILD_FINALIZER)) return [];
    const before = versionOfEnd(build, versions);
    const running = activeJobsOf(build.metadata.uid, before, versions);
    return running.map((job) => `I8: ${nameOf(request, place)} let it go while Job ${job} runs`);
  });
}

/** A build that runs has to be deleted in the foreground: its Job is there until its Pods have ended. */
function unawaited(writes: readonly Journalled[], versions: readonly Version[], place: Place): string[] {
  return writes.flatMap((request) => {
    const { method, about, body, answer } = request;
    const uid = uidIn(answer);
    // A delete in the background is answered with a Status.
    const job = objectIn(answer) ?? versions.findLast(({ object }) => object.metadata.uid === uid)?.object;
    const isBuild = job?.metadata.labels?.[PURPOSE_LABEL] === 'build';
    if (method !== 'DELETE' || about.resource !== 'jobs' || !isBuild || conditionsOf(job).some(isEnd))
      return [];
    return valueAt(body, 'propagationPolicy') === 'Foreground'
      ? []
      : `I8: ${nameOf(request, place)} does not wait for the Pods of a build that runs`;
  });
}

/** Where its last finalizer goes the object goes, too, and what is answered has the version before. */
function versionOfEnd({ metadata }: KubernetesObject, versions: readonly Version[]): number {
  const end = versions.find(({ object, isDeleted }) => isDeleted && object.metadata.uid === metadata.uid);
  return Number((end?.object ?? { metadata }).metadata.resourceVersion);
}

function activeJobsOf(buildUid: string, before: number, versions: readonly Version[]): readonly string[] {
  const jobs = new Map<string, Version>();
  for (const version of versions) {
    const { resource, object } = version;
    const isOfIt = resource === 'jobs' && object.metadata.labels?.[BUILD_UID_LABEL] === buildUid;
    if (isOfIt && Number(object.metadata.resourceVersion) < before) jobs.set(object.metadata.uid, version);
  }
  return [...jobs.values()]
    .filter(({ isDeleted, object }) => !isDeleted && object.metadata.deletionTimestamp === undefined)
    .filter(
      ({ object }) =>
        !conditionsOf(object).some(isEnd) && Number(valueAt(object, 'status', 'succeeded') ?? 0) === 0,
    )
    .filter(({ object }) => !hasSucceeded(object.metadata.uid, before, versions))
    .map(({ object }) => object.metadata.name);
}

/** A Pod says so first. With a sidecar, the Job runs on. */
function hasSucceeded(jobUid: string, before: number, versions: readonly Version[]): boolean {
  return versions.some(
    ({ resource, object }) =>
      resource === 'pods' &&
      controllerOf(object.metadata)?.uid === jobUid &&
      Number(object.metadata.resourceVersion) < before &&
      phaseOf(object) === 'Succeeded',
  );
}

function isEnd({ type, status }: { readonly type?: unknown; readonly status?: unknown }): boolean {
  return (
    status === 'True' && ['Complete', 'Failed', 'SuccessCriteriaMet', 'FailureTarget'].includes(String(type))
  );
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

/** I9: the authorizer's words, from the real server. */
function forbidden({ journal, place }: Evidence): string[] {
  return journal
    .filter(
      ({ status, answer }) =>
        status === 403 && / cannot [a-z]+ resource /.test(textAt(answer, 'message') ?? ''),
    )
    .map(
      (request) =>
        `I9: ${nameOf(request, place)} is not among the permissions: ${textAt(request.answer, 'message') ?? ''}`,
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
