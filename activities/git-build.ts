import type { DecisionEvent, Action, Refusal } from '../src/contract/decision.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import { gitBuild } from '../src/controllers/git-build/controller.ts';
import { nodeState } from '../src/controllers/git-build/node.ts';
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
  hasOurFinalizer,
  jobView,
  podView,
  type JobView,
} from '../src/controllers/git-build/views.ts';
import { controllerOf, JOBS, NAMESPACES, NODES, PODS } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { isOf } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { refusalIn } from './step-run.ts';
import { changeOf } from './overridden.ts';
import type { Performed, Reconciler, AttemptContext } from './reconciler.ts';
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
  const kube = kubeOf({
    request: (asked) => client.request({ timeoutMs: REQUEST_TIMEOUT_MS, ...asked }),
  });
  const sharers = new Sharers({ kube, namespaces, options });
  return { controller: gitBuild(options), observe, look, withRefusal, perform };

  /** Lists Jobs before Pods: a Job that is gone by then creates no Pod that the list would miss. */
  async function observe({ ref }: AttemptContext): Promise<Observation> {
    const { namespace, uid } = ref;
    const object = await kube.get({ ...ref, type: BUILDS });
    // Another build may have the name now.
    if (object?.metadata.uid !== uid) return { build: 'gone', jobs: [], pods: [] };
    const build = buildView(object, options);
    // The finalizer is there before the first Job. If somebody has removed it and the status, to create the Job again meets AlreadyExists.
    if (!build.deleting && !hasOurFinalizer(build) && build.status.observedGeneration === undefined)
      return { build, jobs: [], pods: [] };
    const own = { namespace, labelSelector: `${BUILD_UID_LABEL}=${uid}` };
    const jobs = await kube.list({ ...own, type: JOBS }, jobView);
    return { build, jobs, pods: await kube.list({ ...own, type: PODS }, podView) };
  }

  async function look(asked: BuildObserve, seen: Observation, { ref }: AttemptContext): Promise<Observation> {
    switch (asked.what) {
      case 'node': {
        const state = nodeState(await kube.get({ type: NODES, name: asked.node }));
        return { ...seen, nodes: { ...seen.nodes, [asked.node]: state } };
      }
      case 'events': {
        const { job } = asked;
        const refusal = await refusalOfPods(kube, ref.namespace, job);
        return { ...seen, refusedPods: { ...seen.refusedPods, [job.uid]: refusal } };
      }
      case 'sharers':
        return { ...seen, sharers: await sharers.of({ uid: ref.uid, artifacts: asked.artifacts }) };
      case 'namespace': {
        const at = { type: NAMESPACES, name: ref.namespace };
        const { metadata } = (await kube.get(at, { metadataOnly: true })) ?? {};
        const isThere = metadata !== undefined && metadata.deletionTimestamp === undefined;
        return { ...seen, namespace: isThere ? 'there' : 'terminating' };
      }
      case 'name': {
        const holder = await holderOf(ref, asked.jobName);
        return { ...seen, names: { ...seen.names, [asked.jobName]: holder } };
      }
      default:
        return unreachable(asked);
    }
  }

  async function holderOf({ namespace, uid, name }: ResourceRef, jobName: string): Promise<NameHolder> {
    const object = await kube.get({ type: JOBS, namespace, name: jobName }, { metadataOnly: true });
    if (object === undefined) return 'free';
    const isOwn =
      controllerOf(object.metadata)?.uid === uid || buildNameIn(object.metadata.annotations) === name;
    return jobView(object) ?? (isOwn ? 'altered' : 'foreign');
  }

  async function perform(step: BuildStep, seen: Observation, { ref }: AttemptContext): Promise<Done> {
    if (step.do === 'updateStatus') return write(step, seen, ref);
    try {
      return await write(step, { ...seen, refusal: undefined }, ref);
    } catch (error) {
      // In a namespace that is terminating, the finalizer has to go: decide nothing else.
      if (seen.namespace === 'terminating' || !isOf(error, 'refused', 'namespace-terminating')) throw error;
      const refusal = refusalIn(step.do, error);
      return { observation: { ...seen, refusal, namespace: undefined }, did: [], refusal: error };
    }
  }

  async function write(step: BuildStep, seen: Observation, ref: ResourceRef): Promise<Done> {
    switch (step.do) {
      case 'addFinalizer':
      case 'removeFinalizer':
        return setFinalizers(step, seen, ref);
      case 'updateStatus': {
        const { resourceVersion, status } = step;
        const what = `the status to ${status.phase ?? 'the same phase'}`;
        const patched = await patch(ref, { metadata: { resourceVersion }, status }, seen);
        return { ...patched, did: [{ did: 'updated', what }] };
      }
      case 'createJob':
      case 'createCleanupJob':
        return createJob(step, seen, ref);
      case 'deleteJob':
        return deleteJob(step, ref);
      default:
        return unreachable(step);
    }
  }

  async function setFinalizers(
    { do: step, resourceVersion }: FinalizerStep,
    seen: Observation,
    ref: ResourceRef,
  ): Promise<Done> {
    const others = await otherFinalizers(seen, ref);
    const finalizers = step === 'addFinalizer' ? [...others, BUILD_FINALIZER] : others;
    const patched = await patch(ref, { metadata: { resourceVersion, finalizers } }, seen);
    const did = step === 'addFinalizer' ? 'added' : 'removed';
    return { ...patched, did: [{ did, what: 'the finalizer' }] };
  }

  async function otherFinalizers({ build }: Observation, ref: ResourceRef): Promise<readonly string[]> {
    if (build === 'gone' || build.hasOtherFinalizers !== true) return [];
    const { metadata } = (await kube.get({ ...ref, type: BUILDS }, { metadataOnly: true })) ?? {};
    return (metadata?.finalizers ?? []).filter((each) => each !== BUILD_FINALIZER);
  }

  /** Fails if the build has changed since it was observed. The answer is the build as it is now. */
  async function patch(ref: ResourceRef, { metadata, status }: BuildPatch, seen: Observation) {
    const at = { ...ref, type: BUILDS, ...(status && { subresource: 'status' as const }) };
    const sent = { metadata: { uid: ref.uid, ...metadata }, ...(status && { status }) };
    const answer = await kube.patch(at, sent);
    return { observation: { ...seen, build: buildView(answer, options) }, changed: changeOf(sent, answer) };
  }

  async function createJob(
    step: CreateJobStep | CreateCleanupJobStep,
    seen: Observation,
    ref: ResourceRef,
  ): Promise<Done> {
    const isBuild = step.do === 'createJob';
    const manifest = isBuild ? buildJob(ref, step, options) : cleanupJob(ref, step.cleanup, options);
    const answer = await kube.create(JOBS, manifest);
    const { name, labels, annotations } = manifest.metadata;
    const what = isBuild ? 'Job' : 'cleanup Job';
    const did: Action[] = [{ did: 'created', what, count: 1, names: [name] }];
    const changed = changeOf({ metadata: { labels, annotations } }, answer);
    const now = { ...seen, names: undefined, sharers: undefined };
    const job = jobView(answer);
    // Labels and annotations say whose Job it is. If something changes them, the step was in vain: decide as before.
    if (job === undefined || changed !== undefined) return { observation: now, did, changed };
    const after = { ...now, jobs: [...now.jobs, job] };
    return { observation: after, did, ...(isBuild && { event: buildStarted(job) }) };
  }

  /** Only as it was read: it may have started a Pod since, and nobody would know where that one ran. */
  async function deleteJob({ job, propagation }: DeleteJobStep, { namespace }: ResourceRef): Promise<Done> {
    const { name, uid, resourceVersion, purpose } = job;
    await kube.delete({ type: JOBS, namespace, name }, { uid, resourceVersion, propagation });
    const what = purpose === 'build' ? 'Job' : 'cleanup Job';
    return { observation: undefined, did: [{ did: 'deleted', what, count: 1, names: [name] }] };
  }
}

type Done = Performed<Observation>;

/** A merge patch of the build. */
interface BuildPatch {
  readonly metadata: { readonly resourceVersion: string; readonly finalizers?: readonly string[] };
  readonly status?: StatusPatch;
}

/** A refusal that the status reports already stays as it is there. Otherwise each attempt would write its own words. */
function withRefusal(observation: Observation, refusal: Refusal): Observation {
  const { build } = observation;
  const isReported = build !== 'gone' && isRefusalReported(build);
  return isReported && refusal.because !== 'namespace-terminating'
    ? observation
    : { ...observation, refusal };
}

function buildStarted({ name, uid }: JobView): DecisionEvent {
  const note = `created Job ${name} to build the binary`;
  return { type: 'Normal', reason: 'BuildStarted', action: 'Build', note, occasion: uid };
}
