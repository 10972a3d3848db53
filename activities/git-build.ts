import type { DecisionEvent, Refusal } from '../src/contract/decision.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { ResourceType } from '../src/contract/controller.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import { gitBuild } from '../src/controllers/git-build/controller.ts';
import { redacted } from '../src/controllers/git-build/failure.ts';
import { buildJob, cleanupJob } from '../src/controllers/git-build/jobs.ts';
import {
  afterCreate,
  afterDelete,
  afterWrite,
  withHolder,
  type BuildObserve,
  type BuildStep,
  type FinalizerStep,
  type NameHolder,
  type Observation,
} from '../src/controllers/git-build/observation.ts';
import { isRefusalReported } from '../src/controllers/git-build/refusals.ts';
import {
  BUILD_FINALIZER,
  BUILD_UID_LABEL,
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
  type PodView,
} from '../src/controllers/git-build/views.ts';
import { controllerOf, JOBS, NAMESPACES, NODES, PODS } from '../src/controllers/kinds.ts';
import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { ApiError, found, isOf } from '../src/kubernetes/errors.ts';
import { eachPage } from '../src/kubernetes/pages.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { refusalIn } from './step-run.ts';
import { wasChanged, type Write } from './overridden.ts';
import type { Performed, Reconciler } from './reconciler.ts';

/** A step may be repeated while it is still in progress: then it shall not go on for long. */
const REQUEST_TIMEOUT_MS = 5_000;

/** How builds, their Jobs and Pods are read and written. Every write carries what it was decided from. */
export function gitBuildReconciler(
  client: KubernetesClient,
  options: GitBuildOptions,
): Reconciler<Observation, BuildStep, BuildObserve> {
  const objectsOf = (ref: ResourceRef) => new BuildObjects({ client, ref, options });
  return {
    controller: gitBuild(options),
    observe: ({ ref }) => objectsOf(ref).observe(),
    look: (asked, observation, { ref }) => objectsOf(ref).look(asked, observation),
    confirm: (step, view, { ref }) => objectsOf(ref).confirm(step, view),
    withRefusal,
    perform: (step, observation, { ref }) => objectsOf(ref).perform(step, observation),
  };
}

/** What the status says already is left as it is: in other words, it would be written before each attempt. */
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
}

/** A merge patch; the UID of the build goes with it. */
interface BuildPatch {
  readonly metadata: { readonly resourceVersion: string; readonly finalizers?: readonly string[] };
  readonly status?: StatusPatch;
}

/** One build, with its Jobs and Pods. */
class BuildObjects {
  readonly #client: KubernetesClient;
  readonly #ref: ResourceRef;
  readonly #options: GitBuildOptions;

  constructor({ client, ref, options }: Access) {
    this.#client = client;
    this.#ref = ref;
    this.#options = options;
  }

  async observe(): Promise<Observation> {
    const build = await this.#build();
    if (build === 'gone') return { build, jobs: [], pods: [], children: 'live' };
    return { build, ...(await this.#children()) };
  }

  async look(asked: BuildObserve, observation: Observation): Promise<Observation> {
    switch (asked.what) {
      case 'children':
        return { ...observation, ...(await this.#children()) };
      case 'node': {
        const { node } = asked;
        const state = await this.#nodeState(node);
        return { ...observation, nodes: { ...observation.nodes, [node]: state } };
      }
      case 'namespace':
        return { ...observation, namespace: await this.#namespaceState() };
      case 'name':
        return withHolder(observation, asked.jobName, await this.#holderOf(asked.jobName));
      default:
        return unreachable(asked);
    }
  }

  /** Writes of the build itself fail unless it is the one that the watcher saw; those of Jobs do not. */
  async confirm({ do: step }: BuildStep, view: Observation): Promise<Observation | undefined> {
    switch (step) {
      case 'addFinalizer':
      case 'updateStatus':
      case 'removeFinalizer':
        return view;
      case 'createJob':
      case 'createCleanupJob':
      case 'deleteJob': {
        const build = await this.#build();
        return isSame(build, view.build) ? { ...view, build } : undefined;
      }
      default:
        return unreachable(step);
    }
  }

  /** Whether a step is refused is found out anew. */
  async perform(step: BuildStep, observation: Observation): Promise<Performed<Observation>> {
    if (step.do === 'updateStatus') return this.#perform(step, observation);
    try {
      return await this.#perform(step, { ...observation, refusal: undefined });
    } catch (error) {
      // What is done because the namespace accepts no Job stays decided.
      if (observation.namespace === 'terminating') throw error;
      return refused(step.do, observation, error);
    }
  }

  async #perform(step: BuildStep, observation: Observation): Promise<Performed<Observation>> {
    switch (step.do) {
      case 'addFinalizer':
      case 'removeFinalizer': {
        const write = await this.#setFinalizers(step);
        const did = step.do === 'addFinalizer' ? 'added' : 'removed';
        return { ...this.#afterPatch(observation, write), did: [{ did, what: 'the finalizer' }] };
      }
      case 'updateStatus': {
        const { resourceVersion, status } = step;
        const write = await this.#patch({ metadata: { resourceVersion }, status }, 'status');
        const what = `the status to ${status.phase ?? 'the same phase'}`;
        return { ...this.#afterPatch(observation, write), did: [{ did: 'updated', what }] };
      }
      case 'createJob':
        return this.#create(buildJob(this.#ref, step, this.#options), observation);
      case 'createCleanupJob':
        return this.#create(cleanupJob(this.#ref, step.cleanup, this.#options), observation);
      case 'deleteJob': {
        const now = await this.#deleteJob(step);
        const what = step.job.purpose === 'build' ? 'Job' : 'cleanup Job';
        const deed = { did: 'deleted', what, count: 1, names: [step.job.name] };
        return { observation: afterDelete(observation, step.job, now), did: [deed] };
      }
      default:
        return unreachable(step);
    }
  }

  /** `gone`, too, where another one has its name now. @throws ApiError */
  async #build(): Promise<BuildView | 'gone'> {
    const path = resourcePath(BUILDS, this.#ref);
    const object = await found(this.#request<KubernetesObject>({ method: 'GET', path }));
    return object?.metadata.uid === this.#ref.uid ? buildView(object, this.#options) : 'gone';
  }

  /** Jobs first: one that is gone then creates no Pod that the list of Pods would miss. */
  async #children(): Promise<Pick<Observation, 'jobs' | 'pods' | 'children'>> {
    const jobs = await this.#list<JobView>(JOBS, jobView);
    const pods = await this.#list<PodView>(PODS, podView);
    return { jobs, pods, children: 'live' };
  }

  async #nodeState(name: string): Promise<'there' | 'gone'> {
    const path = resourcePath(NODES, { name });
    return (await found(this.#request({ method: 'GET', path }))) === undefined ? 'gone' : 'there';
  }

  async #namespaceState(): Promise<'there' | 'terminating'> {
    const path = resourcePath(NAMESPACES, { name: this.#ref.namespace });
    const request = this.#request<KubernetesObject>({ method: 'GET', path, metadataOnly: true });
    const metadata = (await found(request))?.metadata;
    return metadata === undefined || metadata.deletionTimestamp !== undefined ? 'terminating' : 'there';
  }

  async #holderOf(jobName: string): Promise<NameHolder> {
    const path = resourcePath(JOBS, { ...this.#ref, name: jobName });
    const object = await found(this.#request<KubernetesObject>({ method: 'GET', path }));
    if (object === undefined) return 'free';
    const isOwn = controllerOf(object.metadata)?.uid === this.#ref.uid;
    return jobView(object) ?? (isOwn ? 'altered' : 'foreign');
  }

  async #setFinalizers({ do: step, resourceVersion, hasOtherFinalizers }: FinalizerStep): Promise<Write> {
    const others = hasOtherFinalizers === true ? await this.#otherFinalizers() : [];
    const finalizers = step === 'addFinalizer' ? [...others, BUILD_FINALIZER] : others;
    return this.#patch({ metadata: { resourceVersion, finalizers } });
  }

  /** They may be long, so no view keeps them. What was read too late is refused with the write, by its resourceVersion. */
  async #otherFinalizers(): Promise<readonly string[]> {
    const path = resourcePath(BUILDS, this.#ref);
    const { metadata } = await this.#request<KubernetesObject>({ method: 'GET', path });
    return (metadata.finalizers ?? []).filter((each) => each !== BUILD_FINALIZER);
  }

  async #patch({ metadata, ...body }: BuildPatch, subresource?: 'status'): Promise<Write> {
    const path = resourcePath(BUILDS, { ...this.#ref, subresource });
    const sent = { metadata: { uid: this.#ref.uid, ...metadata }, ...body };
    const answer = await this.#request<KubernetesObject>({ method: 'PATCH', path, body: sent });
    return { sent, answer };
  }

  #afterPatch(observation: Observation, write: Write) {
    return { observation: afterWrite(observation, buildView(write.answer, this.#options)), write };
  }

  async #create(
    manifest: ReturnType<typeof buildJob>,
    observation: Observation,
  ): Promise<Performed<Observation>> {
    const { name, labels, annotations } = manifest.metadata;
    const path = resourcePath(JOBS, { namespace: this.#ref.namespace });
    try {
      const answer = await this.#request<KubernetesObject>({ method: 'POST', path, body: manifest });
      const job = jobView(answer);
      const identity: Write = { sent: { metadata: { labels, annotations } }, answer };
      if (job !== undefined && !wasChanged(identity)) return createdJob(job, observation);
      const did = [{ did: 'created', what: 'Job', count: 1, names: [name] }];
      // Without its labels, no list shows it. With other annotations, it is deleted like a Job of an older spec.
      if (job === undefined) return { observation: withHolder(observation, name, 'altered'), did };
      return { observation, did, write: identity };
    } catch (error) {
      if (!isOf(error, 'already-exists')) throw error;
      return { observation: withHolder(observation, name, await this.#holderOf(name)), did: [] };
    }
  }

  /**
   * Only as it was read: a Pod that it has started since would go with it, and where that one ran nobody would know.
   *
   * @returns the Job as it is then, or undefined where it is gone
   */
  async #deleteJob({ job, propagation }: BuildStep & { do: 'deleteJob' }): Promise<JobView | undefined> {
    const { name, uid, resourceVersion } = job;
    const path = resourcePath(JOBS, { ...this.#ref, name });
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid, resourceVersion },
      propagationPolicy: propagation,
    };
    const answer = await found(this.#request<KubernetesObject>({ method: 'DELETE', path, body }));
    // What is gone at once is answered with a Status, or the object as it last was.
    if (answer === undefined || answer.kind === 'Status') return undefined;
    const now = jobView(answer);
    return now?.deleting === true ? now : undefined;
  }

  async #list<View>(
    type: ResourceType,
    view: (object: KubernetesObject) => View | undefined,
  ): Promise<readonly View[]> {
    const path = resourcePath(type, { namespace: this.#ref.namespace });
    const labelSelector = `${BUILD_UID_LABEL}=${this.#ref.uid}`;
    const views: View[] = [];
    const client = { request: <T>(options: RequestOptions) => this.#request<T>(options) };
    await eachPage(
      { client, path, labelSelector },
      {
        onPage: ({ items }) => {
          views.push(...(items ?? []).flatMap((item) => view(item) ?? []));
        },
      },
    );
    return views;
  }

  async #request<T>(options: RequestOptions): Promise<T> {
    try {
      return await this.#client.request<T>({ timeoutMs: REQUEST_TIMEOUT_MS, ...options });
    } catch (error) {
      throw withoutCredentials(error);
    }
  }
}

function isSame(one: BuildView | 'gone', other: BuildView | 'gone'): boolean {
  return one !== 'gone' && other !== 'gone' && one.resourceVersion === other.resourceVersion;
}

/** @throws the error, where it is something else */
function refused(step: string, observation: Observation, error: unknown): Performed<Observation> {
  if (!isOf(error, 'refused', 'namespace-terminating')) throw error;
  const now: Observation = { ...observation, refusal: refusalIn(step, error), namespace: undefined };
  return { observation: now, did: [], refusal: error };
}

function createdJob(job: JobView, observation: Observation): Performed<Observation> {
  const what = job.purpose === 'build' ? 'Job' : 'cleanup Job';
  return {
    observation: afterCreate(observation, job),
    did: [{ did: 'created', what, count: 1, names: [job.name] }],
    ...(job.purpose === 'build' && { event: buildStarted(job) }),
  };
}

function buildStarted({ name, uid }: JobView): DecisionEvent {
  const note = `created Job ${name} to build the binary`;
  return { type: 'Normal', reason: 'BuildStarted', action: 'Build', note, occasion: uid };
}

/** Whatever refuses a Job may quote its environment, and the words end in status, Events and history. */
function withoutCredentials(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { status, reason, details, retryAfterMs, classification, cause } = error;
  const fields = { status, reason, details, retryAfterMs, classification, cause };
  return new ApiError(redacted(error.message), fields);
}
