import { createTwoFilesPatch } from 'diff';
import { stringify, type Pair } from 'yaml';
import type { Rest } from '../../runs/decision.ts';
import { fieldsOf } from '../../api/fields.ts';
import { redacted } from '../../api/redacted.ts';
import { harmless, type Paint } from '../output.ts';
import type { PlannedWrite } from './rehearsal.ts';

export interface Plan {
  readonly resource: string;
  /** Of the resource, if it has one. */
  readonly namespace?: string;
  /** The write of the file itself, if there is one. */
  readonly applied?: PlannedWrite;
  readonly steps: readonly PlannedStep[];
  /** The resource is on hold after so many steps. The other steps would follow without the hold. */
  readonly hold?: { readonly because: string; readonly after: number };
  readonly end: PlanEnd;
  /** The plan goes by what the operator observed last: `observe` was not called. Absent: it was, or there is none. */
  readonly observed?: false;
}

export interface PlannedStep {
  readonly step: string;
  readonly because: string;
  readonly writes: readonly PlannedWrite[];
  readonly refusal?: string;
}

export type PlanEnd =
  | { readonly is: 'rest'; readonly next: Rest }
  | { readonly is: 'refused'; readonly words: string }
  /** The user may not make this write, not even as a dry run. */
  | { readonly is: 'may not try'; readonly words: string }
  /** The step changes something outside of the cluster, where nothing can be tried. */
  | { readonly is: 'outside'; readonly step: string; readonly because: string }
  /** The rest depends on what `observe` would find. */
  | { readonly is: 'not observed' }
  /** The step waits for something that does not happen in a dry run. */
  | { readonly is: 'no progress'; readonly step: string };

/** Writes that differ only in the name. */
export interface WriteGroup {
  readonly verb: PlannedWrite['verb'];
  /** `pods/web-pod-x7k2p`, `secrets/password in team-1` … */
  readonly names: readonly string[];
  /** Of the first write; a unified diff without its head. */
  readonly diff: string;
  readonly isChecked: boolean;
}

/** @param home the namespace that is not named */
export function groupsOf(writes: readonly PlannedWrite[], home?: string): readonly WriteGroup[] {
  const groups = new Map<string, WriteGroup>();
  for (const write of writes) {
    const { verb, isChecked } = write;
    const { name, namespace } = placeIn(write.path);
    const [kind = '', objectName = ''] = name.split('/');
    const isElsewhere = namespace !== undefined && home !== undefined && namespace !== home;
    const diff = diffOf(write);
    const key = `${verb} ${kind} ${diff.replaceAll(objectName, '*')}`;
    const before = groups.get(key);
    const names = [...(before?.names ?? []), isElsewhere ? `${name} in ${namespace}` : name];
    groups.set(key, { verb, diff, ...before, names, isChecked: isChecked && before?.isChecked !== false });
  }
  return [...groups.values()];
}

/** @returns the name as `podsets/web/status` */
function placeIn(path: string): { readonly name: string; readonly namespace: string | undefined } {
  const place = path.replace(/^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\//, '');
  const [prefix = '', namespace] = /^namespaces\/([^/]+)\/(?=[^/]+\/[^/])(?!status)/.exec(place) ?? [];
  return { name: place.slice(prefix.length), namespace };
}

const CONTEXT_LINES = 3;

function diffOf({ before, after, verb }: PlannedWrite): string {
  if (verb === 'delete') return '';
  const context = { context: CONTEXT_LINES };
  const patch = createTwoFilesPatch('', '', yamlOf(before), yamlOf(after), '', '', context);
  const lines = patch.split('\n').filter((line) => !/^(?:Index:|={3,}|---|\+\+\+|\\ )/.test(line));
  const body = verb === 'create' ? lines.filter((line) => !line.startsWith('@@')) : lines;
  return body.join('\n').trimEnd();
}

const OF_THE_SERVER: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'generation',
  'uid',
  'creationTimestamp',
]);

/** Without credentials in URLs. */
function yamlOf(value: unknown): string {
  if (value === undefined) return '';
  const { apiVersion, kind, metadata, ...content } = fieldsOf(value);
  const kept = Object.entries(fieldsOf(metadata)).filter(([name]) => !OF_THE_SERVER.has(name));
  const ordered = { apiVersion, kind, metadata: Object.fromEntries(kept), ...content };
  return redacted(stringify(ordered, { lineWidth: 0, sortMapEntries: inOrder }));
}

const FIRST_KEYS: readonly unknown[] = ['status', 'spec', 'metadata', 'type', 'name', 'kind', 'apiVersion'];

/** The order of fields is no difference: the server has another one than a patch. */
function inOrder({ key: a }: Pair, { key: b }: Pair): number {
  const rank = (key: unknown) => -FIRST_KEYS.indexOf(key);
  const [one, other] = [a, b].map(String);
  return rank(one) - rank(other) || (one ?? '').localeCompare(other ?? '');
}

/** The plan for people; ends in a line feed. */
export function textOfPlan(plan: Plan, paint: Paint): string {
  const { resource, namespace, applied, steps, hold, end } = plan;
  const count = steps.length === 1 ? '1 step' : `${steps.length} steps`;
  const isHeld = hold !== undefined && hold.after < steps.length;
  const none =
    end.is === 'outside' || end.is === 'not observed' ? '0 steps that can be tried' : 'nothing to do';
  const title = `${resource}: ${steps.length === 0 ? none : count}${isHeld ? ', held' : ''}`;
  const textAt = ({ step, because, writes, refusal }: PlannedStep, index: number) => [
    ...(isHeld && hold.after === index ? ['', `on hold: ${harmless(hold.because)}; without the hold:`] : []),
    '',
    `${index + 1}. ${paint('bold', step)}: ${harmless(because)}`,
    ...textOfWrites(writes, paint, namespace),
    ...(refusal === undefined ? [] : [`   ${paint('red', `refused: ${harmless(refusal)}`)}`]),
  ];
  return [
    paint('bold', title),
    ...(applied === undefined ? [] : ['', 'the file', ...textOfWrites([applied], paint, namespace)]),
    ...steps.flatMap(textAt),
    '',
    textOfEnd(end, steps.length > 0 ? 'then: ' : '') + howKnown(plan),
    '',
  ].join('\n');
}

const NAMED_MAX = 5;

function textOfWrites(writes: readonly PlannedWrite[], paint: Paint, home?: string): string[] {
  return groupsOf(writes, home).flatMap(({ verb, names, diff, isChecked }) => {
    const shown = names.slice(0, NAMED_MAX).join(', ');
    const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
    const unchecked = isChecked ? '' : ' (not checked: it depends on an earlier write)';
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

function textOfEnd(end: PlanEnd, then: string): string {
  switch (end.is) {
    case 'rest':
      return `${then}${harmless(textOfRest(end.next))}`;
    case 'refused':
      return `the API server refuses it: ${harmless(end.words)}`;
    case 'may not try':
      return `you have no permission to try it; the operator may have it: ${harmless(end.words)}`;
    case 'outside':
      return `${then}${end.step}: ${harmless(end.because)}; a plan cannot try it, since it may change something outside of the cluster`;
    case 'not observed':
      return `${then}the rest depends on what \`observe\` finds, and plan does not call it; it does where the controller has observeInPlan`;
    case 'no progress':
      return `${then}${end.step} again, as often as needed; a dry run cannot show more`;
  }
}

function howKnown({ observed, end }: Plan): string {
  return observed === undefined || end.is !== 'rest'
    ? ''
    : ' (as the operator observed it last: plan did not observe it)';
}

function textOfRest(rest: Rest): string {
  switch (rest.do) {
    case 'converged':
      return `up to date: ${rest.because}`;
    case 'wait':
      return `it waits for ${rest.for}`;
    case 'stalled':
      return `it stalls: ${rest.message}`;
    case 'held':
      return `on hold: ${rest.message}; the next step would be ${rest.would}`;
  }
}

export function planData({ applied, steps, ...plan }: Plan): object {
  const dataOfWrite = (write: PlannedWrite) => {
    const { verb, path, isChecked } = write;
    return { verb, path, diff: diffOf(write), checked: isChecked };
  };
  return {
    ...plan,
    ...(applied && { file: dataOfWrite(applied) }),
    steps: steps.map(({ writes, ...step }) => ({ ...step, writes: writes.map(dataOfWrite) })),
  };
}
