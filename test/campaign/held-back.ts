import {
  APPROVAL_ANNOTATION,
  APPROVED_ANNOTATION,
  PAUSED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../src/api/annotations.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { BUILD_UID_LABEL, PURPOSE_LABEL } from '../../src/controllers/git-build/kind.ts';
import { controllerOf } from '../../src/api/kinds.ts';
import type { Journalled } from '../../testing/stack/api-proxy.ts';
import { nameOf, objectIn, uidIn, valueAt, writesOf, type Evidence } from './invariants.ts';
import { historiesIn, OBSERVED_MS, type Version } from './observer.ts';
import { hasEnded } from './pods.ts';

/** What was begun before the pause may take so long: what is remembered of a run counts for 10 s. */
const PAUSE_SEEN_MS = 12_000;
/** A step that deletes takes 2 s at most, and what is slow is not counted from when it is made. */
const APPROVAL_SEEN_MS = 3_500;

/** I12 and I13: what people hold back by annotations is not written. */
export function heldBack({ journal, versions, place }: Evidence): string[] {
  const histories = historiesIn(versions);
  return writesOf(journal).flatMap((write) => {
    if (write.about.subresource === 'status') return [];
    const primary = histories.get(primaryOf(write, versions) ?? '') ?? [];
    const namespace = versions.filter(
      ({ resource, object }) => resource === 'namespaces' && object.metadata.name === write.about.namespace,
    );
    const name = nameOf(write, place);
    return [
      ...(isPausedAt(primary, write, primary) || isPausedAt(namespace, write, primary)
        ? [`I12: ${name} was written although it was paused`]
        : []),
      ...(needsApproval(write, versions) && isRequiredAt(primary, write) && !isApproved(primary, write)
        ? [`I13: ${name} was deleted although nobody had approved that`]
        : []),
    ];
  });
}

/** The UID of the resource that a write was made for. */
function primaryOf(write: Journalled, versions: readonly Version[]): string | undefined {
  const uid = uidIn(write.answer);
  const object = writtenBy(write, versions);
  if (object === undefined) return uid;
  const controller = controllerOf(object.metadata);
  return object.metadata.labels?.[BUILD_UID_LABEL] ?? (controller?.kind === 'PodSet' ? controller.uid : uid);
}

/** Some deletes are answered with a Status. */
function writtenBy(write: Journalled, versions: readonly Version[]): KubernetesObject | undefined {
  const uid = uidIn(write.answer);
  const isIt = ({ object }: Version) => object.metadata.uid === uid;
  return objectIn(write.answer) ?? versions.findLast(isIt)?.object;
}

/** All that time, and longer than what was begun before may take. A pause does not hold what is being deleted. */
function isPausedAt(history: readonly Version[], { atMs }: Journalled, primary: readonly Version[]): boolean {
  const isDeleted = primary.some(
    ({ object, atMs: thenMs }) =>
      object.metadata.deletionTimestamp !== undefined && thenMs <= atMs + OBSERVED_MS,
  );
  return !isDeleted && hasBeen(isPaused, { history, fromMs: atMs - PAUSE_SEEN_MS, untilMs: atMs });
}

function isPaused({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
}

interface Span {
  readonly history: readonly Version[];
  readonly fromMs: number;
  readonly untilMs: number;
}

function hasBeen(is: (object: KubernetesObject) => boolean, { history, fromMs, untilMs }: Span): boolean {
  const before = history.findLast(({ atMs }) => atMs <= fromMs);
  const during = history.filter(({ atMs }) => atMs > fromMs && atMs <= untilMs);
  return (
    before !== undefined && [before, ...during].every(({ object, isDeleted }) => !isDeleted && is(object))
  );
}

/** Pods that have ended, and the Jobs of cleanups, need none. */
function needsApproval(write: Journalled, versions: readonly Version[]): boolean {
  const { method, about } = write;
  const object = writtenBy(write, versions);
  if (method !== 'DELETE' || object === undefined) return false;
  if (about.resource === 'jobs') return object.metadata.labels?.[PURPOSE_LABEL] === 'build';
  return about.resource === 'pods' && !hasEnded(object);
}

function isRequiredAt(history: readonly Version[], { atMs }: Journalled): boolean {
  return hasBeen(isRequired, { history, fromMs: atMs - APPROVAL_SEEN_MS, untilMs: atMs });
}

/** An approval counts once: until the status repeats it. */
function isApproved(history: readonly Version[], { atMs }: Journalled): boolean {
  const fromMs = atMs - APPROVAL_SEEN_MS;
  const before = history.findLast((version) => version.atMs <= fromMs);
  const during = history.filter((version) => version.atMs > fromMs && version.atMs <= atMs + OBSERVED_MS);
  return [...(before ? [before] : []), ...during].some(({ object }) => hasApproval(object));
}

function hasApproval(object: KubernetesObject): boolean {
  const { [APPROVED_ANNOTATION]: approved, [REJECTED_ANNOTATION]: rejected } =
    object.metadata.annotations ?? {};
  const handled = valueAt(object, 'status', 'lastHandledApproval');
  return approved !== undefined && approved !== rejected && approved !== handled;
}

function isRequired({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[APPROVAL_ANNOTATION] === 'required';
}
