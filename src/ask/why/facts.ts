import { isConverged, reasonOf, type NextInHistory } from '../../runs/decision.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { CommandAdvice } from '../../api/cause.ts';
import { fieldsOf, listOf, textOf } from '../../api/fields.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { ENCRYPTED_WORDS } from '../../temporal/payloads.ts';
import type { Run } from '../../temporal/run-reader.ts';
import type { RunTimeline } from '../../temporal/timeline.ts';
import { childrenNotWell, hasStatus } from '../controllers.ts';
import { durationText } from '../output.ts';
import { commandFor } from '../resource-name.ts';
import { conditionFieldsIn } from '../state.ts';
import { facts, type Explanation, type Fact } from './explanation.ts';
import {
  liveIn,
  objectNameOf,
  type ResourceFindings,
  type CompleteFindings,
  type Reached,
} from './findings.ts';

/*
 * Lines that several explanations share.
 */

/** An explanation without what {@link explain} adds. */
export type ExplanationBody = Omit<Explanation, 'resource' | 'exit'> & { readonly exit?: 2 };

export function desiredAndCurrent(findings: ResourceFindings): Fact[] {
  const { controller, cluster, live } = findings;
  if (cluster.is !== 'there' || live === undefined) return [];
  if (live instanceof ApiError) return facts({ current: whyUnknown(live, 'you may not read it') });
  const { words } = controller;
  const subject = { object: cluster.object, observation: live.observation };
  const { problems = [], intervalNotice } = controller.control?.(live.observation) ?? {};
  const warnings = [...problems, ...(intervalNotice === undefined ? [] : [intervalNotice])];
  return [
    ...facts({
      desired: words && words.desired(subject) + setBy(findings),
      current: words?.current(subject),
    }),
    ...childrenNotWell(controller, subject).map((text) => ({ label: 'not well', text })),
    ...warnings.map((text) => ({ label: 'warning', text })),
  ];
}

/** @param denied the words for a missing permission */
export function whyUnknown({ classification, words }: ApiError, denied: string): string {
  if (classification === 'access-denied') return `${denied}: ${words}`;
  return classification === 'refused' ? words : `cannot be read now: ${words}; ask again`;
}

/** ` (7 of 10 Pods)`, for a headline; empty if nothing can be counted. */
export function counted(findings: ResourceFindings): string {
  const { controller, cluster } = findings;
  const live = liveIn(findings);
  if (cluster.is !== 'there' || live === undefined) return '';
  const { observation } = live;
  const progress = controller.words?.progress?.({ object: cluster.object, observation });
  return progress === undefined ? '' : ` (${progress})`;
}

/** A note on a decision while the operator's options are unknown. */
export const WITHOUT_OPTIONS = 'assuming default options';

export function nextFact(findings: ResourceFindings, note?: string): Fact[] {
  const next = liveIn(findings)?.next;
  if (next === undefined) return [];
  const text = isConverged(next) ? 'nothing' : next.do;
  return facts({ next: `${text}: ${decisionText(next)}${note === undefined ? '' : ` (${note})`}` });
}

/** ` (generation 3, set 4m12s ago by kubectl-edit)`; empty if there is no spec. */
function setBy({ controller, cluster, nowMs }: ResourceFindings): string {
  if (!hasStatus(controller) || cluster.is !== 'there') return '';
  const { metadata } = cluster.object;
  const last = lastWriterOf(metadata, 'f:spec');
  const by = last && `, set ${ago(last.atMs, nowMs)} ago by ${last.manager}`;
  return ` (generation ${metadata.generation ?? 0}${by ?? ''})`;
}

/** Source: apimachinery, `metav1.ManagedFieldsEntry`. */
export function lastWriterOf(metadata: object, ...path: readonly string[]) {
  return listOf(fieldsOf(metadata)['managedFields'])
    .flatMap((entry) => {
      const [manager, time] = [textOf(entry['manager']), textOf(entry['time'])];
      const written = path.reduce<unknown>((fields, name) => fieldsOf(fields)[name], entry['fieldsV1']);
      if (written === undefined || manager === undefined || time === undefined) return [];
      return [{ manager, atMs: Date.parse(time) }];
    })
    .toSorted((a, b) => a.atMs - b.atMs)
    .at(-1);
}

export function deletion({ cluster, nowMs }: CompleteFindings): Fact[] {
  const { deletionTimestamp, finalizers = [] } = cluster.object.metadata;
  if (deletionTimestamp === undefined) return [];
  const held = finalizers.length === 0 ? '' : `; held by ${finalizers.join(', ')}`;
  return [
    ...facts({ deleted: `${ago(Date.parse(deletionTimestamp), nowMs)} ago${held}` }),
    ...remaining(cluster.object).map((text) => ({ label: 'left', text })),
  ];
}

/** Why a Namespace still exists. Source: kubernetes/api/core/v1, `NamespaceContentRemaining` and others. */
function remaining({ status }: KubernetesObject): string[] {
  return conditionFieldsIn(status)
    .filter(({ type, status: is }) => /^Namespace.*Remaining$/.test(type) && is === 'True')
    .map(({ message }) => message);
}

export function lastRunOf({ temporal, nowMs }: CompleteFindings): Fact[] {
  const { run, timeline } = temporal;
  if (run?.isOpen === false) return lastRun({ run, timeline, nowMs });
  return facts({ 'last run': 'none that Temporal still has' });
}

interface LastRun extends Pick<Reached, 'timeline'>, Pick<ResourceFindings, 'nowMs'> {
  readonly run: Run;
}

export function lastRun({ run, timeline, nowMs }: LastRun): Fact[] {
  const ended = ago(run.endedAtMs ?? run.startedAtMs, nowMs);
  const words = readable(timeline?.end?.words);
  const how = timeline?.end?.how ?? run.status.toLowerCase();
  const text = [...(how === 'completed' ? [] : [how]), ...(words === undefined ? [] : [words])].join(': ');
  return [...facts({ 'last run': `ended ${ended} ago: ${text}` }), ...begunBy(timeline)];
}

export function begunBy(timeline: RunTimeline | undefined): Fact[] {
  return facts({ trigger: readable(timeline?.reason) });
}

export function commandOn(findings: ResourceFindings, command: string, to: string): CommandAdvice {
  return { run: commandFor(command, objectNameOf(findings)), to };
}

/** The reason of a decision, without the words that its kind implies. */
export function decisionText(next: NextInHistory): string {
  return 'for' in next ? next.for : reasonOf(next);
}

/** Words of a history; undefined if there are none. */
export function readable(words = ''): string | undefined {
  return words === ENCRYPTED_WORDS ? '(encrypted; give the keys with --payload-keys)' : words || undefined;
}

export function ago(ms: number, nowMs: number): string {
  return durationText(nowMs - ms);
}
