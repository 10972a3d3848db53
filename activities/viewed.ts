import type { OwnedType, WatchedType } from '../src/api/watched.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import {
  isExternal,
  stepsOf,
  type AnyDefinition,
  type AuthorsStep,
} from '../src/controllers/defined/definition.ts';
import {
  factsOf,
  observationOf,
  viewedController,
  type ViewedObservation,
} from '../src/controllers/defined/viewed.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { isOf } from '../src/kubernetes/errors.ts';
import { authorsKube } from './authors-kube.ts';
import { doStep } from './authors-step.ts';
import { Folded } from './folded.ts';
import { readOwned } from './owned.ts';
import type { Performed, Reconciler, AttemptContext } from './reconciler.ts';
import { readWatched } from './watched.ts';

/** How the resources of a type that is not of `defineKind` are read, and how the steps of their controller are done. */
export function viewedReconciler(
  definition: AnyDefinition,
  client: KubernetesClient,
): Reconciler<ViewedObservation, AuthorsStep> {
  const objects = new ViewedObjects(definition, client);
  return {
    controller: viewedController(definition),
    isExternal: (step) => isExternal(definition, step),
    observe: ({ ref }) => objects.observe(ref),
    ...(Object.values(stepsOf(definition)).some(({ reads = 'all' }) => reads !== 'all') && {
      confirm: (step: AuthorsStep, view: ViewedObservation, { ref }: AttemptContext) =>
        objects.confirm(step, view, ref),
    }),
    perform: (step, before, context) => objects.perform(step, before, context),
  };
}

class ViewedObjects {
  readonly #definition: AnyDefinition;
  readonly #client: KubernetesClient;
  readonly #type: WatchedType;
  readonly #owns: readonly OwnedType<unknown>[];

  constructor(definition: AnyDefinition, client: KubernetesClient) {
    this.#definition = definition;
    this.#client = client;
    this.#type = definition.for as WatchedType;
    this.#owns = (definition.owns ?? []) as readonly OwnedType<unknown>[];
  }

  async observe(ref: ResourceRef): Promise<ViewedObservation> {
    const [object, ...owned] = await Promise.all([
      this.#read(ref),
      ...this.#owns.map((each) => readOwned(this.#client, each, { type: this.#type, ref })),
    ]);
    return object === undefined ? 'gone' : observationOf(this.#definition, object, owned.flat());
  }

  async confirm(
    step: AuthorsStep,
    view: ViewedObservation,
    ref: ResourceRef,
  ): Promise<ViewedObservation | undefined> {
    const { reads = 'all' } = stepsOf(this.#definition)[step.do] ?? {};
    if (reads === 'cache') return view;
    if (reads === 'all' || view === 'gone') return undefined;
    const object = await this.#read(ref);
    return object === undefined ? 'gone' : observationOf(this.#definition, object, view.owned);
  }

  perform(
    step: AuthorsStep,
    before: ViewedObservation,
    context: AttemptContext,
  ): Promise<Performed<ViewedObservation>> {
    if (before === 'gone') throw new Error(`step ${step.do} was decided without a resource; this is a bug`);
    const external = isExternal(this.#definition, step.do);
    const folded = new Folded(this.#definition, before);
    const performing = doStep<ViewedObservation>({
      ...{ definition: this.#definition, step, context, facts: factsOf(before, context.now()) },
      after: () => (external ? undefined : folded.observation),
      kubeFor: ({ allow, onWritten, ...hooks }) =>
        authorsKube({
          client: this.#client,
          ...hooks,
          isMetadataOnly: (at) => this.#type.metadataOnly === true && folded.isResource(at),
          allow: (write) => {
            allow(write);
            folded.check(step, write);
          },
          onWritten: (written) => {
            folded.written(written);
            onWritten(written);
          },
        }),
    });
    return performing.catch((error: unknown) => this.#goneBy(error, context.ref));
  }

  /** A resource that is gone by then is not a failure. */
  #goneBy(error: unknown, { name }: ResourceRef): Performed<ViewedObservation> {
    const isIt =
      isOf(error, 'not-found') && error.details?.name === name && error.details.kind === this.#type.plural;
    if (!isIt) throw error;
    return { observation: 'gone', did: [] };
  }

  /** Undefined where it is gone, is another one of the same name, or does not fit the selectors. */
  async #read(ref: ResourceRef): Promise<KubernetesObject | undefined> {
    const object = await readWatched(this.#client, this.#type, ref);
    return object?.metadata.uid === ref.uid ? object : undefined;
  }
}
