/*
 * What a definition means. In: what an author passes to `defineController`, views of the watcher, what a step has read. Out: a Controller,
 * whose `decide` names the next step or says why there is none: decide.ts and one-decision.ts, for declared objects children/, and holds/
 * for what people ask for by annotations. Pure: nothing here reads a clock, a server or a file.
 */

import type { OwnedType, WatchedType } from '../api/watched.ts';
import { allow, type PolicyRule } from '../api/policy-rule.ts';
import { RECORD_EVENTS, type Controller, type Leaves } from './controller.ts';
import { typeNameOf } from '../api/resource-type.ts';
import { digestOfTexts } from '../api/digest.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { MessageInput, ControllerMessages } from '../api/messages.ts';
import { truncate } from '../api/text.ts';
import { isKind, keepsNote, writesStatus } from '../api/controller.ts';
import { canonicalText } from '../api/fields.ts';
import { decideDefined, statusStepOf } from './decide.ts';
import { controlled, type ControlOptions, type Decides } from './holds/holds.ts';
import {
  attemptMaxMs,
  isAnyExternal,
  isDeclaring,
  isOurs,
  mayLeave,
  namesOf,
  remembers,
  stepsOf,
  summariesOf,
  UNBOUND,
  type AnyDefinition,
} from './definition.ts';
import { saying } from './failing.ts';
import { LIBRARY_STEPS, type DefinedObservation, type SeenResource } from './observation.ts';
import {
  belongingTo,
  isListed,
  ownedPermissions,
  ownedTypes,
  viewsOf,
  watchedOwned,
  watchOf,
  type OwnedView,
} from './owned.ts';
import { referencePermissions, referencesView, referredTypes, watchedReferences } from './references.ts';
import { definedView, isViewed, liveResourceOf, type DefinedView } from './view.ts';
import {
  childPermissions,
  childSummaries,
  declaresOf,
  watchedChildren,
  withoutMissing,
} from './children/declared.ts';
import type { ChildView } from './children/view.ts';
import { isFailedForGood, isStalled, stepUnderWay } from './watched.ts';

/** As much of a spec as a line has room for. */
const SHOWN_MAX = 100;

export type DefinedController = Controller<DefinedView, ChildView | OwnedView, DefinedObservation>;

/** The pure half of a controller that an author has defined. @param controls Default: nothing that people have not asked for is held back */
export function definedController(its: AnyDefinition, controls: ControlOptions = {}): DefinedController {
  const definition = saying(its);
  const { finalizer } = definition;
  const isRemembering = remembers(definition);
  const refers = referredTypes(definition).length > 0;
  const own: Required<Decides<DefinedObservation>> = {
    decide: (...asked) => decideDefined(definition, ...asked),
    statusStep: (...asked) => statusStepOf(definition, ...asked),
    control: (observation) => (observation === 'gone' ? undefined : observation.view.control),
  };
  return {
    ...namesOf(definition),
    ...(!writesStatus(definition) && { leavesStatus: true }),
    ...((isRemembering || definition.messages !== undefined) && { words: wordsOf(definition) }),
    steps: {
      ...summariesOf(definition),
      ...childSummaries(definition),
      ...(isRemembering && LIBRARY_STEPS),
    },
    primary: {
      ...watchOf(definition.for),
      view: (object) => watchedView(definition, object),
    },
    children: [...watchedChildren(definition), ...watchedOwned(definition)],
    references: watchedReferences(definition),
    observation: (view, objects, { referred, missing }) => {
      // One of the same name may have been there before.
      const there = objects
        .filter((each) => 'readiness' in each)
        .filter(({ ownerUid }) => ownerUid === view.uid);
      const declared = view.declares?.(referred, there);
      return {
        ...{ view, there },
        ...(missing && { missing }),
        owned: belongingTo(
          view.uid,
          objects.filter((each) => 'view' in each),
        ),
        declared:
          declared !== undefined && declared !== 'unknown' && 'wanted' in declared
            ? withoutMissing(declared, missing)
            : declared,
        ...(refers && { referred }),
      };
    },
    inputs: (observation) =>
      observation === 'gone'
        ? []
        : [
            ...childrenNews(definition, observation),
            ...(observation.referred === undefined ? [] : [`refers to ${observation.referred.digest}`]),
            ...(isDecidedFrom(definition, observation.view) ? [] : ownedNews(definition, observation)),
            ...viewNews(definition, observation),
          ],
    ...controlled(own, controls),
    statusStep: own.statusStep,
    ...(leavesSomething(definition) && {
      mayStillArrive: (observation: DefinedObservation) =>
        observation === 'gone' ? undefined : stepUnderWay(observation.view),
      attemptMaxMs: Math.max(...Object.values(stepsOf(definition)).map(attemptMaxMs)),
    }),
    ...(definition.observe !== undefined && { observes: true }),
    ...(definition.observe !== undefined && isAnyExternal(definition) && { observesOutside: true }),
    ...(finalizer !== undefined && { finalizer }),
    leaves: leftBy(definition),
    ...(isElsewhere(definition) && { isElsewhere: true }),
    // What is created there is refused.
    ...(isOnlyWithin(definition) && { endsWithNamespace: true }),
    permissions: [
      ...ownPermissions(definition),
      ...childPermissions(definition),
      ...ownedPermissions(definition),
      ...referencePermissions(definition),
      RECORD_EVENTS,
      ...(definition.permissions ?? []),
    ],
  };
}

/** As far as that can be told without a resource: who only declares objects has a finalizer for those elsewhere. */
function isElsewhere({ finalizer, owns = [], for: type, ...definition }: AnyDefinition): boolean {
  if (!type.namespaced) return false;
  const isDeclaring = definition.children !== undefined && finalizer !== undefined;
  const isOnly = definition.decide === undefined && definition.observe === undefined;
  return (isDeclaring && isOnly) || (owns as readonly OwnedType<unknown>[]).some(isNamedElsewhere);
}

/** Whether all that it makes is in the namespace of the resource. */
function isOnlyWithin({ finalizer, observe, children, owns = [], for: type }: AnyDefinition): boolean {
  const isWithin = children !== undefined || (type.namespaced && owns.length > 0 && !observe);
  return isWithin && finalizer === undefined;
}

function isNamedElsewhere(owned: OwnedType<unknown>): boolean {
  const probe = { namespace: 'resource', name: 'resource' };
  try {
    return owned.namespaced && (owned.nameFor?.(probe) ?? probe).namespace !== probe.namespace;
  } catch {
    return false; // A step says so.
  }
}

/** What stays in clusters once no version knows of it any more. */
function leftBy({ owns = [], retired = [], finalizer, retiredFinalizers = [] }: AnyDefinition): Leaves {
  const types = owns as readonly OwnedType<unknown>[];
  const owned = types.filter((each) => each.view === undefined || each.ownerOf === undefined);
  return {
    owns: [...owned, ...(retired as readonly WatchedType[])].map(typeNameOf),
    finalizers: [...(finalizer === undefined ? [] : [finalizer]), ...retiredFinalizers],
  };
}

/** Whether the watcher decides from what it shows, so that a decision says what is new. */
function isDecidedFrom(definition: AnyDefinition, view: DefinedView): boolean {
  return definition.observe === undefined && !isFailedForGood(view);
}

function ownPermissions(definition: AnyDefinition): readonly PolicyRule[] {
  const type = definition.for;
  const { finalizer, retiredFinalizers = [] } = definition;
  const isPatched = finalizer !== undefined || retiredFinalizers.length > 0 || keepsNote(definition);
  return [
    allow(type, [isListed(type) ? 'list' : 'get', ...(isPatched ? ['patch'] : [])]),
    ...(writesStatus(definition) ? [allow(type, ['patch'], { subresource: 'status' })] : []),
  ];
}

/** As the watcher keeps it: of a resource that only steps decide about, no more than a step needs. */
function watchedView(definition: AnyDefinition, object: KubernetesObject): DefinedView | undefined {
  const seen = definedView(definition, object);
  if (seen === undefined) return undefined;
  const { resource, status, ...rest } = polled(withDeclared(seen, definition), definition);
  const isDecided = definition.observe === undefined;
  return {
    ...rest,
    // Those of others may be many.
    finalizers: seen.finalizers.filter((each) => isOurs(definition, each)),
    ...(!seen.finalizers.every((each) => isOurs(definition, each)) && { hasOtherFinalizers: true as const }),
    ...(isDecided && status !== undefined && { status }),
    ...((isDecided || isViewed(definition) || definition.interruptOn) && resource && { resource }),
  };
}

/** Whether an attempt that takes effect late can leave something that no watch shows, or that nobody deletes. */
function leavesSomething(definition: AnyDefinition): boolean {
  const isAnyStep = Object.keys(stepsOf(definition)).some((step) => mayLeave(definition, step));
  return isAnyStep || (definition.children !== undefined && definition.finalizer !== undefined);
}

/** A mistake of the controller shows in the run of the resource. */
const UNKNOWN = () => 'unknown' as const;

function withDeclared(view: DefinedView, definition: AnyDefinition): DefinedView {
  const { resource } = view;
  if (resource === undefined || resource.invalid !== undefined) return view;
  const refers = referencesView(definition, resource);
  const isUnknown = referredTypes(definition).length > 0 && refers === undefined;
  const declares = isUnknown ? UNKNOWN : declaresOf(definition, resource);
  return { ...view, ...(refers && { refers }), ...(declares && { declares }) };
}

function ownedNews(definition: AnyDefinition, { owned }: SeenResource): readonly string[] {
  if (ownedTypes(definition).length === 0) return [];
  return [`owns ${digestOfTexts(viewsOf(owned).map(canonicalText))}`];
}

/** What is new of a type that may have no generation. */
function viewNews(definition: AnyDefinition, { view, owned }: SeenResource): readonly string[] {
  const { resource } = view;
  if (resource === undefined) return [];
  const news = definition.interruptOn?.({ ...UNBOUND, resource, owned: viewsOf(owned) });
  if (news !== undefined) return news;
  return isKind(definition.for) ? [] : [`view ${digestOfTexts([canonicalText(resource.view ?? null)])}`];
}

/** A stalled run goes on once an object of its resource changes, which the run does not do meanwhile. */
function childrenNews(definition: AnyDefinition, { view, there = [] }: SeenResource): readonly string[] {
  if (!isDeclaring(definition) || !isStalled(view)) return [];
  return [
    there
      .map(({ uid, digest, isBeingDeleted }) => `${uid} ${digest} ${isBeingDeleted}`)
      .sort()
      .join(', '),
  ];
}

/** An annotation of the resource counts more. */
function polled(view: DefinedView, { pollInterval }: AnyDefinition): DefinedView {
  const { control } = view;
  return pollInterval === undefined || control === undefined
    ? view
    : { ...view, control: { pollInterval, ...control, ownPollInterval: pollInterval } };
}

function wordsOf(definition: AnyDefinition): ControllerMessages<DefinedObservation> {
  const { messages } = definition;
  if (messages === undefined)
    return {
      desired: ({ object }) => truncate(JSON.stringify(object['spec'] ?? {}), SHOWN_MAX),
      current: ({ observation }) => (observation === 'gone' ? 'nothing' : readyIn(observation.view)),
    };
  const subjectOf = ({ object, observation }: MessageInput<DefinedObservation>) => ({
    object,
    resource: liveResourceOf(definition, object),
    owned: observation === 'gone' ? [] : viewsOf(observation.owned),
  });
  return {
    ...messages,
    desired: (subject) => messages.desired(subjectOf(subject)),
    current: (subject) => messages.current(subjectOf(subject)),
    children: (subject) => messages.children?.(subjectOf(subject)) ?? [],
    progress: (subject) => messages.progress?.(subjectOf(subject)),
  };
}

function readyIn({ conditions }: DefinedView): string {
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined) return 'no condition yet';
  // What is wrong is said once, as the cause.
  return ready.status === 'True' ? `${ready.reason}: ${ready.message}` : `not ready: ${ready.reason}`;
}
