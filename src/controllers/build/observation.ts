import { unreachable } from '../../contract/unreachable.ts';
import type { BuildView } from './build-view.ts';
import type { WantedCleanup } from './jobs.ts';
import type { JobView } from './job-view.ts';
import type { PodView } from './pod-view.ts';
import type { BuildSpec } from './resource.ts';
import type { SeenBuild } from './seen.ts';
import type { StatusPatch } from './status.ts';

/** What a pass knows so far; what is absent it has not looked at. */
export interface Observation {
  /** From the watcher; only until the resource itself is known. */
  readonly seen?: SeenBuild | undefined;
  readonly build?: BuildView | 'gone' | undefined;
  /** It had neither our finalizer nor a status when the pass began, so it cannot have a Job. */
  readonly fresh?: true | undefined;
  /** This pass began the cleaning of a build whose end had been reported, so none of its Jobs is running. */
  readonly cleaningBegan?: true | undefined;
  /** Ours, of this build. */
  readonly jobs?: readonly JobView[] | undefined;
  readonly pods?: readonly PodView[] | undefined;
  readonly nodes?: Readonly<Record<string, 'there' | 'gone'>> | undefined;
  /** The name of a Job of which this pass has found out whose it is. */
  readonly probed?: string | undefined;
  /** The name of a Job that is somebody else's, and that we need. */
  readonly taken?: string | undefined;
  /** A Job of that name of a build that is gone, whose name was this one's. */
  readonly leftover?: JobView | undefined;
  /** Why the server refused to create a Job. */
  readonly refusal?: Refusal | undefined;
  /** How often the cleanup was tried that this pass has just taken away. */
  readonly attempts?: number | undefined;
}

export interface Refusal {
  readonly because: 'namespace-terminating' | 'refused';
  /** In the server's words. */
  readonly message: string;
}

/** An Event to record once the step is done. */
export interface StepEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  /** What tells one happening from another: mostly a Job's UID. */
  readonly occasion?: string;
  /** The Event is about the namespace, since none can be created in it any more. */
  readonly about?: 'namespace';
}

/** The next thing to do; at most one write. */
export type Step =
  | { readonly do: 'look'; readonly at: 'build' | 'jobs' | 'pods' }
  | { readonly do: 'look'; readonly at: 'node'; readonly node: string }
  /** Whose Job has a name. */
  | { readonly do: 'look'; readonly at: 'name'; readonly name: string }
  | WriteStep
  | EndStep;

export type WriteStep =
  | {
      readonly do: 'add-finalizer' | 'remove-finalizer';
      readonly resourceVersion: string;
      /** All that are to be there. */
      readonly finalizers: readonly string[];
      readonly event?: StepEvent;
    }
  | {
      readonly do: 'write-status';
      readonly resourceVersion: string;
      readonly status: StatusPatch;
      readonly event?: StepEvent;
    }
  | {
      readonly do: 'delete-job';
      readonly job: JobView;
      /** Foreground: it goes after its Pods. Background: at once, where it has ended. */
      readonly propagation: 'Foreground' | 'Background';
      readonly event?: StepEvent;
    }
  | {
      readonly do: 'create-build';
      readonly build: BuildView;
      readonly spec: BuildSpec;
      readonly hash: string;
    }
  | { readonly do: 'create-cleanup'; readonly build: BuildView; readonly wanted: WantedCleanup };

export type EndStep =
  | { readonly do: 'converged'; readonly did: string }
  | { readonly do: 'wait'; readonly on: string; readonly atMostMs: number; readonly next: string }
  | { readonly do: 'stalled'; readonly why: string }
  /** To fail with what the server said, and be tried again with backoff. */
  | { readonly do: 'give-up' };

/** What came of a look or a write. */
export type Answer =
  | { readonly got: 'build'; readonly build: BuildView | 'gone' }
  | { readonly got: 'jobs'; readonly jobs: readonly JobView[] }
  | { readonly got: 'pods'; readonly pods: readonly PodView[] }
  | { readonly got: 'node'; readonly node: string; readonly state: 'there' | 'gone' }
  /** The resource as it is after the write. */
  | { readonly got: 'written'; readonly build: BuildView }
  | { readonly got: 'created'; readonly job: JobView }
  /** As it is now; `gone` where it went at once, or was gone already. */
  | { readonly got: 'deleted'; readonly job: JobView; readonly now: JobView | 'gone' }
  /** Whose Job has the name of the one to create; `gone` where there is none, or none any more. */
  | { readonly got: 'name-taken'; readonly name: string; readonly by: JobView | 'foreign' | 'gone' }
  | { readonly got: 'refused'; readonly refusal: Refusal }
  /** Something is not as it was thought to be. */
  | { readonly got: 'conflict' };

/** What is known after an answer. A conflict forgets everything. */
export function fold(observation: Observation, answer: Answer): Observation {
  switch (answer.got) {
    case 'build':
      return { ...observation, build: answer.build };
    case 'jobs':
      // Pods that were looked at before tell nothing of a Job that has ended since.
      return { ...observation, jobs: answer.jobs, pods: undefined };
    case 'pods':
      return { ...observation, pods: answer.pods };
    case 'node':
      return { ...observation, nodes: { ...observation.nodes, [answer.node]: answer.state } };
    case 'written':
      return afterWrite(observation, answer.build);
    case 'created':
      return afterCreate(observation, answer.job);
    case 'deleted':
      return afterDelete(observation, answer.job, answer.now);
    case 'name-taken':
      return afterNameTaken(observation, answer.name, answer.by);
    case 'refused':
      return { ...observation, refusal: answer.refusal };
    case 'conflict':
      return {};
    default:
      return unreachable(answer);
  }
}

function afterWrite(observation: Observation, build: BuildView): Observation {
  const { seen, build: before } = observation;
  const known = before === 'gone' ? undefined : before;
  const hadNoFinalizer =
    known === undefined ? seen?.step === 'add-finalizer' : known.finalizers.length < build.finalizers.length;
  const fresh = hadNoFinalizer && Object.keys(build.status).length === 0;
  const { phase, completionTime } = build.status;
  const cleaningBegan =
    phase === 'Cleaning' && known?.status.phase !== 'Cleaning' && completionTime !== undefined;
  return {
    ...observation,
    seen: undefined,
    build,
    ...(fresh && { fresh }),
    ...(cleaningBegan && { cleaningBegan }),
  };
}

/** It has no Pods yet, or none that could tell anything. */
function afterCreate(observation: Observation, job: JobView): Observation {
  const { jobs = [], pods = [] } = observation;
  return { ...observation, fresh: undefined, cleaningBegan: undefined, jobs: [...jobs, job], pods };
}

/** Its Pods are to be looked at again: some may have started since. */
function afterDelete(observation: Observation, job: JobView, now: JobView | 'gone'): Observation {
  const { leftover, jobs = [] } = observation;
  if (leftover?.uid === job.uid) return { ...observation, leftover: now === 'gone' ? undefined : now };
  const others = jobs.filter(({ uid }) => uid !== job.uid);
  const wasTry = job.purpose === 'cleanup' && job.state === 'failed';
  return {
    ...observation,
    pods: undefined,
    jobs: now === 'gone' ? others : [...others, now],
    ...(wasTry && { attempts: job.attempt }),
  };
}

function afterNameTaken(
  observation: Observation,
  name: string,
  by: JobView | 'foreign' | 'gone',
): Observation {
  const { build, fresh } = observation;
  const nothingYet = fresh === true ? { jobs: [], pods: [] } : {};
  const known = {
    ...observation,
    ...nothingYet,
    probed: name,
    fresh: undefined,
    cleaningBegan: undefined,
  };
  if (by === 'foreign') return { ...known, taken: name };
  const isOurs = by !== 'gone' && build !== undefined && build !== 'gone' && by.buildUid === build.uid;
  if (by === 'gone' || isOurs) return { ...known, jobs: undefined, pods: undefined };
  const isLeftover = build !== undefined && build !== 'gone' && by.buildName === build.name;
  return isLeftover ? { ...known, leftover: by } : { ...known, taken: name };
}
