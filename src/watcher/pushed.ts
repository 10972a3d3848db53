import type { NextStep } from '../runs/decision.ts';
import { namespaceOf } from '../api/resource-type.ts';
import { type Controller } from '../engine/controller.ts';
import { workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { kubeOf } from '../kubernetes/kube.ts';
import { isNeeded, startRequestFor, type Evaluation } from './evaluation.ts';
import type { Runs, StartRequest } from './runs.ts';

/** Names a resource for one of its controllers. */
export interface ReconcileRequest {
  /** The name of the controller: `bucket`. */
  readonly controller: string;
  /** Absent where the type is cluster-scoped. */
  readonly namespace?: string;
  readonly name: string;
}

export interface PushedOptions {
  /** Those that run. */
  readonly controllers: readonly Controller[];
  readonly look: (ref: ResourceRef) => Promise<NextStep>;
  readonly client: KubernetesClient;
  readonly runs: Pick<Runs, 'start' | 'signal'>;
  /** Empty: all of them. */
  readonly namespaces: readonly string[];
  /** As the watcher of this process shows it. Undefined: there is none, or it does not know all. */
  readonly watched: (place: Omit<ResourceRef, 'uid'>) => Evaluation | undefined;
}

const BECAUSE = 'an outside system has asked for a look';
/** Of one resource, looks begin so long after one another. */
const EVERY_MS = 1_000;
/** So many looks at a time. */
const AT_A_TIME = 16;

/**
 * Looks at resources because an outside system asks for it. In each process, also where another one leads: a resource has one run at most,
 * whoever starts it.
 */
export class Pushed {
  readonly #options: PushedOptions;
  readonly #turns = new Turns();

  constructor(options: PushedOptions) {
    this.#options = options;
  }

  /** @throws Error where the operator is not responsible; ApiError, RunsUnavailable */
  async reconcile({ controller: named, namespace, name }: ReconcileRequest): Promise<void> {
    const { controllers, namespaces } = this.#options;
    const controller = controllers.find((each) => each.name === named);
    if (controller === undefined)
      throw new Error(
        `no controller ${named} runs; those that do are ${controllers.map((each) => each.name).join(', ')}`,
      );
    const { type } = controller.primary;
    if (type.namespaced && namespace === undefined) throw new Error(`${type.kind} ${name} needs a namespace`);
    const place = { controller: named, namespace: (type.namespaced ? namespace : name) ?? name, name };
    const home = namespaceOf(place, type);
    if (home !== undefined && namespaces.length > 0 && !namespaces.includes(home))
      throw new Error(
        `namespace ${home} is not one of those that the operator watches: ${namespaces.join(', ')}`,
      );
    await this.#turns.take(`${named}/${place.namespace}/${name}`, () => this.#look(controller, place));
  }

  async #look(controller: Controller, place: Omit<ResourceRef, 'uid'>): Promise<void> {
    const shown = this.#options.watched(place);
    if (shown !== undefined && !isNeeded(shown) && controller.observes !== true) return;
    const found = shown ?? (await this.#read(controller, place));
    if (found === undefined) return;
    // What the watch shows as converged has no run.
    const mayBeOpen = shown === undefined || isNeeded(shown);
    if (mayBeOpen && (await this.#signal(found.ref)) === 'signalled') return;
    const request = isNeeded(shown)
      ? startRequestFor(shown, controller)
      : await this.#observed(controller, found);
    if (request === undefined) return;
    const answer = await this.#options.runs.start(request);
    if (answer === 'already-open') await this.#signal(found.ref);
  }

  #signal(ref: ResourceRef): Promise<'signalled' | 'not-open'> {
    return this.#options.runs.signal(workflowIdFor(ref), { reason: BECAUSE, change: 'seen' });
  }

  /** Undefined: there is none. */
  async #read(
    { primary: { type } }: Controller,
    place: Omit<ResourceRef, 'uid'>,
  ): Promise<Known | undefined> {
    const { name, namespace } = place;
    const at = { type, name, ...(type.namespaced && { namespace }) };
    const object = await kubeOf(this.#options.client).get(at, { metadataOnly: true });
    if (object === undefined) return undefined;
    const { uid, resourceVersion } = object.metadata;
    return { ref: { ...place, uid }, resourceVersion };
  }

  /** One observation. Undefined: nothing is to be done. */
  async #observed(
    controller: Controller,
    { ref, resourceVersion }: Known,
  ): Promise<StartRequest | undefined> {
    const decision = await this.#options.look(ref);
    const evaluation = { ref, resourceVersion, decision, inputs: '' };
    if (!isNeeded(evaluation)) return undefined;
    const request = startRequestFor(evaluation, controller);
    return { ...request, reason: `${BECAUSE}: ${request.reason}` };
  }
}

type Known = Pick<Evaluation, 'ref' | 'resourceVersion'>;

/** Those who ask for the same while it waits for its turn share one. */
class Turns {
  /** By key. */
  readonly #waiting = new Map<string, Promise<void>>();
  /** Resolves when the key may have another turn. */
  readonly #last = new Map<string, Promise<void>>();
  readonly #queue: (() => void)[] = [];
  #inProgress = 0;

  take(key: string, work: () => Promise<void>): Promise<void> {
    const waiting = this.#waiting.get(key) ?? this.#take(key, work);
    this.#waiting.set(key, waiting);
    return waiting;
  }

  async #take(key: string, work: () => Promise<void>): Promise<void> {
    await this.#last.get(key);
    if (this.#inProgress >= AT_A_TIME) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#inProgress += 1;
    this.#waiting.delete(key);
    const pause = new Promise<void>((resolve) => setTimeout(resolve, EVERY_MS).unref());
    const working = work();
    const isOver = Promise.allSettled([working, pause]).then(() => {
      if (this.#last.get(key) === isOver) this.#last.delete(key);
    });
    this.#last.set(key, isOver);
    try {
      await working;
    } finally {
      this.#inProgress -= 1;
      this.#queue.shift()?.();
    }
  }
}
