import { z } from 'zod';
import type { ResourceType } from '../../contract/controller.ts';
import { EVENTS } from '../../controllers/kinds.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { isOf } from '../../kubernetes/errors.ts';
import { listObjects } from '../cluster/objects.ts';
import type { ObjectEvent } from './history-lines.ts';
import type { ResourcePlace } from '../resource-name.ts';

export interface EventOf extends ObjectEvent {
  /** Of the object that it is about. */
  readonly uid: string;
}

/** What the operator has recorded on objects of this name; undefined where the user may not list Events. @throws ApiError */
export async function eventsOf(
  client: KubernetesClient,
  { kind }: ResourceType,
  { controller, namespace, name }: ResourcePlace,
): Promise<readonly EventOf[] | undefined> {
  const fieldSelector = `regarding.kind=${kind},regarding.name=${name}`;
  try {
    const objects = await listObjects(client, EVENTS, { namespace, fieldSelector });
    return objects.flatMap((object) => eventFrom(object, `durable-operator/${controller}`) ?? []);
  } catch (error) {
    if (isOf(error, 'access-denied')) return undefined;
    throw error;
  }
}

const text = z.string().nullish();

const Event = z.object({
  type: text,
  reason: text,
  note: text,
  eventTime: text,
  deprecatedFirstTimestamp: text,
  reportingController: text,
  metadata: z.object({ uid: text, creationTimestamp: text }),
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
    id: metadata.uid ?? '',
    uid: regarding?.uid ?? '',
  };
}
