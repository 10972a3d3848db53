import {
  ANSWERED_BECAUSE_ANNOTATION,
  ANSWERED_BY_ANNOTATION,
  APPROVAL_ANNOTATION,
  APPROVED_ANNOTATION,
  PAUSED_ANNOTATION,
  POLL_INTERVAL_ANNOTATION,
  RECONCILE_REQUESTED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../api/annotations.ts';
import { type ApprovalAnswer, type Control, type ControlStatus } from './control.ts';
import type { Cause } from '../../api/cause.ts';
import { durationOf, millisecondsIn } from '../../api/duration.ts';
import type { KubernetesObject, ObjectMeta } from '../../api/object.ts';
import { conditionsIn } from '../condition.ts';
import { fieldsOf, textOf } from '../../api/fields.ts';
import { OUR_PREFIX } from '../../api/kinds.ts';
import { truncate } from '../../api/text.ts';

type Annotations = NonNullable<ObjectMeta['annotations']>;

/** Of a resource whose status has no room for what its annotations ask; undefined where they ask for nothing. */
export function controlOf({ metadata }: KubernetesObject): Control | undefined {
  const { annotations = {} } = metadata;
  const isAsked = Object.keys(annotations).some((name) => name.startsWith(OUR_PREFIX));
  return isAsked ? controlIn(metadata, annotations) : undefined;
}

/** Of any other resource. */
export function controlWithoutStatusOf({ metadata }: KubernetesObject): Control {
  return controlIn(metadata, metadata.annotations ?? {});
}

/** Of a resource whose status is ours. */
export function controlWithStatusOf({ metadata, ...rest }: KubernetesObject): Control {
  return {
    ...controlIn(metadata, metadata.annotations ?? {}),
    reported: reportedIn(metadata, rest['status']),
  };
}

function controlIn({ uid, namespace, deletionTimestamp }: ObjectMeta, annotations: Annotations): Control {
  const requestedAt = annotations[RECONCILE_REQUESTED_ANNOTATION];
  const pollInterval = annotations[POLL_INTERVAL_ANNOTATION];
  const answer = answerIn(annotations);
  return {
    uid,
    ...(namespace !== undefined && { namespace }),
    isBeingDeleted: deletionTimestamp !== undefined,
    isPaused: annotations[PAUSED_ANNOTATION] === 'true',
    isApprovalRequired: annotations[APPROVAL_ANNOTATION] === 'required',
    problems: problemsIn(annotations),
    ...(requestedAt !== undefined && { requestedAt: truncate(requestedAt, ECHO_MAX) }),
    ...(pollInterval !== undefined && isDuration(pollInterval) && { pollInterval }),
    ...(answer && { answer }),
  };
}

/** As much of an annotation as status, Events and history repeat: it may hold 256 KiB. */
const ECHO_MAX = 253;

function answerIn(annotations: Annotations): ApprovalAnswer | undefined {
  const textIn = (name: string) => {
    const text = annotations[name];
    return text === undefined ? undefined : truncate(text, ECHO_MAX);
  };
  const [approved, rejected] = [textIn(APPROVED_ANNOTATION), textIn(REJECTED_ANNOTATION)];
  const by = textIn(ANSWERED_BY_ANNOTATION) ?? '';
  const because = textIn(ANSWERED_BECAUSE_ANNOTATION) ?? '';
  // An approval beside a rejection deletes nothing: nobody knows which of the two came last.
  if (rejected !== undefined) return { is: 'rejected', plan: rejected, by, because };
  return approved === undefined ? undefined : { is: 'approved', plan: approved, by, because };
}

/** What each may be, besides absent. */
const ALLOWED: Readonly<
  Record<string, { readonly fits: (value: string) => boolean; readonly write: string }>
> = {
  [PAUSED_ANNOTATION]: { fits: (value) => value === 'true' || value === 'false', write: '"true" or "false"' },
  [APPROVAL_ANNOTATION]: { fits: (value) => value === 'required', write: '"required"' },
  [POLL_INTERVAL_ANNOTATION]: { fits: isDuration, write: 'a duration such as 10m' },
};

const SHOWN_MAX = 40;

function problemsIn(annotations: Annotations): readonly string[] {
  return Object.entries(ALLOWED).flatMap(([name, { fits, write }]) => {
    const value = annotations[name];
    if (value === undefined || fits(value)) return [];
    return [
      `annotation ${name} is ${JSON.stringify(truncate(value, SHOWN_MAX))}; write ${write}, or remove it`,
    ];
  });
}

/** A tenant may not have its resources read more often than that, unless the controller itself does. */
export function withLeastInterval(control: Control, leastMs = 0): Control {
  const { pollInterval: asked, ownPollInterval: own } = control;
  const least = Math.min(leastMs, millisecondsIn(own ?? '') ?? Infinity);
  if (asked === undefined || (millisecondsIn(asked) ?? 0) >= least) return control;
  const pollInterval = durationOf(least);
  const intervalNotice = `annotation ${POLL_INTERVAL_ANNOTATION} is "${asked}", and counts as ${pollInterval}, the shortest that --min-poll-interval allows`;
  return { ...control, pollInterval, intervalNotice };
}

/** An annotation that cannot be followed is no reason not to reconcile, but somebody has to know. Undefined: all can be. */
export function invalidAnnotation({
  problems,
  intervalNotice,
}: Pick<Control, 'problems' | 'intervalNotice'>): Cause | undefined {
  const all = [...problems, ...(intervalNotice === undefined ? [] : [intervalNotice])];
  return all.length === 0 ? undefined : { reason: 'InvalidAnnotation', message: all.join('; '), advice: [] };
}

function isDuration(text: string): boolean {
  return text.length <= SHOWN_MAX && (millisecondsIn(text) ?? 0) > 0;
}

function reportedIn({ resourceVersion, generation = 0 }: ObjectMeta, status: unknown): ControlStatus {
  const { conditions, lastHandledReconcileAt, lastHandledApproval } = fieldsOf(status);
  const request = textOf(lastHandledReconcileAt);
  const approval = textOf(lastHandledApproval);
  return {
    resourceVersion,
    generation,
    conditions: conditionsIn(conditions),
    ...(request !== undefined && { lastHandledReconcileAt: request }),
    ...(approval !== undefined && { lastHandledApproval: approval }),
  };
}
