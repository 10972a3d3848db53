import { ApiServer, wordsOf, type Request } from './api-server.ts';
import { isWrite } from './attempt.ts';
import type { Broken } from './broken.ts';
import type { SimulatedCluster } from './cluster.ts';
import { Violation } from './explorer.ts';
import { isPaused } from '../../src/api/annotations.ts';
import type { WorldState } from './state.ts';
import type { World } from './world.ts';

/** The API server, which finds a rule broken where it would accept what the operator must not write. */
export class JudgedServer {
  readonly #world: World;
  readonly #server: ApiServer;
  readonly #sent: NonNullable<Broken['request']>;
  /** Of the resource. */
  readonly #key: string;

  constructor(world: World, key: string, { ignoresVersions = false, request = asIs }: Broken) {
    this.#world = world;
    this.#server = new ApiServer(world.types, { ignoresVersions, home: world.home });
    this.#sent = request;
    this.#key = key;
  }

  /** Whether a PodDisruptionBudget would refuse it now. */
  isHeldBack(cluster: SimulatedCluster, request: Request): boolean {
    return this.#server.isHeldBack(cluster, request);
  }

  /** @throws Violation */
  serve(state: WorldState, cluster: SimulatedCluster, asked: Request, { isLate = false } = {}) {
    const request = this.#sent(asked, cluster);
    const outside = this.#world.outside?.serve(request, cluster);
    if (outside !== undefined) return outside;
    const before = cluster.get(this.#server.keyOf(request));
    // A create that comes late may be in vain, since it carries nothing that is outdated: it must come to a good end.
    const isCreate = before === undefined || (request.method === 'POST' && !isEviction(request));
    const isJudged = isWrite(request) && !(isLate && isCreate);
    const violation = isJudged ? this.#violation(request, cluster, state.isUndisturbed) : undefined;
    const isDeletion = request.method === 'DELETE' && this.#world.needsApproval?.(request, cluster) === true;
    const answer = this.#server.answer(cluster, request);
    const after = cluster.get(this.#server.keyOf(request));
    // What the server refuses does no harm: that is what writes carry versions for.
    if (violation !== undefined && 'body' in answer) throw new Violation(violation);
    if (isDeletion && before !== after) this.#countApproved(state, request);
    if (request.method === 'PATCH' && 'body' in answer && before === after && before !== undefined)
      this.#changesNothing(request);
    return answer;
  }

  /** An author's step may be repeated with the same patch. Where nothing else comes of it, it never ends. */
  #changesNothing(request: Request): void {
    if (this.#world.outside === undefined) throw new Violation(`${wordsOf(request)} changes nothing`);
  }

  #countApproved(state: WorldState, request: Request): void {
    if (state.approved === null) return;
    state.approved -= 1;
    if (state.approved < 0) throw new Violation(`${wordsOf(request)}: nobody has approved that much`);
  }

  /** Writes carry what they were decided from. @returns what this world does not allow, should it be done */
  #violation(request: Request, cluster: SimulatedCluster, isUndisturbed: boolean): string | undefined {
    if (this.#conditionOf(request) === undefined) throw new Violation(`${wordsOf(request)} ${UNCONDITIONAL}`);
    return (
      this.#writtenWhilePaused(request, cluster) ?? this.#world.violation?.(request, cluster, isUndisturbed)
    );
  }

  #conditionOf({ method, body }: Request): string | undefined {
    const { metadata, preconditions, deleteOptions } = body as Body;
    if (method === 'DELETE') return preconditions?.uid;
    if (method !== 'POST') return this.#conditionIn(metadata);
    return deleteOptions === undefined ? 'it is new' : deleteOptions.preconditions?.uid;
  }

  /** An author's write may be about any version of the object. */
  #conditionIn({ resourceVersion, uid }: NonNullable<Body['metadata']> = {}): string | undefined {
    return this.#world.outside === undefined ? resourceVersion : (resourceVersion ?? uid);
  }

  /** A write of the resource itself is about the version that has the annotation. */
  #writtenWhilePaused(request: Request, cluster: SimulatedCluster): string | undefined {
    const object = cluster.get(this.#key);
    if (this.#server.keyOf(request) !== this.#key || request.path.endsWith('/status')) return undefined;
    if (object === undefined || !isPaused(object) || object.metadata.deletionTimestamp !== undefined)
      return undefined;
    return `${wordsOf(request)} although it is paused`;
  }
}

const UNCONDITIONAL =
  'carries nothing that it was decided from: it would hit whatever has that name by then; send the UID or the resourceVersion that was read';

function asIs(request: Request): Request {
  return request;
}

interface Body {
  readonly metadata?: { readonly resourceVersion?: string; readonly uid?: string };
  readonly preconditions?: { readonly uid?: string };
  /** Of an eviction. */
  readonly deleteOptions?: Pick<Body, 'preconditions'>;
}

function isEviction({ path }: Request): boolean {
  return path.endsWith('/eviction');
}
