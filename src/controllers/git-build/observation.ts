import type { Decision, Observe, Refusal, Step } from '../../contract/decision.ts';
import type { CleanupJobSpec } from './jobs.ts';
import type { BuildSpec, StatusPatch } from './resource.ts';
import { hasOurFinalizer, type BuildChild, type BuildView, type JobView, type PodView } from './views.ts';

/** What is known of a build. */
export interface Observation {
  readonly build: BuildView | 'gone';
  /** Ours, of this build. */
  readonly jobs: readonly JobView[];
  readonly pods: readonly PodView[];
  /**
   * Where the Jobs and Pods come from. `watched`: the watcher, which may not have seen all of them yet; `outdated`: read
   * before our own write that has changed them.
   */
  readonly children: 'watched' | 'live' | 'outdated';
  readonly nodes?: Readonly<Record<string, 'there' | 'gone'>> | undefined;
  /** Which Job has the name of one that we want to create. */
  readonly names?: Readonly<Record<string, NameHolder>> | undefined;
  /** Why the server refused the last step, in its words without credentials. */
  readonly refusal?: Refusal | undefined;
  /** Read only after a refusal that says so: a workflow of somebody else could have made that up. */
  readonly namespace?: 'there' | 'terminating' | undefined;
  /** How often the cleanup was tried whose failed Job we have just deleted. */
  readonly attempts?: number | undefined;
}

/** `foreign`: a Job that is not the operator's. `altered`: a Job of this build whose labels something has changed. */
export type NameHolder = JobView | 'foreign' | 'altered' | 'free';

/** Undefined where it was not looked up: a name may be `constructor`, which every object of JavaScript's has. */
export function knownOf<T>(known: Readonly<Record<string, T>> = {}, name: string): T | undefined {
  return Object.hasOwn(known, name) ? known[name] : undefined;
}

interface FinalizerStep extends Step {
  readonly do: 'addFinalizer' | 'removeFinalizer';
  /** Of the build that the decision was made from. */
  readonly resourceVersion: string;
  /** All that are to be there afterwards. */
  readonly finalizers: readonly string[];
}

interface StatusStep extends Step {
  readonly do: 'updateStatus';
  /** Of the build that the decision was made from. */
  readonly resourceVersion: string;
  readonly status: StatusPatch;
}

interface CreateJobStep extends Step {
  readonly do: 'createJob';
  readonly spec: BuildSpec;
  readonly hash: string;
}

interface CreateCleanupJobStep extends Step {
  readonly do: 'createCleanupJob';
  readonly cleanup: CleanupJobSpec;
}

interface DeleteJobStep extends Step {
  readonly do: 'deleteJob';
  readonly job: JobView;
  /** Foreground: it goes after its Pods. Background: at once, where nothing of it runs. */
  readonly propagation: 'Foreground' | 'Background';
}

/** What the operator writes; one write each. */
export type BuildStep = FinalizerStep | StatusStep | CreateJobStep | CreateCleanupJobStep | DeleteJobStep;

/** What a decision may need besides what is known. */
export type BuildObserve =
  | (Observe & { readonly what: 'children' })
  | (Observe & { readonly what: 'node'; readonly node: string })
  | (Observe & { readonly what: 'namespace' })
  /** Which Job has a name. */
  | (Observe & { readonly what: 'name'; readonly jobName: string });

export type BuildDecision = Decision<BuildStep, BuildObserve>;

/** The decision of a rule; undefined where the rule does not apply. */
export type RuleDecision = BuildDecision | undefined;

/** What a decision about an existing build is made from. */
export interface Facts extends Observation {
  readonly build: BuildView;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The watcher's knowledge; a Job of another build of this name is not in it. */
export function watchedObservation(build: BuildView, children: readonly BuildChild[]): Observation {
  const own = children.filter(({ buildUid }) => buildUid === build.uid);
  return {
    build,
    children: 'watched',
    jobs: own.filter((child) => child.kind === 'job'),
    pods: own.filter((child) => child.kind === 'pod'),
  };
}

/**
 * Undefined where the Jobs and Pods are live. Whatever creates or deletes something, or lets the build go, rests on
 * nothing else: a Job that the watcher does not show may be there.
 *
 * @param because why it matters, for people
 */
export function requireLiveChildren({ children }: Observation, because: string): RuleDecision {
  return children === 'live' ? undefined : { do: 'observe', because, what: 'children' };
}

/** A refusal only says that the Namespace may be terminating. Undefined where that was looked up, or need not be. */
export function requireNamespace({ refusal, namespace }: Observation): RuleDecision {
  if (refusal?.because !== 'namespace-terminating' || namespace !== undefined) return undefined;
  return { do: 'observe', because: 'the namespace seems to accept no new Jobs', what: 'namespace' };
}

/** After a write of the build itself. One that had neither finalizer nor status cannot have a Job. */
export function afterWrite(before: Observation, build: BuildView): Observation {
  return isNew(before) && hasOurFinalizer(build)
    ? { ...before, build, children: 'live' }
    : { ...before, build };
}

function isNew({ build, jobs, pods }: Observation): boolean {
  if (build === 'gone' || hasOurFinalizer(build)) return false;
  return Object.keys(build.status).length === 0 && jobs.length === 0 && pods.length === 0;
}

/** It has no Pods yet, or none that matter. */
export function afterCreate(before: Observation, job: JobView): Observation {
  return {
    ...before,
    jobs: [...before.jobs, job],
    names: undefined,
    refusal: undefined,
    attempts: undefined,
  };
}

/**
 * Its Pods have to be read again: some may have started since.
 *
 * @param now the Job as it is now, or undefined where it is gone
 */
export function afterDelete(before: Observation, job: JobView, now: JobView | undefined): Observation {
  if (!before.jobs.some(({ uid }) => uid === job.uid)) {
    return { ...before, names: { ...before.names, [job.name]: now ?? 'free' } };
  }
  const wasTry = job.purpose === 'cleanup' && job.state === 'failed';
  return { ...before, children: 'outdated', ...(wasTry && { attempts: job.attempt }) };
}

/** After it was read which Job has a name. One of our own is read with all others. */
export function withHolder(before: Observation, jobName: string, holder: NameHolder): Observation {
  const known: Observation = { ...before, names: { ...before.names, [jobName]: holder } };
  const isOwn = typeof holder === 'object' && before.build !== 'gone' && holder.buildUid === before.build.uid;
  return isOwn ? { ...known, children: 'outdated' } : known;
}
