import type { ServerResponse } from 'node:http';
import { answerJson, aStatus, type Handler, type ReceivedRequest } from './fake-api-server.ts';

interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string | undefined;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}

interface LoggedEvent {
  readonly version: number;
  readonly line: string;
}

interface OpenWatch {
  readonly response: ServerResponse;
  sent: number;
}

/**
 * A collection of pods behind a FakeApiServer, with the API server's rules for lists in pages, watches from a
 * resourceVersion and compaction. Of selectors, it knows only the one of a name. Faults are handlers that answer in its
 * place, each once.
 */
export class FakeCollection {
  readonly faults = { list: [] as Handler[], watch: [] as Handler[] };
  readonly #objects = new Map<string, StoredObject>();
  readonly #watches = new Set<OpenWatch>();
  #events: LoggedEvent[] = [];
  #version = 100;
  #uids = 0;
  #oldestKept = 0;
  #snapshots = new Map<string, readonly StoredObject[]>();
  readonly #namespace: string | undefined;

  constructor({ isClusterScoped = false } = {}) {
    this.#namespace = isClusterScoped ? undefined : 'default';
  }

  get names(): string[] {
    return [...this.#objects.keys()].sort();
  }

  /** Resource versions by name, as they are now. */
  get versions(): Record<string, string> {
    return Object.fromEntries(
      [...this.#objects.values()].map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
    );
  }

  get version(): string {
    return String(this.#version);
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  put(name: string, labels: Record<string, string> = {}): void {
    const before = this.#objects.get(name);
    const object = this.#anObject(name, before?.metadata.uid ?? `uid-${++this.#uids}`, labels);
    this.#objects.set(name, object);
    this.#log(before ? 'MODIFIED' : 'ADDED', object);
  }

  remove(name: string): void {
    const { uid, labels } = this.#get(name).metadata;
    this.#objects.delete(name);
    this.#log('DELETED', this.#anObject(name, uid, labels));
  }

  /** Tells every open watch how far it is. */
  bookmark(): void {
    this.#version += 1;
    const object = { kind: 'Pod', metadata: { resourceVersion: this.version } };
    this.sendLine(JSON.stringify({ type: 'BOOKMARK', object }));
  }

  /** Sends something to every open watch, outside the rules. */
  sendLine(line: string): void {
    for (const { response } of this.#watches) response.write(`${line}\n`);
  }

  /** An event about an object as it is now. */
  lineOf(type: string, name: string): string {
    return `{"type":"${type}","object":${this.jsonOf(name)}}`;
  }

  jsonOf(name: string, version = this.#get(name).metadata.resourceVersion): string {
    const { metadata } = this.#get(name);
    return JSON.stringify({ metadata: { ...metadata, resourceVersion: version } });
  }

  /** The database of an earlier day: what was written since is lost, versions included. */
  restore(): void {
    this.#objects.clear();
    this.compact();
    this.#version = 10;
    this.#oldestKept = 0;
  }

  breakWatches(how: 'end' | 'reset'): void {
    for (const { response } of this.#watches) {
      if (how === 'end') response.end();
      else response.socket?.resetAndDestroy();
    }
    this.#watches.clear();
  }

  /** Forgets the events until now, and the snapshots of lists in pages. */
  compact(): void {
    this.forgetEvents();
    this.#snapshots = new Map();
  }

  /** As the API server, which keeps them for a shorter time than its database. */
  forgetEvents(): void {
    this.#oldestKept = this.#version;
    this.#events = [];
  }

  readonly handler: Handler = (request, response) => {
    const isWatch = request.url.searchParams.has('watch');
    const fault = (isWatch ? this.faults.watch : this.faults.list).shift();
    if (fault) fault(request, response);
    else if (isWatch) this.#answerWatch(request, response);
    else this.#answerList(request, response);
  };

  #answerList(request: ReceivedRequest, response: ServerResponse): void {
    const limit = Number(request.url.searchParams.get('limit') ?? Infinity);
    const token = request.url.searchParams.get('continue');
    const [version = '', offset = '0', last = ''] = token?.split(':') ?? [this.version];
    const [, named] =
      /metadata\.name=([^,]+)/.exec(request.url.searchParams.get('fieldSelector') ?? '') ?? [];
    const objects = [...this.#objects.values()].filter(
      ({ metadata: { name } }) => named === undefined || name === named,
    );
    const rest = objects.filter(({ metadata }) => metadata.name > last);
    const all = version === 'rest' ? rest : token ? this.#snapshots.get(version) : objects;
    if (!all) {
      const message = 'The provided continue parameter is too old to display a consistent list result.';
      const expired = aStatus(410, { reason: 'Expired', message });
      answerJson(410, { ...expired, metadata: { continue: `rest:0:${last}` } })(request, response);
      return;
    }
    this.#snapshots.set(version, all);
    const end = Number(offset) + limit;
    const items = all.slice(Number(offset), end);
    const more = end < all.length ? { continue: `${version}:${end}:${items.at(-1)?.metadata.name}` } : {};
    answerJson(200, { kind: 'PodList', metadata: { resourceVersion: version, ...more }, items })(
      request,
      response,
    );
  }

  #answerWatch(request: ReceivedRequest, response: ServerResponse): void {
    const from = Number(request.url.searchParams.get('resourceVersion'));
    if (from < this.#oldestKept) {
      const message = `too old resource version: ${from} (${this.#oldestKept})`;
      answerJson(410, aStatus(410, { reason: 'Expired', message }))(request, response);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const watch = { response, sent: from };
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
    this.#send(watch);
  }

  #send(watch: OpenWatch): void {
    for (const { version, line } of this.#events) {
      if (version > watch.sent) watch.response.write(`${line}\n`);
    }
    // One from a version that is ahead, as after a restore, says nothing until that is reached.
    watch.sent = Math.max(watch.sent, this.#version);
  }

  #log(type: string, object: StoredObject): void {
    this.#events.push({ version: this.#version, line: JSON.stringify({ type, object }) });
    for (const watch of this.#watches) this.#send(watch);
  }

  #anObject(name: string, uid: string, labels: Readonly<Record<string, string>>): StoredObject {
    this.#version += 1;
    return { metadata: { name, namespace: this.#namespace, uid, resourceVersion: this.version, labels } };
  }

  #get(name: string): StoredObject {
    const object = this.#objects.get(name);
    if (!object) throw new Error(`no pod ${name}`);
    return object;
  }
}
