import type { WatchedType } from '../../api/watched.ts';
import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import type { MessageInput, ControllerMessages } from '../../contract/words.ts';
import { truncate } from '../../contract/text.ts';
import { isKind, type AnyKind } from '../../api/controller.ts';
import { decideDefined } from './decide.ts';
import {
  attemptMaxMs,
  isExternal,
  isHeld,
  namesOf,
  stepsOf,
  summariesOf,
  UNBOUND,
  type AnyDefinition,
} from './definition.ts';
import {
  LIBRARY_STEPS,
  type DefinedObservation,
  type DefinedStep,
  type LiveResource,
} from './observation.ts';
import { ownedPermissions, ownedState, ownedTypes, watchedOwned } from './owned.ts';
import { referencePermissions, referencesView, watchedReferences } from './references.ts';
import { keepsNote } from '../../api/controller.ts';
import { notedView, viewedObject } from './noted.ts';
import { definedView, resourceOf, type DefinedView } from './view.ts';
import { childPermissions, childSummaries, declaresOf, watchedChildren } from './children/declared.ts';
import type { ChildView } from './children/view.ts';
import { viewedController, watchOf, type OwnedView } from './viewed.ts';
import { isSettled, isStalled } from './watched.ts';

/** As much of a spec as a line has room for. */
const SHOWN_MAX = 100;

/** The pure half of a controller that an author has defined. */
export function definedController(definition: AnyDefinition): Controller {
  return remembers(definition) ? kindController(definition) : viewedController(definition);
}

export type KindController = Controller<DefinedView, ChildView | OwnedView, DefinedObservation, DefinedStep>;

/** Of a kind of `defineKind`, whose status says what was done; or of another type, where an annotation does. */
export function kindController(definition: AnyDefinition): KindController {
  const { finalizer, permissions = [] } = definition;
  const type = definition.for as WatchedType;
  const isOwning = ownedTypes(definition).length > 0;
  return {
    ...namesOf(definition),
    words: wordsOf(definition),
    steps: { ...summariesOf(definition), ...childSummaries(definition), ...LIBRARY_STEPS },
    primary: {
      ...(isKind(type) ? { type } : watchOf(type)),
      view: (object) => {
        const view = viewOf(definition, object);
        return view && withDeclared(polled(view, definition), definition, object);
      },
    },
    children: [...watchedChildren(definition), ...watchedOwned(definition)],
    references: watchedReferences(definition),
    observation: (view, objects, { referred }) => ({
      view,
      there: objects.filter((each) => 'readiness' in each),
      ...(isOwning && {
        owned: ownedState(
          view.uid,
          objects.filter((each) => 'view' in each),
        ),
      }),
      declared: view.declares?.(referred),
      ...(referred !== undefined && { referred: referred.digest }),
    }),
    inputs: (observation) => [
      ...(definition.children === undefined ? [] : childrenNews(observation)),
      ...referencesNews(observation),
      ...ownedNews(observation),
      ...viewNews(definition, observation),
    ],
    decide: (...asked) => decideDefined(definition, ...asked),
    control: (observation) => (observation === 'gone' ? undefined : observation.view.control),
    ...(leavesSomething(definition) && {
      mayStillArrive: (observation: DefinedObservation) =>
        observation !== 'gone' &&
        !isSettled(observation.view) &&
        (finalizer === undefined || isHeld(definition, observation.view.finalizers)),
      attemptMaxMs: Math.max(...Object.values(stepsOf(definition)).map(attemptMaxMs)),
    }),
    ...(finalizer !== undefined && { finalizer }),
    // What is created there is refused.
    ...(definition.children !== undefined && finalizer === undefined && { endsWithNamespace: true }),
    permissions: [
      allow(type, finalizer === undefined && isKind(type) ? ['get'] : ['get', 'patch']),
      ...(isKind(type) ? [allow(type, ['patch'], { subresource: 'status' })] : []),
      ...childPermissions(definition),
      ...ownedPermissions(definition),
      ...referencePermissions(definition),
      RECORD_EVENTS,
      ...permissions,
    ],
  };
}

/** Whether the library has a place to remember what was done: the status, or an annotation. */
export function remembers(definition: AnyDefinition): boolean {
  return isKind(definition.for as WatchedType) || keepsNote(definition);
}

/** As decisions and steps have it. */
export function liveResourceOf(definition: AnyDefinition, object: KubernetesObject): LiveResource {
  const type = definition.for as WatchedType;
  return isKind(type) ? resourceOf(type, object) : viewedObject(object, definition.view?.(object));
}

/** Undefined: it is of no interest. */
export function viewOf(definition: AnyDefinition, object: KubernetesObject): DefinedView | undefined {
  return isKind(definition.for as WatchedType) ? definedView(object) : notedView(definition, object);
}

/** Whether an attempt that takes effect late can leave something that no watch shows, or that nobody deletes. */
function leavesSomething(definition: AnyDefinition): boolean {
  const isAnyExternal = Object.keys(summariesOf(definition)).some((step) => isExternal(definition, step));
  return isAnyExternal || (definition.children !== undefined && definition.finalizer !== undefined);
}

/** A mistake of the controller shows in the run of the resource. */
const UNKNOWN = () => 'unknown' as const;

/** The spec is parsed only where something follows from it. */
function withDeclared(view: DefinedView, definition: AnyDefinition, object: KubernetesObject): DefinedView {
  if (definition.children === undefined && definition.references === undefined) return view;
  const resource = resourceOf(definition.for as AnyKind, object);
  if (resource.invalid !== undefined) return view;
  const refers = referencesView(definition, resource);
  const isUnknown = definition.references !== undefined && refers === undefined;
  const declares = isUnknown ? UNKNOWN : declaresOf(definition, resource);
  return { ...view, refers, declares };
}

function referencesNews(observation: DefinedObservation): readonly string[] {
  if (observation === 'gone' || observation.referred === undefined) return [];
  return [`refers to ${observation.referred}`];
}

function ownedNews(observation: DefinedObservation): readonly string[] {
  if (observation === 'gone' || observation.owned === undefined) return [];
  return [`owns ${observation.owned.digest}`];
}

/** What is new of a type that may have no generation. */
function viewNews(definition: AnyDefinition, observation: DefinedObservation): readonly string[] {
  if (observation === 'gone' || observation.view.seen === undefined) return [];
  const { seen, isBeingDeleted, ...identity } = observation.view;
  if (definition.interruptOn === undefined) return [`view ${seen.digest}`];
  const { name, namespace, uid, resourceVersion } = identity;
  const resource = { metadata: { name, namespace, uid, resourceVersion }, view: seen.view, isBeingDeleted };
  return definition.interruptOn({ ...UNBOUND, resource, owned: observation.owned?.views ?? [] });
}

/** A stalled run goes on once an object of its resource changes, which the run does not do meanwhile. */
function childrenNews(observation: DefinedObservation): readonly string[] {
  if (observation === 'gone' || !isStalled(observation.view)) return [];
  const { there = [] } = observation;
  return [
    there
      .map(({ uid, digest, isBeingDeleted }) => `${uid} ${digest} ${isBeingDeleted}`)
      .sort()
      .join(', '),
  ];
}

/** An annotation of the resource counts more. */
function polled(view: DefinedView, { pollInterval }: AnyDefinition): DefinedView {
  return pollInterval === undefined ? view : { ...view, control: { pollInterval, ...view.control } };
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
    owned: observation === 'gone' ? [] : (observation.owned?.views ?? []),
  });
  return {
    ...messages,
    desired: (subject) => messages.desired(subjectOf(subject)),
    current: (subject) => messages.current(subjectOf(subject)),
  };
}

function readyIn({ conditions }: DefinedView): string {
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined) return 'no condition yet';
  // What is wrong is said once, as the cause.
  return ready.status === 'True' ? `${ready.reason}: ${ready.message}` : `not ready: ${ready.reason}`;
}
