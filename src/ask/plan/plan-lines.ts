import { createTwoFilesPatch } from 'diff';
import { stringify } from 'yaml';
import type { Rest } from '../../contract/decision.ts';
import { redacted } from '../../controllers/git-build/failure.ts';
import { fieldsOf } from '../../controllers/fields.ts';
import { harmless, type Paint } from '../output.ts';
import type { Write } from './rehearsal.ts';

/** What a reconcile would do, step after step. */
export interface Plan {
  /** `PodSet shop/web` */
  readonly resource: string;
  /** The write of the file itself, where one was given. */
  readonly applied?: Write;
  readonly steps: readonly PlannedStep[];
  /** What holds it back now, after so many of the steps. The others would be made without that. */
  readonly hold?: { readonly because: string; readonly after: number };
  readonly end: PlanEnd;
}

export interface PlannedStep {
  readonly step: string;
  readonly because: string;
  readonly writes: readonly Write[];
  /** In the words of the API server. */
  readonly refusal?: string;
}

export type PlanEnd =
  /** Where it rests. */
  | { readonly is: 'rest'; readonly next: Rest }
  | { readonly is: 'refused'; readonly words: string }
  /** Whoever asks may not make this write, be it as a dry run. */
  | { readonly is: 'may not try'; readonly words: string }
  /** The same again and again: what it waits for does not happen in a dry run. */
  | { readonly is: 'no progress'; readonly step: string };

/** One write, or several that differ only in the name. */
export interface WriteGroup {
  readonly verb: Write['verb'];
  /** Of each: `pods/web-pod-x7k2p`. */
  readonly names: readonly string[];
  /** Of the first of them; a unified diff without its head. */
  readonly diff: string;
  readonly isChecked: boolean;
}

/** Those that are alike together, in their order. */
export function groupsOf(writes: readonly Write[]): readonly WriteGroup[] {
  const groups = new Map<string, WriteGroup>();
  for (const write of writes) {
    const { verb, path, isChecked } = write;
    const name = nameIn(path);
    const diff = diffOf(write);
    const key = `${verb} ${kindIn(path)} ${diff.replaceAll(objectNameIn(path), '*')}`;
    const before = groups.get(key);
    const names = [...(before?.names ?? []), name];
    groups.set(key, { verb, diff, ...before, names, isChecked: isChecked && before?.isChecked !== false });
  }
  return [...groups.values()];
}

/** `pods/web-pod-x7k2p`, `podsets/web/status` */
function nameIn(path: string): string {
  return path
    .replace(/^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\//, '')
    .replace(/^namespaces\/[^/]+\/(?=[^/]+\/[^/])(?!status)/, '');
}

function kindIn(path: string): string {
  return nameIn(path).split('/', 1)[0] ?? '';
}

function objectNameIn(path: string): string {
  return nameIn(path).split('/')[1] ?? '';
}

const CONTEXT_LINES = 3;

function diffOf({ before, after, verb }: Write): string {
  if (verb === 'delete') return '';
  const patch = createTwoFilesPatch('', '', yamlOf(before), yamlOf(after), '', '', {
    context: CONTEXT_LINES,
  });
  const lines = patch.split('\n').filter((line) => !/^(?:={3,}|---|\+\+\+|\\ )/.test(line));
  const body = verb === 'create' ? lines.filter((line) => !line.startsWith('@@')) : lines;
  return body.join('\n').trimEnd();
}

/** What the server keeps for itself is no part of a plan. */
const OF_THE_SERVER: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'generation',
  'uid',
  'creationTimestamp',
]);

/** Credentials in URLs are nobody's business. */
function yamlOf(value: unknown): string {
  if (value === undefined) return '';
  const { metadata, ...rest } = fieldsOf(value);
  const kept = Object.entries(fieldsOf(metadata)).filter(([name]) => !OF_THE_SERVER.has(name));
  const { apiVersion, kind, ...content } = rest;
  const ordered = { apiVersion, kind, metadata: Object.fromEntries(kept), ...content };
  return redacted(stringify(ordered, { lineWidth: 0 }));
}

/** The whole plan as text, with a line feed at the end. */
export function textOfPlan({ resource, applied, steps, hold, end }: Plan, paint: Paint): string {
  const count =
    steps.length === 0 ? 'nothing to do' : steps.length === 1 ? '1 step' : `${steps.length} steps`;
  const isHeld = hold !== undefined && hold.after < steps.length;
  const textAt = (step: PlannedStep, index: number) => [
    ...(isHeld && hold.after === index ? ['', `it is held: ${harmless(hold.because)}; without that:`] : []),
    '',
    ...textOfStep(step, { number: index + 1, paint }),
  ];
  return [
    paint('bold', `${resource}: ${count}${isHeld ? ', held' : ''}`),
    ...(applied === undefined ? [] : ['', 'the file', ...textOfWrites([applied], paint)]),
    ...steps.flatMap(textAt),
    '',
    textOfEnd(end, steps.length > 0),
    '',
  ].join('\n');
}

function textOfStep(
  { step, because, writes, refusal }: PlannedStep,
  { number, paint }: { readonly number: number; readonly paint: Paint },
): string[] {
  return [
    `${number}. ${paint('bold', step)}: ${harmless(because)}`,
    ...textOfWrites(writes, paint),
    ...(refusal === undefined ? [] : [`   ${paint('red', `refused: ${harmless(refusal)}`)}`]),
  ];
}

const NAMED_MAX = 5;

function textOfWrites(writes: readonly Write[], paint: Paint): string[] {
  return groupsOf(writes).flatMap(({ verb, names, diff, isChecked }) => {
    const shown = names.slice(0, NAMED_MAX).join(', ');
    const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
    const unchecked = isChecked ? '' : ' (not checked: it follows from an earlier write)';
    const head = `   ${verb} ${shown}${more}${unchecked}`;
    const lines = diff === '' ? [] : diff.split('\n').map((line) => `     ${painted(line, paint)}`);
    return [verb === 'delete' ? paint('red', head) : head, ...lines];
  });
}

function painted(line: string, paint: Paint): string {
  if (line.startsWith('+')) return paint('green', line);
  if (line.startsWith('-')) return paint('red', line);
  return line.startsWith('@@') ? paint('cyan', line) : line;
}

function textOfEnd(end: PlanEnd, isAfterSteps: boolean): string {
  const then = isAfterSteps ? 'then: ' : '';
  switch (end.is) {
    case 'rest':
      return `${then}${harmless(textOfRest(end.next))}`;
    case 'refused':
      return `the API server refuses it: ${harmless(end.words)}`;
    case 'may not try':
      return `you may not try it, though the operator may be allowed to: ${harmless(end.words)}`;
    case 'no progress':
      return `${then}${end.step} again, until what it is for has happened, which a dry run cannot show`;
  }
}

function textOfRest(rest: Rest): string {
  switch (rest.do) {
    case 'converged':
      return `up to date: ${rest.because}`;
    case 'wait':
      return `it waits for ${rest.for}`;
    case 'stalled':
      return `it stalls: ${rest.because}`;
    case 'held':
      return `it is held: ${rest.because}; it would go on with ${rest.would}`;
  }
}

/** As JSON and YAML have it. */
export function dataOf({ resource, applied, steps, hold, end }: Plan): unknown {
  const writesOf = (writes: readonly Write[]) =>
    writes.map((write) => ({
      verb: write.verb,
      path: write.path,
      diff: diffOf(write),
      checked: write.isChecked,
    }));
  return {
    resource,
    ...(applied && { file: writesOf([applied])[0] }),
    ...(hold && { hold }),
    steps: steps.map(({ writes, ...step }) => ({ ...step, writes: writesOf(writes) })),
    end,
  };
}
