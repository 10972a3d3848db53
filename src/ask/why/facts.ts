import { reasonOf, type Next } from '../../contract/decision.ts';
import { whatIsWaitedFor } from '../../contract/sentences.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import type { CommandAdvice } from '../../contract/words.ts';
import { fieldsOf, listOf, textOf } from '../../controllers/fields.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { hasStatus } from '../controllers.ts';
import { durationText, serversWords } from '../output.ts';
import { commandFor } from '../resource-name.ts';
import type { Run } from '../runs/runs.ts';
import { ENCRYPTED_WORDS } from '../runs/timeline.ts';
import { conditionsIn } from '../state.ts';
import type { Fact } from './explanation.ts';
import { liveIn, objectNameOf, type Findings, type Known, type Reached } from './findings.ts';

/*
 * The lines that explanations have in common.
 */

export function wantedAndThere(findings: Findings): Fact[] {
  const { controller, cluster, live } = findings;
  if (cluster.is !== 'there' || live === undefined) return [];
  if (live instanceof ApiError) return [{ label: 'there', text: whyUnknown(live, 'you may not read it') }];
  const { words } = controller;
  const subject = { object: cluster.object, observation: live.observation };
  const problems = controller.control?.(live.observation)?.problems ?? [];
  return [
    ...(words === undefined
      ? []
      : [
          { label: 'wanted', text: words.wanted(subject) + setBy(findings) },
          { label: 'there', text: words.there(subject) },
        ]),
    ...problems.map((text) => ({ label: 'but', text })),
  ];
}

/** Why nobody can tell what is there. @param denied where whoever asks lacks the right to know */
export function whyUnknown({ classification, message }: ApiError, denied: string): string {
  const words = serversWords(message);
  return classification === 'access-denied'
    ? `${denied}: ${words}`
    : `cannot be read now: ${words}; ask again`;
}

/** `7 of 10 Pods`; undefined where nothing can be counted. */
export function progressOf(findings: Findings): string | undefined {
  const { controller, cluster } = findings;
  const live = liveIn(findings);
  if (cluster.is !== 'there' || live === undefined) return undefined;
  return controller.words?.progress?.({ object: cluster.object, observation: live.observation });
}

/** How something was decided where nobody has said which options the operator has. */
export const WITHOUT_OPTIONS = 'assuming default options';

/** @param how it was decided, where that is not as the operator decides */
export function nextFact(findings: Findings, how?: string): Fact[] {
  const live = liveIn(findings);
  if (live === undefined) return [];
  const { next } = live;
  const text = next.do === 'converged' ? 'nothing' : next.do;
  return [{ label: 'next', text: `${text}: ${decisionText(next)}${how === undefined ? '' : ` (${how})`}` }];
}

/** ` (generation 3, set 4m12s ago by kubectl-edit)`; empty where what is wanted is not in a spec. */
function setBy({ controller, cluster, nowMs }: Findings): string {
  if (!hasStatus(controller) || cluster.is !== 'there') return '';
  const { metadata } = cluster.object;
  const last = lastWriterOfSpec(metadata);
  const by = last && `, set ${ago(Date.parse(last.time), nowMs)} ago by ${last.manager}`;
  return ` (generation ${metadata.generation ?? 0}${by ?? ''})`;
}

interface Writer {
  readonly manager: string;
  readonly time: string;
}

/** Source: apimachinery, `metav1.ManagedFieldsEntry`. */
function lastWriterOfSpec(metadata: object): Writer | undefined {
  return listOf(fieldsOf(metadata)['managedFields'])
    .flatMap(({ manager, time, fieldsV1 }) => {
      const [by, at] = [textOf(manager), textOf(time)];
      return 'f:spec' in fieldsOf(fieldsV1) && by !== undefined && at !== undefined
        ? [{ manager: by, time: at }]
        : [];
    })
    .toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time))
    .at(-1);
}

export function deletion({ cluster, nowMs }: Known): Fact[] {
  const { deletionTimestamp, finalizers = [] } = cluster.object.metadata;
  if (deletionTimestamp === undefined) return [];
  const held = finalizers.length === 0 ? '' : `; held by ${finalizers.join(', ')}`;
  return [
    { label: 'deleted', text: `${ago(Date.parse(deletionTimestamp), nowMs)} ago${held}` },
    ...remaining(cluster.object).map((text) => ({ label: 'left', text })),
  ];
}

/** What a Namespace still waits for. Source: kubernetes/api/core/v1, `NamespaceContentRemaining` and the like. */
function remaining({ status }: KubernetesObject): string[] {
  return conditionsIn(status)
    .filter(({ type, status: is }) => /^Namespace.*Remaining$/.test(type) && is === 'True')
    .map(({ message }) => message);
}

/** Of a resource without an open run. */
export function lastRunOf({ temporal, nowMs }: Known): Fact[] {
  const { run, timeline, earlier } = temporal;
  if (run?.isOpen === false) return lastRun({ run, timeline, nowMs });
  const text =
    earlier === undefined
      ? 'none, as far back as Temporal keeps them'
      : `none of this one; an earlier one of its name had one ${ago(earlier.startedAtMs, nowMs)} ago`;
  return [{ label: 'last run', text }];
}

interface LastRun extends Pick<Reached, 'timeline'>, Pick<Findings, 'nowMs'> {
  readonly run: Run;
}

export function lastRun({ run, timeline, nowMs }: LastRun): Fact[] {
  const ended = ago(run.endedAtMs ?? run.startedAtMs, nowMs);
  const words = orHowToDecrypt(timeline?.end?.words ?? '');
  const how = timeline?.end?.how ?? run.status.toLowerCase();
  const text = how === 'completed' ? words : `${how}${words === '' ? '' : `: ${words}`}`;
  const reason = orHowToDecrypt(timeline?.reason ?? '');
  return [
    { label: 'last run', text: `ended ${ended} ago: ${text}` },
    ...(reason === '' ? [] : [{ label: 'reason', text: reason }]),
  ];
}

/** A command on the resource. @param to what it does */
export function commandOn(findings: Findings, command: string, to: string): CommandAdvice {
  return { run: commandFor(command, objectNameOf(findings)), to };
}

/** The reason of a decision, without what its kind says already. */
export function decisionText(next: Next): string {
  return whatIsWaitedFor(reasonOf(next));
}

/** What takes a key says so. */
export function orHowToDecrypt(words: string): string {
  return words === ENCRYPTED_WORDS ? '(encrypted; give the keys with --payload-keys)' : words;
}

/** How long ago that was. */
export function ago(ms: number, nowMs: number): string {
  return durationText(nowMs - ms);
}
