import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { askCommandOf } from '../../src/runs/ask-command.ts';
import { EVENTS_OF_CLUSTER_SCOPED, type ResourceRef } from '../../src/api/resource-ref.ts';
import { startInBytes } from '../../src/api/text.ts';
import { microTime } from '../../src/kubernetes/micro-time.ts';

/** Sources of the limits: kubernetes/pkg/apis/core/validation/events.go. The server counts bytes. */
const NOTE_MAX_BYTES = 1024;
const REPORTING_INSTANCE_MAX = 128;

/** What a person reads in `kubectl events`. */
export interface Event {
  readonly type: 'Normal' | 'Warning';
  /** Why, in CamelCase: `NameTooLong`. */
  readonly reason: string;
  /** What was tried, in CamelCase: `AddLabel`. */
  readonly action: string;
  readonly note: string;
  /**
   * Tells two happenings of the same words apart, such as the UID of what was created. A state, such as
   * being refused, has none: as long as it lasts it is one Event.
   */
  readonly occasion?: string;
}

/** The object that an Event is about: the resource itself, or its namespace. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  /** It is in no namespace, and is none. */
  readonly isClusterScoped?: boolean;
  /** Where it is the namespace. */
  readonly namespace?: NamespaceOf;
}

interface NamespaceOf {
  readonly name: string;
  /** Of the resource. */
  readonly resourceKind: string;
}

/**
 * The namespace of a resource as an object. The Event lives in `default`: a namespace that is being deleted
 * takes none any more.
 */
export function regardingNamespace(ref: ResourceRef, resource: Regarding): Regarding {
  const namespace = { name: ref.namespace, resourceKind: resource.kind };
  return { apiVersion: 'v1', kind: 'Namespace', namespace };
}

/** An `events.k8s.io/v1` Event as far as we write it. */
export interface EventObject {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly reason: string;
  readonly [field: string]: unknown;
}

/** How often an Event has occurred since it was first recorded; the server refuses a count under 2. */
export interface EventSeries {
  readonly count: number;
  /** MicroTime. */
  readonly lastObservedTime: string;
}

interface Occurrence {
  readonly about: Regarding;
  readonly event: Event;
  /** The name of the operator. */
  readonly program: string;
}

/**
 * The same words, on the same occasion, about the same object make the same name, so that a repeat meets
 * AlreadyExists, whichever process it comes from.
 */
export function eventObject(
  ref: ResourceRef,
  { about, event, program }: Occurrence,
  nowMs: number,
): EventObject {
  const { type, reason, action } = event;
  const note = noteOf(ref, { about, event, program });
  const regarding = regardingOf(ref, about);
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: {
      name: eventName(ref, { ...event, note }),
      namespace: regarding.namespace ?? EVENTS_OF_CLUSTER_SCOPED,
    },
    eventTime: microTime(nowMs),
    reportingController: `${program}/${ref.controller}`,
    reportingInstance: hostname().slice(0, REPORTING_INSTANCE_MAX),
    type,
    reason,
    action,
    note,
    regarding,
  };
}

interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
}

function regardingOf(
  { name, uid, namespace: place }: ResourceRef,
  { namespace, isClusterScoped, ...kind }: Regarding,
): ObjectReference {
  if (namespace !== undefined) return { ...kind, name: namespace.name };
  // For a Namespace, too, the namespace is named: the Event then lives where its team looks for it.
  return { ...kind, ...(!isClusterScoped && { namespace: place }), name, uid };
}

function eventName(ref: ResourceRef, { reason, note, occasion }: Event): string {
  const identity = JSON.stringify([ref.uid, reason, note, occasion]);
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  return `${ref.name.slice(0, 200).replace(/[^a-z0-9]+$/, '')}.${digest}`;
}

/** That of a Warning ends with the command that explains it, however long the rest is. */
function noteOf(ref: ResourceRef, { about, event: { type, note }, program }: Occurrence): string {
  if (type === 'Normal') return startInBytes(note, NOTE_MAX_BYTES);
  const advice = `; see: ${askCommandOf(program)} ${whyOf(ref, about)}`;
  return startInBytes(note, NOTE_MAX_BYTES - Buffer.byteLength(advice)) + advice;
}

/** What to type to be told why the resource is in its state. */
function whyOf(
  { namespace: place, name }: ResourceRef,
  { kind, namespace, isClusterScoped }: Regarding,
): string {
  const resourceKind = namespace?.resourceKind ?? kind;
  const command = `why ${resourceKind.toLowerCase()}/${name}`;
  return isClusterScoped || resourceKind === 'Namespace' ? command : `${command} -n ${place}`;
}
