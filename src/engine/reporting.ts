import { writesStatus, type AnyKind } from '../api/controller.ts';
import type { DecisionContext } from '../api/step.ts';
import type { Circumstances } from './holds/control.ts';
import { reasonOf } from '../runs/decision.ts';
import { waitingFor } from '../runs/sentences.ts';
import { unknownUntil, type UnknownAttempt } from '../api/unknown-attempt.ts';
import { conditionsAfter, rfc3339, withReconciling, type Finding } from './condition.ts';
import { canonicalText, fieldsOf, isFields, type Fields } from '../api/fields.ts';
import { isHeld, UNBOUND, type AnyDefinition, type LiveResource } from './definition.ts';
import { currentOf, judged } from './children/current.ts';
import { doneFinding, withDone } from './children/done.ts';
import { AS_SPECIFIED, findingsOf, WAITING, type ReportedRest } from './findings.ts';
import { inputsDigest, inputsFinding } from './inputs.ts';
import { lookedUp } from './lookups.ts';
import { noteOf } from './note.ts';
import type { LibraryStep, LiveReads, SeenResource, StatusPatch } from './observation.ts';
import { viewsOf } from './owned.ts';
import { isOfInterest, type DefinedView } from './view.ts';
import { externalFinding, stepUnderWay } from './watched.ts';

/* What is remembered of a resource, in its status or in an annotation. */

/** All that one decision is made from. */
export interface DecisionBasis {
  readonly definition: AnyDefinition;
  readonly seen: SeenResource;
  readonly view: DefinedView;
  readonly resource: LiveResource;
  readonly reads: LiveReads;
  readonly nowMs: number;
  /** Attempts that may still take effect, although nobody knows whether they have. */
  readonly unknown: readonly UnknownAttempt[];
  /** The attempt that asks. Absent: it is of no such step, or nobody does. */
  readonly asking?: Circumstances['asking'];
  /** The author's reason of the condition `Ready`. */
  readonly told?: { readonly reason: string; readonly isReady: boolean };
}

/** As the author's functions are given it. */
export function contextOf(at: DecisionBasis): DecisionContext<LiveResource, unknown, unknown> {
  const { resource, reads, seen, nowMs, unknown, view } = at;
  const { observed } = reads;
  const lookups = lookedUp(at.definition, seen.lookups);
  const references = seen.referred?.objects ?? [];
  const unknownForMs = unknownFor(at);
  const children = reads.declared && 'there' in reads.declared ? reads.declared : undefined;
  const current = currentOf(
    children && judged(withDone(children, view.conditions)),
    resource.metadata.namespace,
  );
  return {
    ...UNBOUND,
    ...{ resource, owned: viewsOf(seen.owned), references, observed, lookups, current },
    ...{ nowMs, unknown, unknownForMs },
    ...(reads.refused && { refused: reads.refused }),
  };
}

/** For how long one of them may take effect yet, in milliseconds. */
export function unknownFor({ unknown, nowMs }: Pick<DecisionBasis, 'unknown' | 'nowMs'>): number {
  return Math.max(unknownUntil(unknown) - nowMs, 0);
}

/** The write of the status, or of the annotation, that says how it rests. Undefined: it is said already, or need not be. */
export function reportStep(at: DecisionBasis, reported: ReportedRest): LibraryStep | undefined {
  if (!writesStatus(at.definition)) return noteStep(at, reported);
  const status = statusPatch(at, reported);
  if (status === undefined) return undefined;
  const because = `the status has to say: ${inWords(reported)}`;
  return { do: 'updateStatus', because, status, resourceVersion: at.view.resourceVersion };
}

function noteStep(at: DecisionBasis, reported: ReportedRest): LibraryStep | undefined {
  const { definition, view, resource, nowMs } = at;
  const { note, uid, resourceVersion, generation, conditions: before } = view;
  if (note === undefined) return undefined;
  const because = `to be remembered: ${inWords(reported)}`;
  const step = { do: 'updateState', because, resourceVersion } as const;
  if (!isOfInterest(definition, resource) && !isHeld(definition, view.finalizers))
    return note === 'there' ? { ...step, note: null } : undefined;
  // Where all is decided from the watch, a rest leaves nothing to remember.
  const isRemembering = definition.observe !== undefined || isAnyJobDone(at);
  const isNeeded = isRemembering || note === 'there' || isAnnouncement(reported);
  const conditions = conditionsAfter(before, found(at, reported), { generation, now: rfc3339(nowMs) });
  if (!isNeeded || canonicalText(conditions) === canonicalText(before)) return undefined;
  return { ...step, note: noteOf(uid, conditions) };
}

function isAnyJobDone({ reads: { declared }, view }: DecisionBasis): boolean {
  return (
    declared !== undefined && 'there' in declared && doneFinding(declared, view.conditions) !== undefined
  );
}

function found(at: DecisionBasis, reported: ReportedRest): readonly Finding[] {
  const { definition, seen, reads } = at;
  const { stall, isOver, ...its } = findingsOf(reported);
  const ready = toldOf(at, its.ready);
  const digest = reads.unobserved === undefined ? inputsDigest(definition, seen) : undefined;
  const { declared } = reads;
  const done =
    declared === undefined || 'outcome' in declared ? undefined : doneFinding(declared, at.view.conditions);
  return [
    ...withReconciling(ready, stall, isOver),
    ...(digest === undefined ? [] : [inputsFinding(digest)]),
    ...externalFindings(at, reported),
    ...(done === undefined ? [] : [done]),
  ];
}

/** The author's reason is for a resource with nothing wrong. */
function toldOf({ told }: DecisionBasis, ready: Finding): Finding {
  if (told === undefined) return ready;
  const reason = ready.reason === WAITING || ready.reason === AS_SPECIFIED ? told.reason : ready.reason;
  return { ...ready, reason, ...(told.isReady && { status: 'True' as const }) };
}

/** Empty: it stays as it is. */
function externalFindings(at: DecisionBasis, reported: ReportedRest): readonly Finding[] {
  const { view, seen } = at;
  const begins = 'external' in reported ? reported.external : undefined;
  if (begins !== undefined) return [externalFinding(begins)];
  const isOver = !isAnnouncement(reported) && seen.live !== undefined && unknownFor(at) === 0;
  return isOver && stepUnderWay(view) !== undefined ? [externalFinding(undefined)] : [];
}

/** Undefined where the status says it already. @param recorded fields that differ from what is there */
export function statusPatch(
  at: DecisionBasis,
  reported: ReportedRest,
  recorded: object = {},
): StatusPatch | undefined {
  const { view, resource, reads, nowMs } = at;
  const { generation, status: before = {} } = view;
  const isKnown = (reads.unobserved ?? reads.never ?? resource.invalid) === undefined;
  const conditions = conditionsAfter(view.conditions, found(at, reported), {
    generation,
    now: rfc3339(nowMs),
  });
  const own: Fields = { ...(isKnown && ownStatus(at)), ...recorded };
  const isNew =
    view.observedGeneration !== generation ||
    canonicalText(conditions) !== canonicalText(view.conditions) ||
    !isSameIn(own, before);
  return isNew ? { ...mergePatch(before, own), conditions, observedGeneration: generation } : undefined;
}

/** Whether each of the fields is as it is there; null: it is not there. */
export function isSameIn(own: object, there: Fields = {}): boolean {
  return Object.entries(own).every(
    ([field, value]) => canonicalText(value ?? null) === canonicalText(there[field] ?? null),
  );
}

/** Each field that the kind has; one that the author leaves out is removed. */
function ownStatus(at: DecisionBasis): Fields {
  const own = at.definition.status?.(contextOf(at));
  if (own === undefined) return {};
  const kind = at.definition.for as AnyKind;
  return Object.fromEntries(
    Object.keys(kind.status.shape).map((field) => [field, fieldsOf(own)[field] ?? null]),
  );
}

/** RFC 7386: without a null, what is gone from a nested object would stay. */
function mergePatch(before: Fields, after: Fields): Fields {
  return Object.fromEntries(
    Object.entries(after).map(([field, value]) => {
      const was = before[field];
      if (!isFields(value) || !isFields(was)) return [field, value];
      const gone = Object.keys(was).filter((each) => value[each] === undefined);
      return [field, { ...mergePatch(was, value), ...Object.fromEntries(gone.map((each) => [each, null])) }];
    }),
  );
}

function inWords(reported: ReportedRest): string {
  if (!('for' in reported)) return reasonOf(reported);
  return reported.cause?.message ?? waitingFor(reported.for);
}

/** Whether a step follows. */
function isAnnouncement(reported: ReportedRest): boolean {
  return reported.do === 'wait' && !('recheckMs' in reported);
}
