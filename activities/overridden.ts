import { isStep, type NextStep, type Step } from '../src/runs/decision.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import type { ResourceType } from '../src/api/resource-type.ts';
import { fieldsOf, listOf, textOf, type Fields } from '../src/api/fields.ts';
import { MANAGED_BY } from '../src/api/kinds.ts';
import { ApiError } from '../src/kubernetes/errors.ts';

/** Whether the next decision is the step again. Its reason and its number of writes tell that it makes progress. */
export function isSameStep(step: Step, decision: NextStep): boolean {
  if (!isStep(decision)) return false;
  const { do: name, because, writes } = decision;
  return name === step.do && because === step.because && writes === step.writes;
}

/** Whether a step was in vain: its write was changed on the way, and the step is needed again. */
export function isInVain(step: Step, changed: string | undefined, decision: NextStep): boolean {
  return changed !== undefined && isSameStep(step, decision);
}

/** The error of such a step. */
export function overridden({ do: step }: Step, changed = 'what it wrote'): ApiError {
  const message = `the API server accepted ${step}, but a webhook, an admission policy or another client changed ${changed}`;
  return new ApiError(message, { classification: 'overridden' });
}

/**
 * How the API server's answer differs from the body that was sent: `metadata.labels.version from "v0.1" to "v9"`.
 * Undefined if it does not. Ask at once: an answer may be large, and must not be kept.
 *
 * @param fieldManager the operator's own
 */
export function changeOf(
  sent: object,
  answer: KubernetesObject,
  fieldManager = MANAGED_BY,
): string | undefined {
  const difference = firstDifference(sent, answer, []);
  return difference && inWords(difference, managerOf(answer, difference.path, fieldManager));
}

/** @throws ApiError where the server has dropped a field of the status: an older CRD does not know it, and the same would be written again and again */
export function requireKept(status: Fields, kept: Fields, { group, plural }: ResourceType): void {
  const dropped = Object.keys(status).filter(
    (field) => (status[field] ?? undefined) !== undefined && kept[field] === undefined,
  );
  if (dropped.length === 0) return;
  const named = dropped.map((field) => `status.${field}`).join(', ');
  const message = `the CustomResourceDefinition ${plural}.${group} is of an older version and has no ${named}; apply the CRDs of this version of the operator`;
  throw new ApiError(message, { classification: 'api-missing' });
}

interface Difference {
  readonly path: readonly string[];
  readonly sent: unknown;
  readonly answered: unknown;
}

/** The operator sends these as preconditions, and the server changes them. */
const PRECONDITIONS: ReadonlySet<string> = new Set(['metadata.uid', 'metadata.resourceVersion']);

/** The first field that was sent and that the answer has otherwise. Fields that were not sent do not count. */
function firstDifference(sent: unknown, answered: unknown, path: readonly string[]): Difference | undefined {
  if (PRECONDITIONS.has(path.join('.'))) return undefined;
  if (Array.isArray(sent)) return isSameList(sent, answered) ? undefined : { path, sent, answered };
  if (typeof sent !== 'object' || sent === null)
    return (sent ?? undefined) === (answered ?? undefined) ? undefined : { path, sent, answered };
  for (const [name, value] of Object.entries(sent)) {
    const difference = firstDifference(value, fieldsOf(answered)[name], [...path, name]);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** In any order. A merge patch replaces a list, so the answer has no more than was sent. */
function isSameList(sent: readonly unknown[], answered: unknown): boolean {
  const all: readonly unknown[] = Array.isArray(answered) ? answered : [];
  return (
    sent.length === all.length &&
    sent.every((one) => all.some((other) => firstDifference(one, other, []) === undefined))
  );
}

/** Only labels are shown with their values: other fields may hold secrets, and the message enters workflow history. */
function inWords({ path, sent, answered }: Difference, manager: string | undefined): string {
  const field = path.join('.');
  const by = manager === undefined ? '' : ` (its field manager is ${manager})`;
  if (!field.startsWith('metadata.labels.')) return `${field}${by}`;
  return `${field} from ${shown(sent)} to ${shown(answered)}${by}`;
}

function shown(value: unknown): string {
  return value === undefined || value === null ? 'nothing' : JSON.stringify(value);
}

/** Who owns the field, where the server tells. What a webhook changes in our request counts as written by us. */
function managerOf({ metadata }: KubernetesObject, path: readonly string[], own: string): string | undefined {
  const entries = listOf(fieldsOf(metadata)['managedFields']);
  const owner = entries.find((entry) => textOf(entry['manager']) !== own && owns(entry, path));
  return textOf(owner?.['manager']);
}

function owns(entry: Fields, path: readonly string[]): boolean {
  const owned = path.reduce<unknown>((fields, name) => fieldsOf(fields)[`f:${name}`], entry['fieldsV1']);
  return owned !== undefined;
}
