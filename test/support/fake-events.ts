import { z } from 'zod';
import { answerJson, aStatus, type Handler } from './fake-api-server.ts';

const StoredEvent = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  eventTime: z.string(),
  reason: z.string(),
  note: z.string(),
  series: z.object({ count: z.number(), lastObservedTime: z.string() }).optional(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

/** The events.k8s.io API behind a FakeApiServer. Faults are handlers that answer in its place, each once. */
export class FakeEvents {
  readonly faults: Handler[] = [];
  readonly #events = new Map<string, StoredEvent>();

  get stored(): readonly StoredEvent[] {
    return [...this.#events.values()];
  }

  /** As they do an hour after they were last told of. */
  expire(): void {
    this.#events.clear();
  }

  readonly handler: Handler = (request, response) => {
    const fault = this.faults.shift();
    const answer =
      fault ??
      (request.method === 'POST' ? this.#create(request.body) : this.#patch(request.url, request.body));
    answer(request, response);
  };

  #create(body: string): Handler {
    const event = StoredEvent.parse(JSON.parse(body));
    const { name, namespace } = event.metadata;
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events/${name}`;
    if (this.#events.has(path))
      return answerJson(409, aStatus(409, { reason: 'AlreadyExists', message: 'it is there' }));
    this.#events.set(path, event);
    return answerJson(201, event);
  }

  /** Source of the refusal: kubernetes/pkg/apis/core/validation/events.go. */
  #patch({ pathname }: URL, body: string): Handler {
    const event = this.#events.get(pathname);
    const name = pathname.split('/').at(-1);
    const gone = { reason: 'NotFound', message: 'it is not there', details: { kind: 'events', name } };
    if (event === undefined) return answerJson(404, aStatus(404, gone));
    const patched = StoredEvent.parse({
      ...event,
      ...z.record(z.string(), z.unknown()).parse(JSON.parse(body)),
    });
    if (patched.series !== undefined && patched.series.count < 2)
      return answerJson(
        422,
        aStatus(422, { reason: 'Invalid', message: 'series.count: should be at least 2' }),
      );
    this.#events.set(pathname, patched);
    return answerJson(200, patched);
  }
}
