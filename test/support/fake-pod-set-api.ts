import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { ObjectMeta } from '../../src/contract/object.ts';
import { labelsFor, type Pod } from '../../src/controllers/pod-set/pod.ts';
import type { PodSet, PodSetStatus } from '../../src/controllers/pod-set/resource.ts';
import { answerJson, aStatus, FakeApiServer, type ReceivedRequest } from './fake-api-server.ts';
import { NAMESPACE, type OwnedPodBuilder, type PodSetBuilder } from './pod-sets.ts';

const PODS_PATH = `/api/v1/namespaces/${NAMESPACE}/pods`;

/** An answer in the server's stead, before or after it has done as asked. */
export interface Interference {
  readonly when: 'instead' | 'after';
  readonly status: number;
  readonly body: object;
}

const Patch = z.object({
  metadata: z
    .object({ uid: z.string().optional(), resourceVersion: z.string().optional() })
    .loose()
    .optional(),
  status: z.record(z.string(), z.unknown()).optional(),
});
const Body = z.object({ metadata: z.object({ name: z.string() }).loose() }).loose();
const Deletion = z.object({
  preconditions: z.object({ uid: z.string(), resourceVersion: z.string().optional() }),
});

/** An API server with one PodSet, `default/web`, and Pods. It checks the preconditions that the real one checks. */
export class FakePodSetApi {
  podSet: PodSet | undefined;
  readonly pods = new Map<string, Pod>();
  /** Asked for every request. */
  interfere: (request: ReceivedRequest) => Interference | undefined = () => undefined;
  /** Called before a request is looked at: what somebody else does meanwhile. */
  meanwhile: (request: ReceivedRequest) => void = () => undefined;
  readonly server: FakeApiServer;
  #version = 100;

  private constructor(server: FakeApiServer, podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[]) {
    this.server = server;
    this.podSet = podSet.object;
    for (const { object } of pods) this.pods.set(object.metadata.name, object);
    server.handle((request, response) => this.#receive(request, response));
  }

  static async start(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[] = []): Promise<FakePodSetApi> {
    return new FakePodSetApi(await FakeApiServer.start(), podSet, pods);
  }

  /** Everything that was asked: `POST pods`, `PATCH podsets/web/status`. */
  get calls(): readonly string[] {
    return this.server.requests.map(callOf);
  }

  get writes(): readonly string[] {
    return this.calls.filter((call) => !call.startsWith('GET'));
  }

  bodiesOf(method: string): readonly unknown[] {
    const requests = this.server.requests.filter((request) => request.method === method);
    return requests.map(({ body }): unknown => JSON.parse(body));
  }

  #receive(request: ReceivedRequest, response: ServerResponse): void {
    this.meanwhile(request);
    const interference = this.interfere(request);
    if (interference?.when === 'instead') {
      answerJson(interference.status, interference.body)(request, response);
      return;
    }
    const [status, body] = this.#answer(request);
    if (interference === undefined) answerJson(status, body)(request, response);
    else answerJson(interference.status, interference.body)(request, response);
  }

  #answer(request: ReceivedRequest): readonly [number, object] {
    const { method, url } = request;
    const name = url.pathname.startsWith(`${PODS_PATH}/`) ? url.pathname.slice(PODS_PATH.length + 1) : '';
    if (url.pathname === PODS_PATH) return method === 'GET' ? this.#list(url) : this.#create(request.body);
    if (name === '') return method === 'GET' ? this.#readPodSet() : this.#patchStatus(request.body);
    const pod = this.pods.get(name);
    if (pod === undefined) return notFound('pods', name);
    if (method === 'GET') return [200, pod];
    return method === 'PATCH' ? this.#patch(pod, request.body) : this.#delete(pod, request.body);
  }

  /** One Pod a page, where the limit is that. */
  #list({ searchParams }: URL): readonly [number, object] {
    const wanted = searchParams.get('labelSelector') ?? '';
    const items = [...this.pods.values()].filter(
      ({ metadata }) => wanted === '' || wanted === selectorOf(metadata.labels ?? {}),
    );
    const from = Number(searchParams.get('continue') ?? 0);
    const to = from + Math.min(Number(searchParams.get('limit')), this.pageMost);
    const next = to < items.length ? String(to) : '';
    return [200, { metadata: { resourceVersion: '1', continue: next }, items: items.slice(from, to) }];
  }

  /** A field of the status that the CRD does not have. */
  drops: keyof PodSetStatus | undefined;

  /** What a webhook makes of the metadata of a new Pod. */
  changes: (metadata: ObjectMeta) => ObjectMeta = (metadata) => metadata;

  /** Where the server sends fewer objects a page than it is asked for. */
  pageMost = Infinity;

  #create(text: string): readonly [number, object] {
    const body = Body.parse(JSON.parse(text));
    const { name } = body.metadata;
    if (this.pods.has(name)) return conflict('AlreadyExists', `pods "${name}" already exists`);
    this.#version += 1;
    const metadata = {
      ...body.metadata,
      name,
      namespace: NAMESPACE,
      uid: `uid-${this.#version}`,
      resourceVersion: String(this.#version),
      creationTimestamp: '2026-01-01T12:00:00Z',
    };
    const pod: Pod = { ...body, metadata: this.changes(metadata), status: { phase: 'Pending' } };
    this.pods.set(name, pod);
    return [201, pod];
  }

  #patch(pod: Pod, text: string): readonly [number, object] {
    const { metadata } = Patch.parse(JSON.parse(text));
    if (!meets(pod.metadata, metadata)) return conflict('Conflict', `pod ${pod.metadata.name} was modified`);
    this.#version += 1;
    const resourceVersion = String(this.#version);
    // A merge patch of metadata is metadata again: the operator sends nothing else.
    const patched: Pod = {
      ...pod,
      metadata: { ...pod.metadata, ...metadata, resourceVersion } as ObjectMeta,
    };
    this.pods.set(pod.metadata.name, patched);
    return [200, patched];
  }

  #delete(pod: Pod, text: string): readonly [number, object] {
    const { preconditions } = Deletion.parse(JSON.parse(text));
    if (!meets(pod.metadata, preconditions)) return conflict('Conflict', 'a precondition is not met');
    this.pods.delete(pod.metadata.name);
    return [200, pod];
  }

  #readPodSet(): readonly [number, object] {
    return this.podSet === undefined ? notFound('podsets', 'web') : [200, this.podSet];
  }

  #patchStatus(text: string): readonly [number, object] {
    if (this.podSet === undefined) return notFound('podsets', 'web');
    const { metadata, status } = Patch.parse(JSON.parse(text));
    if (!meets(this.podSet.metadata, metadata)) return conflict('Conflict', 'the PodSet was modified');
    this.#version += 1;
    const resourceVersion = String(this.#version);
    this.podSet = {
      ...this.podSet,
      metadata: { ...this.podSet.metadata, resourceVersion },
      status: {
        ...this.podSet.status,
        ...status,
        ...(this.drops !== undefined && { [this.drops]: undefined }),
      },
    };
    return [200, this.podSet];
  }
}

function callOf({ method, url }: ReceivedRequest): string {
  return `${method} ${url.pathname.replace(/^.*\/namespaces\/[^/]*\//, '')}`;
}

function selectorOf(labels: Readonly<Record<string, string>>): string {
  const { app = '', version = '' } = labels;
  return Object.entries(labelsFor(app)).every(([key, value]) => labels[key] === value)
    ? `app=${app},version=${version}`
    : '';
}

function meets(
  metadata: ObjectMeta,
  asked: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined } = {},
): boolean {
  const { uid = metadata.uid, resourceVersion = metadata.resourceVersion } = asked;
  return uid === metadata.uid && resourceVersion === metadata.resourceVersion;
}

function conflict(reason: string, message: string): readonly [number, object] {
  return [409, aStatus(409, { reason, message })];
}

function notFound(kind: string, name: string): readonly [number, object] {
  return [
    404,
    aStatus(404, { reason: 'NotFound', message: `${kind} "${name}" not found`, details: { kind, name } }),
  ];
}
