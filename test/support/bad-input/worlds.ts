import type { KubernetesObject } from '../../../src/contract/object.ts';
import {
  BUILD_FINALIZER,
  BUILDS,
  PURPOSE_LABEL,
  type Build,
} from '../../../src/controllers/git-build/resource.ts';
import { JOBS, PODS } from '../../../src/controllers/kinds.ts';
import { POD_SETS, type PodSet } from '../../../src/controllers/pod-set/resource.ts';
import { keyOf, type Created } from '../explorer/cluster.ts';
import { explore, type Explored } from '../explorer/explorer.ts';
import { buildWorld } from '../explorer/git-build.ts';
import { operatorIn } from '../explorer/operator.ts';
import { podSetWorld } from '../explorer/pod-set.ts';
import type { World } from '../explorer/world.ts';
import { faultsOf, propertyOf, schemaIn } from './schema.ts';

export const BUILD_SPEC = propertyOf(schemaIn('xxxes.yaml'), 'spec');
export const BUILD_STATUS = propertyOf(schemaIn('xxxes.yaml'), 'status');
export const POD_SET_SPEC = propertyOf(schemaIn('podsets.yaml'), 'spec');
export const POD_SET_STATUS = propertyOf(schemaIn('podsets.yaml'), 'status');

/** What admission cannot know of a spec: the operator's options, and which host a URL names. */
export function isBeyondAdmission(problem: string): boolean {
  return BEYOND_ADMISSION.some((known) => known.test(problem));
}

const BEYOND_ADMISSION = [
  /^spec\.gitUrl must be a URL with a host and a path, or git@host:path$/,
  /^spec\.gitUrl uses the transport \S+, but the operator only allows https, ssh$/,
  /^spec\.clonePath must not be \/srv\/bin or lie below it$/,
];

/** The UIDs that the explored resources have. */
export const BUILD_UID = 'uid-of-sample';
export const POD_SET_UID = 'uid-of-web';

/** Of any shape: what no schema has checked, such as what was stored before there was one. */
export interface Odd {
  readonly spec?: unknown;
  readonly status?: unknown;
  /** Somebody has asked for its deletion, and it has its finalizer. */
  readonly deleting?: boolean;
  /** What else there is of Jobs and Pods. */
  readonly jobs?: readonly Created[];
  readonly pods?: readonly Created[];
}

/** What a run of it may take; a loop takes more. */
const STATES_MAX = 2_000;

/**
 * Lets the operator work on what there is until it rests, in every order.
 *
 * @throws Violation where it throws, goes on for ever, or rests where it should not
 */
export function settled(world: World): Promise<Explored> {
  return explore(operatorIn(world, { budget: {}, slowness: 0 }), STATES_MAX);
}

/** A build whose spec no admission has seen: none that would be refused gets a Job, and a condition says why. */
export function oddBuildWorld(odd: Odd): World {
  const world = buildWorld();
  const faults = 'spec' in odd ? faultsOf(BUILD_SPEC, odd.spec) : [];
  return {
    ...world,
    objects: withOdd(world, BUILDS.plural, odd),
    violation: (request, cluster, isUndisturbed) =>
      request.method === 'POST' && isBuildJob(request.body) && faults.length > 0
        ? `a Job is created for what admission refuses: ${faults.join()}`
        : world.violation?.(request, cluster, isUndisturbed),
    shortcomings: (cluster) => {
      const build = cluster.get<Build>(keyOf(BUILDS, 'sample'));
      if (!('spec' in odd)) return staying(build);
      return faults.length === 0 ? world.shortcomings(cluster) : notRefused(build);
    },
  };
}

/** The same of a PodSet: none that would be refused gets a Pod. */
export function oddPodSetWorld(odd: Odd): World {
  const world = podSetWorld({ replicas: 1 });
  const faults = 'spec' in odd ? faultsOf(POD_SET_SPEC, odd.spec) : [];
  const key = keyOf(POD_SETS, 'web');
  return {
    ...world,
    objects: withOdd(world, POD_SETS.plural, odd),
    violation: (request, cluster, isUndisturbed) =>
      request.method === 'POST' && request.path.endsWith('/pods') && faults.length > 0
        ? `a Pod is created for what admission refuses: ${faults.join()}`
        : world.violation?.(request, cluster, isUndisturbed),
    shortcomings: (cluster) =>
      faults.length === 0 ? world.shortcomings(cluster) : notRefused(cluster.get<PodSet>(key)),
  };
}

const DELETION = { deletionTimestamp: '2026-11-21T11:59:59Z', finalizers: [BUILD_FINALIZER] };

function withOdd(world: World, plural: string, odd: Odd): World['objects'] {
  const { jobs = [], pods = [], deleting = false, ...fields } = odd;
  const oddOne = ({ metadata, ...rest }: Created): Created => ({
    ...rest,
    ...fields,
    metadata: { ...metadata, ...(deleting && DELETION) },
  });
  return [
    ...world.objects.map(([type, object]): World['objects'][number] => [
      type,
      type.plural === plural ? oddOne(object) : object,
    ]),
    ...jobs.map((job): World['objects'][number] => [JOBS, job]),
    ...pods.map((pod): World['objects'][number] => [PODS, pod]),
  ];
}

function isBuildJob(body: unknown): boolean {
  return JSON.stringify(body).includes(`"${PURPOSE_LABEL}":"build"`);
}

/** A status that says `Succeeded` is believed; one that keeps a build from going is not to be. */
function staying(build: Build | undefined): readonly string[] {
  const isGoing = build?.metadata.deletionTimestamp !== undefined;
  return isGoing ? [`it is being deleted, and stays: ${JSON.stringify(build.status)}`] : [];
}

function notRefused(
  resource: (KubernetesObject & Pick<Build | PodSet, 'status'>) | undefined,
): readonly string[] {
  const { conditions = [], observedGeneration } = resource?.status ?? {};
  const isTold = conditions.some(
    ({ type, status, reason, message }) =>
      type === 'Stalled' && status === 'True' && reason === 'InvalidSpec' && message !== '',
  );
  const isCurrent = observedGeneration === resource?.metadata.generation;
  return isTold && isCurrent ? [] : ['no condition says that the spec is invalid'];
}
