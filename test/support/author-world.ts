import { definedReconciler } from '../../activities/defined-reconciler.ts';
import type { AttemptContext, Reconciler } from '../../activities/reconciler.ts';
import type { KnownObservation } from '../../activities/run-memory.ts';
import { StepRun, type StepEnd } from '../../activities/step-run.ts';
import type { WatchedType } from '../../src/api/watched.ts';
import type { Controller, Identified } from '../../src/engine/controller.ts';
import { isRest, type NextStep, type Refusal } from '../../src/runs/decision.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { referredObjects, stateOf } from '../../src/engine/referred.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import type { DefinedObservation } from '../../src/engine/observation.ts';
import type { AnyDefinition } from '../../src/engine/definition.ts';
import { fieldsOf, listOf, type Fields } from '../../src/api/fields.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { errorFromAnswer, type FailedAnswer } from '../../src/kubernetes/errors.ts';
import { identityFor, projectChild, projectPrimary } from '../../src/watcher/known-objects.ts';
import {
  ApiServer,
  isSelected,
  shown,
  type Request,
  type ServedType,
} from '../../testing/explorer/api-server.ts';
import { SimulatedCluster, objectKey, type Created } from '../../testing/explorer/cluster.ts';

const STEPS_MAX = 12;

export interface AuthorWorldOptions {
  /** Besides that of the resource. */
  readonly types: readonly ServedType[];
  readonly spec: object;
  /** Called before each request: with what it is refused. */
  readonly refuse?: (request: Request, cluster: SimulatedCluster) => FailedAnswer | undefined;
  /** Called after each write: what others make of it. */
  readonly meddle?: (request: Request, cluster: SimulatedCluster) => void;
}

interface RunOptions {
  readonly attempt?: number;
  readonly isElsewhere?: boolean;
}

interface StepOptions {
  readonly known?: KnownObservation | undefined;
  readonly refusal?: Refusal | undefined;
  /** From 1. */
  readonly attempt?: number;
  readonly progress?: AttemptContext['progress'];
  /** Default: it is local. */
  readonly isDurable?: true;
}

/** One resource `shop/front` of an author's controller on a fake API server: its steps, as a run does them, and its watcher. */
export class AuthorWorld {
  /** The writes: `PATCH deployments/front`. */
  readonly requests: string[] = [];
  readonly cluster: SimulatedCluster;
  /** Milliseconds since the epoch. */
  nowMs = 0;
  readonly #definition: AnyDefinition;
  readonly #type: WatchedType;
  readonly #server: ApiServer;
  readonly #options: AuthorWorldOptions;

  constructor(definition: AnyDefinition, options: AuthorWorldOptions) {
    let uids = 0;
    this.#definition = definition;
    this.#type = definition.for;
    this.#options = options;
    const freshUid = () => `uid-${(uids += 1)}`;
    this.cluster = new SimulatedCluster({}, { clockMs: 0, freshUid, onChange: () => undefined });
    this.#server = new ApiServer([this.#type, ...options.types], { ignoresVersions: false });
    const { group, version } = this.#type;
    this.cluster.create(this.#type, {
      apiVersion: `${group}/${version}`,
      metadata: { name: 'front', namespace: 'shop', uid: 'uid-of-front' },
      spec: options.spec,
    });
  }

  get resource(): KubernetesObject {
    const object = this.cluster.get(objectKey(this.#type, 'front'));
    if (object === undefined) throw new Error('the resource is gone');
    return object;
  }

  get status(): Fields {
    return fieldsOf(this.resource['status']);
  }

  condition(type: string): Fields | undefined {
    return listOf(this.status['conditions']).find((each) => each['type'] === type);
  }

  put(type: ServedType, object: Created): void {
    this.cluster.create(type, { ...object, metadata: { namespace: 'shop', ...object.metadata } });
  }

  /**
   * As the run does it.
   *
   * @param isElsewhere each step is tried by a process that knows nothing of the others
   * @returns the steps, until nothing is left to do, or a step fails
   */
  async run({ attempt, isElsewhere = false }: RunOptions = {}): Promise<readonly string[]> {
    const steps: string[] = [];
    let name = 'observe';
    let refusal: Refusal | undefined;
    let known: KnownObservation | undefined;
    while (steps.length < STEPS_MAX) {
      try {
        const end = await this.step(name, { known, refusal, ...(attempt !== undefined && { attempt }) });
        known = isElsewhere ? undefined : end.known;
        refusal = end.refusal ?? refusal;
        name = end.next.do;
        if (isRest(end.next)) return steps;
      } catch (error) {
        const { classification, message } = error as Error & { readonly classification?: string };
        return [...steps, `failed: ${classification ?? message}`];
      }
      steps.push(name);
    }
    return steps;
  }

  /** One attempt of an activity. */
  step(
    name: string,
    { known, refusal, attempt, progress, isDurable }: StepOptions = {},
  ): Promise<StepEnd<unknown>> {
    const ref = { controller: this.#definition.name, namespace: 'shop', name: 'front', uid: 'uid-of-front' };
    const context = {
      ref,
      now: () => this.nowMs,
      superseded: new AbortController().signal,
      refusal,
      ...(attempt && { attempt }),
      progress,
      ...(isDurable && { notDone: name }),
    };
    const reconciler: Reconciler = definedReconciler(this.#definition, this.#client());
    return new StepRun(reconciler, context).perform(name, known);
  }

  /** What a watcher that has just been started decides, and what would be news to an open run. */
  watched(more: Pick<Identified, 'missing'> = {}): {
    readonly decision: NextStep;
    readonly inputs: readonly string[];
  } {
    const controller: Controller = definedController(this.#definition);
    const observation = this.observed(more);
    return {
      decision: controller.decide(observation, this.nowMs, { isLive: false, isNamespacePaused: false }),
      inputs: controller.inputs?.(observation) ?? [],
    };
  }

  /** What that watcher knows. */
  observed(more: Pick<Identified, 'missing'> = {}): DefinedObservation {
    const controller: Controller<unknown, unknown, DefinedObservation> = definedController(this.#definition);
    const primary = projectPrimary(controller.primary, this.resource);
    if (primary === undefined) throw new Error('the watcher does not see the resource');
    const children = controller.children.flatMap((child) =>
      this.cluster
        .list(child.type)
        .filter(({ object }) => isSelected(object, child))
        .flatMap(({ object }) => projectChild(child, shown(object, child)) ?? [])
        .filter(({ ownerKey }) => ownerKey === primary.key),
    );
    const referred = controller.references?.flatMap((reference) => {
      const { type } = reference;
      const { keys } = reference.of(primary.view);
      const there = keys.flatMap((key) => {
        const object = this.cluster.get(objectKey(type, key.split('/').at(-1) ?? ''));
        return object === undefined ? [] : [{ key, ...object.metadata }];
      });
      return referredObjects(type, keys, there);
    });
    return controller.observation(
      primary.view,
      children.map(({ view }) => view),
      { ...identityFor(controller, primary), referred: referred && stateOf(referred), ...more },
    );
  }

  #client(): KubernetesClient {
    return {
      server: 'the fake',
      fieldManager: 'durable-operator',
      watch: () => {
        throw new Error('steps do not watch');
      },
      close: () => Promise.resolve(),
      request: <T>(options: Request) => this.#answer(options) as Promise<T>,
    };
  }

  #answer(request: Request): Promise<unknown> {
    const { method, path } = request;
    const { refuse, meddle } = this.#options;
    if (method !== 'GET') this.requests.push(`${method} ${path.split('/').slice(-2).join('/')}`);
    const failed = refuse?.(request, this.cluster);
    const answer = failed ? { failed } : this.#server.answer(this.cluster, request);
    if ('failed' in answer) return Promise.reject(errorFromAnswer(`${method} ${path}`, answer.failed));
    if (method === 'GET') return Promise.resolve(answer.body);
    meddle?.(request, this.cluster);
    const key = this.#server.keyOf(request);
    return Promise.resolve(method === 'PATCH' ? (this.cluster.get(key) ?? answer.body) : answer.body);
  }
}
