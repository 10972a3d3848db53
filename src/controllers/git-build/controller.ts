import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import type { KubernetesObject, ObjectMeta } from '../../contract/object.ts';
import { displayName } from '../../contract/resource.ts';
import { EVENTS, JOBS, NAMESPACES, NODES, PODS } from '../kinds.ts';
import { buildStatusStep, decideBuild } from './decide.ts';
import { watchedObservation, type BuildObserve, type BuildStep, type Observation } from './observation.ts';
import { BUILD_FINALIZER, BUILD_UID_LABEL, buildNameIn, BUILDS, type GitBuildOptions } from './resource.ts';
import { buildView, hasOurFinalizer, jobView, podView, type BuildChild, type BuildView } from './views.ts';
import { gitBuildWords } from './words.ts';

export type { GitBuildOptions } from './resource.ts';

export type GitBuildController = Controller<BuildView, BuildChild, Observation, BuildStep, BuildObserve>;

/** Builds a binary by a Job, and removes it from every node when the resource is deleted. */
export function gitBuild(options: GitBuildOptions): GitBuildController {
  const ofBuilds = {
    labelSelector: BUILD_UID_LABEL,
    ownerKey: ({ metadata }: KubernetesObject) => buildKeyOf(metadata),
  };
  return {
    name: 'git-build',
    workflowType: 'gitBuild',
    summary: (ref) => `Xxx ${displayName(ref)}: builds its binary, and removes it with the resource`,
    words: gitBuildWords,
    steps: {
      addFinalizer: 'keep the resource until its binary is removed from the nodes',
      createJob: 'build',
      deleteJob: 'stop or remove a Job',
      createCleanupJob: 'remove the binary from a node',
      updateStatus: 'update the status',
      removeFinalizer: 'allow the resource to be deleted',
    },
    primary: { type: BUILDS, view: (object) => withoutCommand(buildView(object, options)) },
    children: [
      { ...ofBuilds, type: JOBS, view: jobView },
      { ...ofBuilds, type: PODS, view: podView },
    ],
    observation: watchedObservation,
    decide: decideBuild,
    statusStep: buildStatusStep,
    control: ({ build }) => (build === 'gone' ? undefined : build.control),
    inputs: inputsOf,
    mayStillArrive: ({ build }) =>
      build !== 'gone' && hasOurFinalizer(build) && build.status.startTime === undefined
        ? 'createJob'
        : undefined,
    finalizer: BUILD_FINALIZER,
    permissions: [
      allow(BUILDS, ['get', 'list', 'patch']),
      allow(BUILDS, ['patch'], { subresource: 'status' }),
      // For clusters whose admission checks who may set owner references that block deletion.
      allow(BUILDS, ['update'], { subresource: 'finalizers' }),
      allow(JOBS, ['get', 'list', 'create', 'delete']),
      allow(PODS, ['list']),
      allow(NODES, ['get']),
      allow(NAMESPACES, ['get']),
      // Those of a Job say why its Pods are refused.
      allow(EVENTS, ['list']),
      RECORD_EVENTS,
    ],
  };
}

/** The key of the build that a Job or a Pod belongs to. */
export function buildKeyOf({ namespace = '', annotations }: ObjectMeta): string | undefined {
  const name = buildNameIn(annotations);
  return name === undefined ? undefined : `${namespace}/${name}`;
}

/** The watcher keeps no command, which may have 16,384 characters. Each step reads the build anyway. */
function withoutCommand(view: BuildView): BuildView {
  const { spec } = view;
  return spec.ok ? { ...view, spec: { ...spec, spec: { ...spec.spec, buildCommand: '' } } } : view;
}

/** How Jobs ended, which containers have ended, and what keeps Pods from starting. The run itself changes none of it. */
function inputsOf({ jobs, pods }: Observation): readonly string[] {
  const ends = jobs
    .filter(({ state }) => state !== 'active')
    .map(({ purpose, name, uid, state }) => `${purpose} Job ${name} ${uid} ${state}`);
  const troubles = pods.flatMap(({ purpose, trouble }) =>
    trouble === undefined ? [] : [`${purpose} Pod ${trouble.text}`],
  );
  const ended = pods.flatMap(({ purpose, name, exitCode }) =>
    exitCode === undefined ? [] : [`${purpose} Pod ${name} has ended its work`],
  );
  const suspended = jobs.flatMap(({ name, suspendedBy }) =>
    suspendedBy === undefined ? [] : [`Job ${name} is suspended`],
  );
  return [...new Set([...ends, ...troubles, ...ended, ...suspended])].sort();
}
