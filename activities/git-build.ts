import type { DecisionEvent, Action, Refusal } from '../src/contract/decision.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { ResourceType } from '../src/contract/controller.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import { gitBuild } from '../src/controllers/git-build/controller.ts';
import { nodeState } from '../src/controllers/git-build/node.ts';
import { redacted } from '../src/controllers/git-build/failure.ts';
import { buildJob, cleanupJob } from '../src/controllers/git-build/jobs.ts';
import type {
  BuildObserve,
  BuildStep,
  CreateCleanupJobStep,
  CreateJobStep,
  DeleteJobStep,
  FinalizerStep,
  NameHolder,
  Observation,
  StatusStep,
} from '../src/controllers/git-build/observation.ts';
import { isRefusalReported } from '../src/controllers/git-build/refusals.ts';
import {
  BUILD_FINALIZER,
  BUILD_UID_LABEL,
  buildNameIn,
  BUILDS,
  type GitBuildOptions,
  type StatusPatch,
} from '../src/controllers/git-build/resource.ts';
import {
  buildView,
  jobView,
  podView,
  type BuildView,
  type JobView,
} from '../src/controllers/git-build/views.ts';
import { controllerOf, JOBS, NAMESPACES, NODES, PODS } from '../src/controllers/kinds.ts';
import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { ApiError, found, isOf } from '../src/kubernetes/errors.ts';
import { eachPage } from '../src/kubernetes/pages.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { refusalIn } from './step-run.ts';
import { changeOf } from './overridden.ts';
import type { Performed, Reconciler } from './reconciler.ts';
import { refusalOfPods } from './refused-pods.ts';
import { Sharers } from './sharers.ts';

/** A step may be repeated while it is still in progress, so no request may take long. */
const REQUEST_TIMEOUT_MS = 5_000;

/**
 * Reads and writes builds and their Jobs. Every step is decided from live reads: no view of the watcher is confirmed.
 *
 * @param namespaces that the operator watches. Default: all
 */
export function gitBuildReconciler(
  client: KubernetesClient,
  options: GitBuildOptions,
  namespaces: readonly string[] = [],
): Reconciler<Observation, BuildStep, BuildObserve> {
  const sharers = new Sharers({ client, namespaces, options });
  const objectsOf = (ref: ResourceRef) => new BuildObjects({ client, ref, options, sharers });
  return {
    controller: gitBuild(options),
    observe: ({ ref }) => objectsOf(ref).observe(),
    look: (asked, observation, { ref }) => objectsOf(ref).look(asked, observation),
    withRefusal,
    perform: (step, observation, { ref }) => objectsOf(ref).perform(step, observation),
  };
}

/** A refusal that the status reports already stays as it is there. Otherwise each attempt would write its own words. */
function withRefusal(observation: Observation, refusal: Refusal): Observation {
  const { build } = observation;
  const isReported = build !== 'gone' && isRefusalReported(build);
  return isReported && refusal.because !== 'namespace-terminating'
    ? observation
    : { ...observation, refusal };
}

interface Access {
  readonly client: KubernetesClient;
  readonly ref: ResourceRef;
  readonly options: GitBuildOptions;
  readonly sharers: Sharers;
}

/** A merge patch of the build. */
interface BuildPatch {
  readonly metadata: { readonly resourceVersion: string; readonly finalizers?: readonly string[] };
  readonly status?: StatusPatch;
}

/** One build, with its Jobs and Pods. */
class BuildObjects {
  readonly #client: KubernetesClient;
  readonly #ref: ResourceRef;
  readonly #options: GitBuildOptions;
  readonly #sharers: Sharers;

  constructor({ client, ref, options, sharers }: Access) {
    this.#sharers = sharers;
    this.#client = client;
    this.#ref = ref;
    this.#options = options;
  }

  /** Lists Jobs before Pods: a Job that is gone by then creates no Pod that the list would miss. */
  async observe(): Promise<Observation> {
    const build = await this.#build();
    if (build === 'gone') return { build, jobs: [], pods: [] };
    return { build, jobs: await this.#list(JOBS, jobView), pods: await this.#list(PODS, podView) };
  }

  /** Only the view is kept while the rest is read: the object may be large. */
  async #build(): Promise<BuildView | 'gone'> {
    const object = await this.#read(BUILDS, this.#ref.name);
    // Another build may have the name now.
    return object?.metadata.uid === this.#ref.uid ? buildView(object, this.#options) : 'gone';
  }

  async look(asked: BuildObserve, observation: Observation): Promise<Observation> {
    switch (asked.what) {
      case 'node': {
        const state = nodeState(await this.#read(NODES, asked.node));
        return { ...observation, nodes: { ...observation.nodes, [asked.node]: state } };
      }
      case 'events': {
        const { job } = asked;
        const refusal = await refusalOfPods(this.#asking, this.#ref.namespace, job);
        return { ...observation, refusedPods: { ...observation.refusedPods, [job.uid]: refusal } };
      }
      case 'sharers': {
        const { uid } = this.#ref;
        return { ...observation, sharers: await this.#sharers.of({ uid, artifacts: asked.artifacts }) };
      }
      case 'namespace': {
        const namespace = await this.#read(NAMESPACES, this.#ref.namespace, { metadataOnly: true });
        const isThere = namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
        return { ...observation, namespace: isThere ? 'there' : 'terminating' };
      }
      case 'name': {
        const holder = await this.#holderOf(asked.jobName);
        return { ...observation, names: { ...observation.names, [asked.jobName]: holder } };
      }
      default:
        return unreachable(asked);
    }
  }

  async perform(step: BuildStep, observation: Observation): Promise<Performed<Observation>> {
    if (step.do === 'updateStatus') return this.#write(step, observation);
    try {
      return await this.#write(step, { ...observation, refusal: undefined });
    } catch (error) {
      // In a namespace that is terminating, the finalizer has to go: decide nothing else.
      if (observation.namespace === 'terminating' || !isOf(error, 'refused', 'namespace-terminating'))
        throw error;
      const refusal = refusalIn(step.do, error);
      return { observation: { ...observation, refusal, namespace: undefined }, did: [], refusal: error };
    }
  }

  #write(step: BuildStep, observation: Observation): Promise<Performed<Observation>> {
    switch (step.do) {
      case 'addFinalizer':
      case 'removeFinalizer':
        return this.#setFinalizers(step, observation);
      case 'updateStatus':
        return this.#updateStatus(step, observation);
      case 'createJob':
      case 'createCleanupJob':
        return this.#createJob(step, observation);
      case 'deleteJob':
        return this.#deleteJob(step);
      default:
        return unreachable(step);
    }
  }

  /** The patch fails if the build has changed since it was observed. */
  async #setFinalizers(
    { do: step, resourceVersion }: FinalizerStep,
    observation: Observation,
  ): Promise<Performed<Observation>> {
    const others = await this.#otherFinalizers(observation);
    const finalizers = step === 'addFinalizer' ? [...others, BUILD_FINALIZER] : others;
    const patched = await this.#patch({ metadata: { resourceVersion, finalizers } }, observation);
    const did = step === 'addFinalizer' ? 'added' : 'removed';
    return { ...patched, did: [{ did, what: 'the finalizer' }] };
  }

  async #otherFinalizers({ build }: Observation): Promise<readonly string[]> {
    if (build === 'gone' || build.hasOtherFinalizers !== true) return [];
    const { metadata } = (await this.#read(BUILDS, this.#ref.name, { metadataOnly: true })) ?? {};
    return (metadata?.finalizers ?? []).filter((each) => each !== BUILD_FINALIZER);
  }

  async #updateStatus(
    { resourceVersion, status }: StatusStep,
    observation: Observation,
  ): Promise<Performed<Observation>> {
    const patched = await this.#patch({ metadata: { resourceVersion }, status }, observation);
    return {
      ...patched,
      did: [{ did: 'updated', what: `the status to ${status.phase ?? 'the same phase'}` }],
    };
  }

  /** The answer is the build as it is now. */
  async #patch({ metadata, ...body }: BuildPatch, observation: Observation) {
    const subresource = body.status && 'status';
    const path = resourcePath(BUILDS, { ...this.#ref, subresource });
    const sent = { metadata: { uid: this.#ref.uid, ...metadata }, ...body };
    const answer = await this.#request<KubernetesObject>({ method: 'PATCH', path, body: sent });
    const build = buildView(answer, this.#options);
    return { observation: { ...observation, build }, changed: changeOf(sent, answer) };
  }

  async #createJob(
    step: CreateJobStep | CreateCleanupJobStep,
    observation: Observation,
  ): Promise<Performed<Observation>> {
    const isBuild = step.do === 'createJob';
    const manifest = isBuild
      ? buildJob(this.#ref, step, this.#options)
      : cleanupJob(this.#ref, step.cleanup, this.#options);
    const path = resourcePath(JOBS, { namespace: this.#ref.namespace });
    const answer = await this.#request<KubernetesObject>({ method: 'POST', path, body: manifest });
    const { name, labels, annotations } = manifest.metadata;
    const did: Action[] = [
      { did: 'created', what: isBuild ? 'Job' : 'cleanup Job', count: 1, names: [name] },
    ];
    const changed = changeOf({ metadata: { labels, annotations } }, answer);
    const now = { ...observation, names: undefined, sharers: undefined };
    const job = jobView(answer);
    // Labels and annotations say whose Job it is. If something changes them, the step was in vain: decide as before.
    if (job === undefined || changed !== undefined) return { observation: now, did, changed };
    const after = { ...now, jobs: [...now.jobs, job] };
    return { observation: after, did, ...(isBuild && { event: buildStarted(job) }) };
  }

  /** Only as it was read: it may have started a Pod since, and nobody would know where that one ran. */
  async #deleteJob({ job, propagation }: DeleteJobStep): Promise<Performed<Observation>> {
    const { name, uid, resourceVersion, purpose } = job;
    const path = resourcePath(JOBS, { ...this.#ref, name });
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid, resourceVersion },
      propagationPolicy: propagation,
    };
    await this.#request({ method: 'DELETE', path, body });
    const what = purpose === 'build' ? 'Job' : 'cleanup Job';
    return { observation: undefined, did: [{ did: 'deleted', what, count: 1, names: [name] }] };
  }

  async #holderOf(jobName: string): Promise<NameHolder> {
    const object = await this.#read(JOBS, jobName, { metadataOnly: true });
    if (object === undefined) return 'free';
    const { uid, name } = this.#ref;
    const isOwn =
      controllerOf(object.metadata)?.uid === uid || buildNameIn(object.metadata.annotations) === name;
    return jobView(object) ?? (isOwn ? 'altered' : 'foreign');
  }

  /** Undefined if there is none of that name. @throws ApiError */
  #read(
    type: ResourceType,
    name: string,
    how: Pick<RequestOptions, 'metadataOnly'> = {},
  ): Promise<KubernetesObject | undefined> {
    const path = resourcePath(type, { ...(type.namespaced && { namespace: this.#ref.namespace }), name });
    return found(this.#request<KubernetesObject>({ method: 'GET', path, ...how }));
  }

  async #list<View>(
    type: ResourceType,
    view: (object: KubernetesObject) => View | undefined,
  ): Promise<readonly View[]> {
    const path = resourcePath(type, { namespace: this.#ref.namespace });
    const labelSelector = `${BUILD_UID_LABEL}=${this.#ref.uid}`;
    const views: View[] = [];
    await eachPage(
      { client: this.#asking, path, labelSelector },
      {
        onPage: ({ items }) => {
          views.push(...(items ?? []).flatMap((item) => view(item) ?? []));
        },
      },
    );
    return views;
  }

  /** Its errors have no credentials. */
  get #asking(): Pick<KubernetesClient, 'request'> {
    return { request: (options) => this.#request(options) };
  }

  async #request<T>(options: RequestOptions): Promise<T> {
    try {
      return await this.#client.request<T>({ timeoutMs: REQUEST_TIMEOUT_MS, ...options });
    } catch (error) {
      throw withoutCredentials(error);
    }
  }
}

function buildStarted({ name, uid }: JobView): DecisionEvent {
  const note = `created Job ${name} to build the binary`;
  return { type: 'Normal', reason: 'BuildStarted', action: 'Build', note, occasion: uid };
}

/** An admission webhook may quote the Job's environment, and the message enters status, Events and history. */
function withoutCredentials(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { status, reason, details, retryAfterMs, classification, cause } = error;
  const words = redacted(error.words);
  const fields = { status, reason, details, retryAfterMs, classification, words, cause };
  return new ApiError(redacted(error.message), fields);
}
