import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from '../src/contract/logger.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';

const EVENTS = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
/** The API server refuses a longer `note`: kubernetes/pkg/apis/core/validation/events.go, `NoteLengthLimit`. */
const NOTE_MAX = 1024;

/** What a person reads in `kubectl events`. */
export interface Event {
  readonly type: 'Normal' | 'Warning';
  /** Why, in CamelCase: `NameTooLong`. */
  readonly reason: string;
  /** What was tried, in CamelCase: `AddLabel`. */
  readonly action: string;
  readonly note: string;
}

/** The object that an Event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Recorder {
  /**
   * Records an Event on the resource. The same Event is recorded once, however often it is repeated.
   * Never fails: what it tells is also in the run and in the log.
   */
  record(ref: ResourceRef, regarding: Regarding, event: Event, log: Logger): Promise<void>;
}

export function eventRecorder(client: KubernetesClient): Recorder {
  return {
    async record(ref, regarding, event, log) {
      try {
        await client.request({
          method: 'POST',
          path: resourcePath(EVENTS, { namespace: ref.namespace }),
          body: eventObject(ref, regarding, event),
        });
      } catch (error) {
        if (error instanceof ApiError && error.classification === 'already-exists') return;
        log.warn({ err: error, event: event.reason }, 'an Event could not be recorded');
      }
    },
  };
}

function eventObject(ref: ResourceRef, regarding: Regarding, event: Event) {
  const note = event.note.slice(0, NOTE_MAX);
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: eventName(ref, event, note), namespace: ref.namespace },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    reportingController: `durable-operator/${ref.controller}`,
    reportingInstance: hostname(),
    ...event,
    note,
    // For a Namespace, too, the namespace is named: the Event then lives where its team looks for it.
    regarding: { ...regarding, namespace: ref.namespace, name: ref.name, uid: ref.uid },
  };
}

/** The same words about the same object make the same name, so that a repeat meets AlreadyExists. */
function eventName(ref: ResourceRef, event: Event, note: string): string {
  const digest = createHash('sha256').update(`${ref.uid} ${event.reason} ${note}`).digest('hex').slice(0, 16);
  return `${ref.name.slice(0, 200).replace(/[^a-z0-9]+$/, '')}.${digest}`;
}
