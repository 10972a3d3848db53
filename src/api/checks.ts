import type { z } from 'zod';
import { isKind } from './kind.ts';
import { isParsed } from './parsed-type.ts';
import { misnamed, mistimed, refuse } from './limits.ts';
import { typeNameOf, type ResourceType } from './resource-type.ts';
import type { StepDefinition } from './step.ts';
import type { OwnedType, WatchedType } from './watched.ts';

/*
 * Refuses a controller that cannot work where it is written, in one sentence that says what is allowed.
 */

/** A definition, as far as it is checked. */
interface Checked {
  readonly name: string;
  readonly for: WatchedType;
  readonly owns?: readonly OwnedType<unknown>[];
  readonly options?: z.ZodObject;
  readonly steps?: Readonly<Record<string, CheckedStep>>;
  readonly finalizer?: string;
  readonly retired?: readonly ResourceType[];
  readonly retiredFinalizers?: readonly string[];
  readonly pollInterval?: string;
  readonly limits?: { readonly concurrency: number };
  readonly view?: unknown;
  readonly observe?: unknown;
  readonly children?: unknown;
  readonly decide?: unknown;
  readonly revision?: number;
  readonly observeInPlan?: boolean;
  readonly lookups?: object;
  readonly leavesStatus?: true;
}

/** @throws Error where it cannot work */
export function checkController(definition: Checked): void {
  const { name, for: type, owns = [], options, finalizer, pollInterval, limits } = definition;
  const { view, observe, children, decide, revision, retired = [], retiredFinalizers = [] } = definition;
  const { observeInPlan, lookups } = definition;
  const isParsedType = isKind(type) || isParsed(type);
  const kept = retired.find((type) => owns.some((each) => typeNameOf(each) === typeNameOf(type)));
  const unseen = owns.find((each) => each.view === undefined);
  refuse(`controller ${name}`, [
    misnamed('controller', name),
    misnamed('finalizer', finalizer),
    ...retiredFinalizers.map((each) => misnamed('finalizer', each)),
    retiredFinalizers.some((each) => each === finalizer) &&
      `${finalizer ?? ''} is in use, and cannot be retired`,
    kept !== undefined && `${kept.kind} is in owns, and cannot be retired`,
    mistimed('pollInterval', 'pollInterval', pollInterval),
    ...Object.keys(options?.shape ?? {}).map((option) => misnamed('option', option)),
    ...stepProblems(definition),
    children === undefined && decide === undefined && 'it has neither children nor decide',
    !isKind(type) && 'status' in definition && `status cannot be used for ${type.kind}`,
    hidesNote(definition),
    isUncountable(limits?.concurrency) && 'limits.concurrency must be a whole number from 1',
    revision !== undefined && observe === undefined && 'revision needs observe',
    observeInPlan !== undefined &&
      (observe ?? lookups) === undefined &&
      'observeInPlan needs observe or lookups',
    ...Object.keys(lookups ?? {}).map((lookup) => misnamed('lookup', lookup)),
    !isParsedType &&
      view === undefined &&
      `${type.kind} is not of defineKind or defineType, so the controller needs a view of it`,
    unseen !== undefined &&
      children === undefined &&
      `owns of ${unseen.kind} needs a view, which decide is given, or children, which declares it`,
  ]);
}

function isUncountable(count: number | undefined): boolean {
  return count !== undefined && !(Number.isInteger(count) && count >= 1);
}

type Remembering = Pick<
  Checked,
  'for' | 'observe' | 'finalizer' | 'retiredFinalizers' | 'owns' | 'children' | 'steps' | 'leavesStatus'
>;

/** Whether the status of its resources is the controller's to write. */
export function writesStatus({ for: type, leavesStatus }: Pick<Checked, 'for' | 'leavesStatus'>): boolean {
  return isKind(type) && leavesStatus !== true;
}

/** What is wrong with a selector of a controller that has to find what it has left on a resource. */
export function hidesNote(definition: Remembering): string | false {
  const { kind, fieldSelector, labelSelector } = definition.for;
  const isSelected = fieldSelector !== undefined || labelSelector !== undefined;
  return (
    isSelected &&
    keepsNote(definition) &&
    `for ${kind} has a selector, which would hide a resource that has its finalizer or its state: use view`
  );
}

/** Whether the library has to remember something of a resource whose status is not its own. */
export function keepsNote(definition: Remembering): boolean {
  const { observe, finalizer, retiredFinalizers = [], steps = {} } = definition;
  const isKept = finalizer !== undefined || retiredFinalizers.length > 0;
  const isAnyExternal = Object.values(steps).some(({ external }) => external);
  return (
    !writesStatus(definition) && (observe !== undefined || isKept || isAnyExternal || keepsJobs(definition))
  );
}

/** Whether the library may have to remember which Jobs were complete. */
export function keepsJobs(definition: Pick<Checked, 'owns' | 'children'>): boolean {
  return declaredOf(definition).some(({ group, kind }) => group === 'batch' && kind === 'Job');
}

/** The types of `owns` that `children` may declare. */
export function declaredOf({
  owns = [],
  children,
}: Pick<Checked, 'owns' | 'children'>): readonly OwnedType<unknown>[] {
  const plain = owns.filter((type) => type.view === undefined);
  if (children === undefined) return plain;
  const viewed = owns.filter(
    (type) => type.view !== undefined && SEARCHED.every((member) => !(member in type)),
  );
  return [...plain, ...viewed.filter((type) => !plain.some((each) => typeNameOf(each) === typeNameOf(type)))];
}

/** What makes objects of a type belong to a resource, or be shown, in another way than objects of `children`. */
const SEARCHED = ['ownerOf', 'nameFor', 'metadataOnly', 'fieldSelector', 'labelSelector'];

/** The activities of the library; `default` is what Temporal calls where it knows no other. */
const LIBRARY_ACTIVITIES = [
  'observe',
  'default',
  'addFinalizer',
  'removeFinalizer',
  'updateStatus',
  'updateState',
];

type CheckedStep = Pick<
  StepDefinition<never, never, never, never>,
  'timeout' | 'retry' | 'forgets' | 'external'
>;

function stepProblems(its: Checked): readonly (string | undefined)[] {
  const { steps = {}, retired = [], lookups = {} } = its;
  const known = ['node', ...Object.keys(lookups)];
  const declared = declaredOf(its).map(({ kind }) => kind);
  const taken = [
    ...LIBRARY_ACTIVITIES,
    ...declared.flatMap((kind) => [`create${kind}`, `apply${kind}`, `delete${kind}`]),
    ...retired.map(({ kind }) => `delete${kind}`),
  ];
  return [
    // Not a member, but the prototype, where it is written out.
    ...(isPlain(steps) ? [] : [misnamed('step', '__proto__')]),
    ...Object.entries(steps).flatMap(([step, { timeout, retry, forgets = [] }]) => [
      misnamed('step', step),
      taken.includes(step)
        ? `the step "${step}" must have another name, since the library uses ${taken.join(', ')} itself`
        : undefined,
      ...forgets.map((each) =>
        known.includes(each)
          ? undefined
          : `the step "${step}" forgets "${each}", which is none of its lookups ${known.join(', ')}`,
      ),
      mistimed('timeout', `the timeout of step ${step}`, timeout),
      mistimed('retry', `the first retry of step ${step}`, retry?.first),
      mistimed('retry', `the longest retry of step ${step}`, retry?.longest),
    ]),
  ];
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return typeof prototype !== 'object' || prototype === null || Object.getPrototypeOf(prototype) === null;
}
