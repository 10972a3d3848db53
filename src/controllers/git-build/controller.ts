import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { displayName } from '../../contract/resource.ts';
import { JOBS, NAMESPACES, NODES, PODS } from '../kinds.ts';
import { buildStatusStep, decideBuild } from './decide.ts';
import { watchedObservation, type BuildObserve, type BuildStep, type Observation } from './observation.ts';
import { BUILD_FINALIZER, BUILD_UID_LABEL, BUILDS, type GitBuildOptions } from './resource.ts';
import { buildKeyOf, buildView, jobView, podView, type BuildChild, type BuildView } from './views.ts';
import { gitBuildWords } from './words.ts';

export type { GitBuildOptions } from './resource.ts';

export type GitBuildController = Controller<BuildView, BuildChild, Observation, BuildStep, BuildObserve>;

/** Builds what a resource describes by a Job, and removes the binary from every node when the resource goes. */
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
    steps: ['addFinalizer', 'createJob', 'deleteJob', 'createCleanupJob', 'updateStatus', 'removeFinalizer'],
    primary: { type: BUILDS, view: (object) => buildView(object, options) },
    children: [
      { ...ofBuilds, type: JOBS, view: jobView },
      { ...ofBuilds, type: PODS, view: podView },
    ],
    observation: watchedObservation,
    decide: decideBuild,
    statusStep: buildStatusStep,
    control: ({ build }) => (build === 'gone' ? undefined : build.control),
    inputs: inputsOf,
    finalizer: BUILD_FINALIZER,
    permissions: [
      allow(BUILDS, ['get', 'patch']),
      allow(BUILDS, ['patch'], { subresource: 'status' }),
      // For clusters whose admission checks who may set owner references that block deletion.
      allow(BUILDS, ['update'], { subresource: 'finalizers' }),
      allow(JOBS, ['get', 'list', 'create', 'delete']),
      allow(PODS, ['list']),
      allow(NODES, ['get']),
      allow(NAMESPACES, ['get']),
      RECORD_EVENTS,
    ],
  };
}

/** How Jobs ended, and what keeps Pods from starting: the run does neither itself. */
function inputsOf({ jobs, pods }: Observation): readonly string[] {
  const ends = jobs
    .filter(({ state }) => state !== 'active')
    .map(({ purpose, name, uid, state }) => `${purpose} Job ${name} ${uid} ${state}`);
  const troubles = pods.flatMap(({ purpose, trouble }) =>
    trouble === undefined ? [] : [`${purpose} Pod: ${trouble.text}`],
  );
  return [...new Set([...ends, ...troubles])].sort();
}
