import {
  allow,
  ApiError,
  defineController,
  EVENTS,
  JOBS,
  NAMESPACES,
  NODES,
  PODS,
  StepError,
  withOptions,
  type DecisionContext,
  type Deletion,
  type Kube,
  type KubernetesObject,
  type NamespacedName,
  type NewObject,
  type OperatorScope,
} from '../../api/index.ts';
import { listed } from './artifacts.ts';
import { nameTaken } from './causes.ts';
import { verdictOn } from './decide.ts';
import { buildView, type Build, type BuildLookups, type BuildView, type Facts } from './facts.ts';
import { buildJob, cleanupJob } from './jobs.ts';
import {
  BUILD_FINALIZER,
  BUILD_UID_LABEL,
  buildNameIn,
  BUILDS,
  type Artifact,
  type BuildSpec,
  type ParsedBuild,
  type StoredBuild,
} from './kind.ts';
import { BUILD_OPTIONS, type GitBuildOptions } from './options.ts';
import { buildLookups, holderOf } from './lookups.ts';
import { Sharers } from './sharing.ts';
import { checkSpec, type SpecOptions } from './spec.ts';
import { decisionOf, buildStatusOf, type BuildSteps, type JobDeletion } from './verdict.ts';
import { jobView, podView, type BuildChild, type JobView } from './views.ts';

type Context = DecisionContext<Build, BuildChild, undefined, unknown, BuildLookups>;

/** Builds a binary by a Job, and removes it from every node when the resource is deleted. */
export const gitBuild = withOptions(BUILD_OPTIONS, gitBuildWith);

function gitBuildWith(options: GitBuildOptions, { namespaces }: OperatorScope) {
  const sharers = new Sharers(options, namespaces);
  const ofBuilds = {
    labelSelector: BUILD_UID_LABEL,
    ownerOf: ({ metadata }: KubernetesObject) => ownerOf(metadata),
    labelsFor: ({ uid }: { readonly uid: string }) => ({ [BUILD_UID_LABEL]: uid }),
  };
  return defineController({
    name: 'git-build',
    summary: 'builds its binary, and removes it with the resource',
    for: BUILDS,
    view: (object: ParsedBuild): BuildView => buildView(object, options),
    finalizer: BUILD_FINALIZER,
    // Jobs first: one that is gone when they are listed has no Pod that the list of Pods would miss.
    owns: [
      { ...JOBS, ...ofBuilds, view: (job): BuildChild | undefined => jobView(job) },
      { ...PODS, ...ofBuilds, view: podView },
    ],
    lookups: buildLookups(() => sharers),
    observeInPlan: true,
    steps: {
      createJob: {
        summary: 'build',
        // Jobs that the watch does not show are looked up, where there may be any.
        reads: 'resource',
        forgets: ['holder', 'running'],
        async run({ kube, resource }, { hash }: BuildSteps['createJob']) {
          const spec = await readSpec(kube, resource, { hash, options });
          await create(kube, resource, buildJob(resource.view, { spec, hash }, options));
          const message = `created Job ${spec.jobName} to build the binary`;
          return { message, event: { reason: 'BuildStarted', action: 'Build' } };
        },
      },
      createCleanupJob: {
        summary: 'remove the binary from a node',
        // Nothing builds any more, as the status says.
        reads: 'resource',
        forgets: ['cleanupHolder', 'running', 'sharers'],
        deletes: ({ resource }, { left }: BuildSteps['createCleanupJob']) => deletionOfFiles(resource, left),
        async run({ kube, resource }, cleanup: BuildSteps['createCleanupJob']) {
          await create(kube, resource, cleanupJob(resource.view, cleanup, options));
          return `created cleanup Job ${cleanup.jobName}`;
        },
      },
      deleteJob: {
        summary: 'stop or remove a Job',
        forgets: ['holder', 'cleanupHolder', 'running'],
        deletes: (_, job: JobDeletion) => deletionOfJob(job),
        async run({ kube, resource, owned }, job: JobDeletion) {
          const { name, uid, purpose, propagation } = job;
          // Only as it was read: it may have started a Pod since, and nobody would know where that one ran.
          const known = owned.find((each) => each.uid === uid) as JobView | undefined;
          const { resourceVersion } = known ?? job;
          const conditions = { uid, propagation, ...(resourceVersion !== undefined && { resourceVersion }) };
          await kube.delete({ type: JOBS, namespace: resource.metadata.namespace, name }, conditions);
          if (!job.isReplaced) return `deleted ${purpose === 'build' ? 'Job' : 'cleanup Job'} ${name}`;
          const message = `deleted Job ${name} because the spec has changed`;
          return { message, event: { reason: 'JobReplaced', action: 'Replace' } };
        },
      },
    },
    decide(context, next) {
      const facts = factsIn(context);
      return decisionOf(facts, verdictOn(facts), next);
    },
    status(context) {
      const facts = factsIn(context);
      return buildStatusOf(facts, verdictOn(facts).status);
    },
    interruptOn: ({ owned }) => newsIn(owned),
    messages: {
      desired: ({ resource }) => desired(resource),
      current: ({ resource, owned }) => current(resource, owned),
      children: ({ owned }) =>
        owned.flatMap((each) =>
          each.kind === 'pod' && each.trouble ? [`Pod ${each.name} ${each.trouble.text}`] : [],
        ),
    },
    permissions: [
      allow(BUILDS, ['list']),
      // For clusters whose admission checks who may set owner references that block deletion.
      allow(BUILDS, ['update'], { subresource: 'finalizers' }),
      allow(JOBS, ['get', 'create', 'delete']),
      allow(NODES, ['get']),
      allow(NAMESPACES, ['get']),
      // Those of a Job say why its Pods are refused.
      allow(EVENTS, ['list']),
    ],
  });
}

function factsIn({ resource: { view: build }, owned, lookups, nowMs, unknown, refused }: Context): Facts {
  // One of the same name may have been there before.
  const own = owned.filter(({ buildUid }) => buildUid === build.uid);
  const creates = unknown.filter(({ step }) => step === 'createJob');
  return {
    ...{ build, lookups, nowMs, refused },
    jobs: own.filter((child) => child.kind === 'job'),
    pods: own.filter((child) => child.kind === 'pod'),
    createUnknownForMs: Math.max(0, ...creates.map(({ untilMs }) => untilMs - nowMs)),
  };
}

/** The build that a Job or a Pod belongs to. */
function ownerOf({ namespace, annotations }: KubernetesObject['metadata']): NamespacedName | undefined {
  const name = buildNameIn(annotations);
  return name === undefined ? undefined : { name, ...(namespace !== undefined && { namespace }) };
}

interface Wanted {
  readonly hash: string;
  readonly options: SpecOptions;
}

/** With its command, which the view leaves out where it is long. @throws ApiError if it is another one by now */
async function readSpec(
  kube: Kube,
  { metadata, view }: Build,
  { hash, options }: Wanted,
): Promise<BuildSpec> {
  if (view.spec.ok && view.spec.spec.buildCommand !== '') return view.spec.spec;
  const object = await kube.get<StoredBuild>({ ...metadata, type: BUILDS });
  const checked = checkSpec(object?.spec, options);
  if (object?.metadata.uid === metadata.uid && checked.ok && checked.hash === hash) return checked.spec;
  throw new ApiError('the resource has changed', { classification: 'conflict' });
}

/** Whose Job has the name, and whether the namespace accepts any, is found out once the status says that it was refused. */
async function create(kube: Kube, resource: Build, manifest: NewObject & { metadata: { name: string } }) {
  const { name } = manifest.metadata;
  const { namespace = '' } = resource.metadata;
  try {
    await kube.create(JOBS, manifest);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.classification === 'namespace-terminating')
      throw new StepError('refused', `namespace ${namespace} seems to accept no new Jobs`, {
        reason: 'NamespaceTerminating',
      });
    if (error.classification !== 'already-exists') throw error;
    const holder = await holderOf(kube, resource, name);
    const isOwn = typeof holder === 'object' && holder.buildUid === resource.metadata.uid;
    if (holder === 'free' || isOwn) throw error;
    const { reason, message, advice } = nameTaken(name, namespace, holder === 'altered' ? holder : 'other');
    throw new StepError('refused', message, { reason, advice });
  }
}

/** One approval covers all nodes. */
function deletionOfFiles(
  { view: { generation }, isBeingDeleted }: Build,
  left: readonly Artifact[],
): Deletion {
  return {
    what: 'file',
    count: left.length,
    objects: () =>
      left.map(({ node, binary }) => ({ name: `${binary} on ${node}`, uid: `${node} ${binary}` })),
    interchangeable: isBeingDeleted ? 'the resource is being deleted' : `generation ${generation}`,
  };
}

/** Deleting a cleanup Job needs no approval: the cleanup itself was approved. */
function deletionOfJob({ name, uid, purpose }: JobDeletion): Deletion {
  const objects = () => [{ name, uid }];
  return purpose === 'build'
    ? { what: 'Job', count: 1, objects }
    : { what: 'Job', count: 0, objects: () => [], helpers: objects };
}

/**
 * How Jobs ended, which containers have ended, and what keeps Pods from starting. The run itself changes none of it. A Pod says that its
 * Job has succeeded before the Job does: that is no news twice, which would make the run look again for nothing.
 */
function newsIn(owned: readonly BuildChild[]): readonly string[] {
  const news = owned.flatMap((each) => {
    if (each.kind === 'job')
      return [
        ...(each.state === 'active' ? [] : [endOfJob(each, each.state)]),
        ...(each.suspendedBy === undefined ? [] : [`Job ${each.name} is suspended`]),
      ];
    const isEnough = each.phase === 'succeeded' || (each.purpose === 'cleanup' && each.exitCode === 0);
    if (isEnough) return [endOfJob({ ...each, uid: each.jobUid }, 'succeeded')];
    return [
      ...(each.trouble === undefined ? [] : [`${each.purpose} Pod ${each.trouble.text}`]),
      ...(each.exitCode === undefined ? [] : [`${each.purpose} Pod ${each.name} has ended its work`]),
    ];
  });
  return [...new Set(news)].sort();
}

function endOfJob({ purpose, uid }: Pick<JobView, 'purpose' | 'uid'>, state: JobView['state']): string {
  return `${purpose} Job ${uid} ${state}`;
}

function desired({ view: { spec }, isBeingDeleted }: Build): string {
  if (isBeingDeleted) return 'the binary removed from every node, and then the finalizer';
  return spec.ok
    ? `${spec.spec.binaryName}, built by Job ${spec.spec.jobName}`
    : 'unclear: the spec is invalid';
}

function current({ view: { status }, metadata }: Build, owned: readonly BuildChild[]): string {
  const { phase, artifacts = [], message = '' } = status;
  const jobs = owned.filter((child) => child.kind === 'job' && child.buildUid === metadata.uid) as JobView[];
  return [
    ...(phase === undefined ? [] : [`phase ${phase}`]),
    // With what its Pod wrote, which is in no history.
    ...(phase === 'Failed' && message !== '' ? [message] : []),
    artifacts.length === 0 ? 'no binary on any node' : listed(artifacts),
    ...jobs.map(jobText),
  ].join('; ');
}

function jobText({ name, state, deleting, node }: JobView): string {
  const running = node === '' ? 'is running' : `is to run on ${node}`;
  return `Job ${name} ${deleting ? 'is being deleted' : state === 'active' ? running : `has ${state}`}`;
}
