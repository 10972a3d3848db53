import type { DecisionContext, MessageSubject } from '../../api/step.ts';
import type { OwnedType, ViewedObject, WatchedType } from '../../api/watched.ts';
import type { Control } from '../../contract/control.ts';
import {
  allow,
  RECORD_EVENTS,
  type Controller,
  type PolicyRule,
  type WatchedChild,
} from '../../contract/controller.ts';
import { converged, waitFor, type NextStep } from '../../contract/decision.ts';
import type { Identity, KubernetesObject } from '../../contract/object.ts';
import type { MessageInput, ControllerMessages } from '../../contract/words.ts';
import { controlOf } from '../control/annotations.ts';
import { controllerOf, keyOf } from '../kinds.ts';
import { apiVersionOf } from './children/wanted.ts';
import {
  isExternal,
  namesOf,
  nextOf,
  restFor,
  stepFor,
  summariesOf,
  UNBOUND,
  type AnyDefinition,
  type AuthorsStep,
} from './definition.ts';

/* The pure half of a controller for a type that is not of `defineKind`: its objects have no status that says what was done. */

/** What the watcher keeps of a resource. */
export interface Seen {
  readonly view: unknown;
  readonly isBeingDeleted: boolean;
  /** Only where an annotation asks for something. */
  readonly control?: Control;
}

/** What is kept of an object that belongs to a resource. */
export interface OwnedView {
  readonly uid: string;
  /** The UID in its owner reference, where that says whose it is. */
  readonly owner?: string;
  readonly view: unknown;
}

/** What a decision is made from. */
export type ViewedObservation =
  | 'gone'
  | {
      readonly resource: ViewedObject<unknown>;
      readonly owned: readonly OwnedView[];
      readonly control?: Control;
    };

export type ViewedController = Controller<Seen, OwnedView, ViewedObservation, AuthorsStep>;

export function viewedController(definition: AnyDefinition): ViewedController {
  const type = definition.for as WatchedType;
  const { messages, owns = [] } = definition;
  const decides = decisionOf(definition);
  return {
    ...namesOf(definition),
    ...(messages && { words: wordsOf(definition) }),
    steps: summariesOf(definition),
    primary: { ...watchOf(type), view: (object) => seenIn(definition, object) },
    children: owns.map((owned) => childrenOf(type, owned)),
    observation,
    decide: (seen, nowMs, circumstances) =>
      seen === 'gone'
        ? converged(messages?.gone ?? 'the resource is gone')
        : decides(seen, nowMs, (circumstances?.unknownUntilMs ?? 0) - nowMs),
    control: (seen) => (seen === 'gone' ? undefined : seen.control),
    inputs: (seen) => (seen === 'gone' ? [] : (definition.interruptOn?.(factsOf(seen, 0)) ?? [])),
    permissions: permissionsOf(definition),
  };
}

/** Lists by name where only a list can leave out what is not watched. */
export function isListed({ fieldSelector, labelSelector }: WatchedType): boolean {
  return fieldSelector !== undefined || labelSelector !== undefined;
}

function permissionsOf({ for: type, owns = [], permissions = [] }: AnyDefinition): readonly PolicyRule[] {
  return [
    allow(type as WatchedType, [isListed(type as WatchedType) ? 'list' : 'get']),
    ...owns.map(ownedPermission),
    RECORD_EVENTS,
    ...permissions,
  ];
}

export function ownedPermission(owned: OwnedType<unknown>): PolicyRule {
  return allow(owned, [owned.nameFor === undefined || isListed(owned) ? 'list' : 'get']);
}

export function watchOf(type: WatchedType) {
  const { metadataOnly, fieldSelector, labelSelector } = type;
  return {
    type,
    ...(metadataOnly && { metadataOnly }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(labelSelector !== undefined && { labelSelector }),
  };
}

export function childrenOf(type: WatchedType, owned: OwnedType<unknown>): WatchedChild<OwnedView> {
  return {
    ...watchOf(owned),
    ownerKey: (object) => ownerKeyByType(type, owned, object),
    view: (object) => ownedView(owned, object),
  };
}

/** The key of the resource that an object belongs to, as the watcher knows it. */
export function ownerKeyByType(
  { group, kind, namespaced }: WatchedType,
  { ownerOf, nameFor }: OwnedType<unknown>,
  object: KubernetesObject,
): string | undefined {
  const { metadata } = object;
  const { namespace } = metadata;
  const keyIn = (name: string) =>
    keyOf({ name, ...(namespaced && namespace !== undefined && { namespace }) });
  if (typeof ownerOf === 'function') {
    const place = ownerOf(object);
    // A step lists those in the namespace of the resource.
    const isElsewhere = namespaced && nameFor === undefined && place?.namespace !== namespace;
    return place === undefined || isElsewhere ? undefined : keyOf(place);
  }
  if (typeof ownerOf === 'string') {
    const name = metadata.labels?.[ownerOf];
    return name === undefined ? undefined : keyIn(name);
  }
  const owner = controllerOf(metadata);
  const isOurs = owner?.kind === kind && groupIn(owner.apiVersion) === group;
  return isOurs ? keyIn(owner.name) : undefined;
}

function groupIn(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

export function ownedView(owned: OwnedType<unknown>, object: KubernetesObject): OwnedView | undefined {
  // An item of a list does not say what it is.
  const view = owned.view?.({ ...object, apiVersion: apiVersionOf(owned), kind: owned.kind });
  if (view === undefined) return undefined;
  const owner = owned.ownerOf === undefined ? controllerOf(object.metadata)?.uid : undefined;
  return { uid: object.metadata.uid, ...(owner !== undefined && { owner }), view };
}

function seenIn(definition: AnyDefinition, object: KubernetesObject): Seen {
  const control = controlOf(object);
  const isBeingDeleted = object.metadata.deletionTimestamp !== undefined;
  return { view: definition.view?.(object) as unknown, isBeingDeleted, ...(control && { control }) };
}

function observation(
  { view, isBeingDeleted, control }: Seen,
  owned: readonly OwnedView[],
  identity: Identity,
): ViewedResource {
  const { uid, name, resourceVersion, namespace } = identity;
  const metadata = { uid, name, resourceVersion, ...(namespace !== undefined && { namespace }) };
  return {
    resource: { metadata, view, isBeingDeleted },
    owned: belongingTo(uid, owned),
    ...(control && { control }),
  };
}

/** Without those of another resource that had the name. */
export function belongingTo(uid: string, owned: readonly OwnedView[]): readonly OwnedView[] {
  return owned.filter(({ owner = uid }) => owner === uid);
}

/** The same of what a step has read. */
export function observationOf(
  definition: AnyDefinition,
  object: KubernetesObject,
  owned: readonly OwnedView[],
): ViewedResource {
  return observation(seenIn(definition, object), owned, object.metadata);
}

export type ViewedResource = Exclude<ViewedObservation, 'gone'>;

export function factsOf(
  { resource, owned }: ViewedResource,
  nowMs: number,
): DecisionContext<ViewedObject<unknown>, unknown, undefined> {
  return { ...UNBOUND, resource, owned: owned.map(({ view }) => view), observed: undefined, nowMs };
}

function decisionOf(definition: AnyDefinition) {
  const next = nextOf(definition);
  const isAnyExternal = Object.keys(summariesOf(definition)).some((step) => isExternal(definition, step));
  return (seen: ViewedResource, nowMs: number, unknownForMs: number): NextStep<AuthorsStep> => {
    const facts = factsOf(seen, nowMs);
    const outcome = definition.decide?.(facts, next) ?? next.converged('nothing is decided of it');
    switch (outcome.is) {
      case 'step':
        return stepFor({ definition, facts }, outcome);
      case 'record':
      case 'removeFinalizer':
        throw new Error(
          `controller ${definition.name} answers next.${outcome.is}, which is only for a kind of defineKind`,
        );
      case 'converged':
        if (isAnyExternal && unknownForMs > 0)
          return waitFor('an attempt that may still be in progress', unknownForMs);
        return restFor(outcome);
      case 'wait':
      case 'stalled':
        return restFor(outcome, 'Reconcile');
    }
  };
}

function wordsOf(definition: AnyDefinition): ControllerMessages<ViewedObservation> {
  const { messages } = definition;
  const subjectOf = ({ object, observation: seen }: MessageInput<ViewedObservation>) => {
    const { resource } = observationOf(definition, object, []);
    const owned = seen === 'gone' ? [] : factsOf(seen, 0).owned;
    return { object, resource, owned } satisfies MessageSubject<unknown, unknown>;
  };
  return {
    ...messages,
    desired: (subject) => messages?.desired(subjectOf(subject)) ?? '',
    current: (subject) => messages?.current(subjectOf(subject)) ?? '',
  };
}
