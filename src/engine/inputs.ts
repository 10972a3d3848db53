import { hash } from 'node:crypto';
import type { Condition } from '../api/condition.ts';
import { isConverged } from '../runs/decision.ts';
import { digestOfTexts } from '../api/digest.ts';
import type { Finding } from './condition.ts';
import { canonicalText } from '../api/fields.ts';
import type { ChildrenSeen } from './children/decide.ts';
import { judged } from './children/current.ts';
import { nextOfChildren } from './children/done.ts';
import { inWords } from './children/wanted.ts';
import { isHeld, type AnyDefinition } from './definition.ts';
import { childrenIn, type SeenResource } from './observation.ts';
import { ownedTypes, viewsOf } from './owned.ts';
import { referredTypes } from './references.ts';
import { isViewed } from './view.ts';

/*
 * With `observe`, the watcher cannot decide. It compares what it shows with what was there when the resource was observed last: digests
 * of that are the reason of a condition.
 */

const TYPE = 'InputsObserved';
/** A new version of the operator observes all resources again; not all of them at once. */
const SPREAD_MS = 600_000;
const STARTED_MS = performance.timeOrigin;

/** `<what the watch shows>:<what the author's code is>`. */
export type InputsDigest = string;

/** Undefined: nothing counts besides the generation, or nobody knows what the resource refers to. */
export function inputsDigest(definition: AnyDefinition, seen: SeenResource): InputsDigest | undefined {
  const { view, owned, referred } = seen;
  const { finalizer, revision, optionValues } = definition;
  const refers = referredTypes(definition).length > 0;
  if (definition.observe === undefined || (refers && referred === undefined)) return undefined;
  const shown = {
    ...(isViewed(definition) && { view: view.resource?.view ?? null }),
    ...(finalizer !== undefined && { isHeld: isHeld(definition, view.finalizers) }),
    // In any order, and without UIDs: `decide` is not given them, so they decide nothing.
    ...(ownedTypes(definition).length > 0 && { owned: digestOfTexts(viewsOf(owned).map(canonicalText)) }),
    ...(refers && { referred: referred?.digest }),
    ...(definition.children !== undefined && { notReady: notReadyIn(seen) }),
  };
  const code = {
    ...(revision !== undefined && { revision }),
    ...(optionValues !== undefined && { options: optionValues }),
  };
  const digests = [shown, code].map((each) => digestOfTexts(Object.entries(each).map(canonicalText)));
  return Object.keys({ ...shown, ...code }).length === 0 ? undefined : digests.join(':');
}

/** What is said of declared objects that are as they are declared, and not ready. Of several, `current` has each; what it has of their views is in `owned`. */
function notReadyIn(seen: SeenResource): string {
  const children = childrenIn(seen);
  const next = children && nextOfChildren(children, seen.view);
  const first = next !== undefined && isConverged(next) ? (next.notReady?.message ?? '') : '';
  const unready = judged(children ?? NONE).there.filter(({ readiness }) => readiness.is !== 'ready');
  return [first, ...(unready.length > 1 ? unready.map(inWords).sort() : [])].join(', ');
}

const NONE: ChildrenSeen = { wanted: [], there: [] };

/** How long until the resource has to be observed again, in milliseconds; undefined: all is as it was then. */
export function observedAgainMs(
  digest: InputsDigest,
  { uid, conditions }: { readonly uid: string; readonly conditions: readonly Condition[] },
  nowMs: number,
): number | undefined {
  const before = conditions.find(({ type }) => type === TYPE)?.reason;
  if (before === digest) return undefined;
  const isShownAnew = before?.split(':')[0] !== digest.split(':')[0];
  return isShownAnew ? 0 : Math.max(STARTED_MS + phaseOf(uid) - nowMs, 0);
}

function phaseOf(uid: string): number {
  return Number.parseInt(hash('sha256', uid).slice(0, 8), 16) % SPREAD_MS;
}

export function inputsFinding(digest: InputsDigest): Finding {
  return { type: TYPE, status: 'True', reason: digest, message: 'all is as it was observed' };
}
