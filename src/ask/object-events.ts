import { z } from 'zod';
import type { KubernetesList } from '../contract/object.ts';
import type { ResourceType } from '../contract/controller.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { isOf } from '../kubernetes/errors.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import type { ObjectEvent } from './history-lines.ts';
import type { ResourcePlace } from './resource-name.ts';

const EVENTS = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
const PAGE = 500;

/** Of whom the Event is. */
export interface EventOf extends ObjectEvent {
  readonly uid: string;
}

/** What the operator has recorded on objects of this name; undefined where the user may not list Events. @throws ApiError */
export async function eventsOf(
  client: KubernetesClient,
  { kind }: ResourceType,
  place: ResourcePlace,
): Promise<readonly EventOf[] | undefined> {
  const path = resourcePath(EVENTS, { namespace: place.namespace });
  const fieldSelector = `regarding.kind=${kind},regarding.name=${place.name}`;
  const found: EventOf[] = [];
  const reporter = `durable-operator/${place.controller}`;
  let next: string | undefined;
  try {
    do {
      const query = { fieldSelector, limit: PAGE, continue: next };
      const page = await client.request<KubernetesList>({ method: 'GET', path, query });
      found.push(...(page.items ?? []).flatMap((object) => eventFrom(object, reporter) ?? []));
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    } while (next !== undefined);
  } catch (error) {
    if (isOf(error, 'access-denied')) return undefined;
    throw error;
  }
  return found;
}

const text = z.string().nullish();

const Event = z.object({
  type: text,
  reason: text,
  note: text,
  eventTime: text,
  deprecatedFirstTimestamp: text,
  reportingController: text,
  metadata: z.object({ creationTimestamp: text }),
  regarding: z.object({ uid: text }).nullish(),
  series: z.object({ count: z.number() }).nullish(),
});

/** Undefined where somebody else has reported it. */
function eventFrom(object: unknown, reporter: string): EventOf | undefined {
  const event = Event.safeParse(object).data;
  if (event?.reportingController !== reporter) return undefined;
  const { type, reason, note, eventTime, deprecatedFirstTimestamp, metadata, regarding, series } = event;
  return {
    atMs: Date.parse(eventTime ?? deprecatedFirstTimestamp ?? metadata.creationTimestamp ?? ''),
    type: type ?? '',
    reason: reason ?? '',
    note: note ?? '',
    count: series?.count ?? 1,
    uid: regarding?.uid ?? '',
  };
}
