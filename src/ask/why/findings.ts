import type { PublishedSettings } from '../../config/published.ts';
import type { Controller } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { Live } from '../cluster/live.ts';
import type { ObjectName } from '../cluster/objects.ts';
import type { ResourcePlace } from '../resource-name.ts';
import type { ListedRun, Run } from '../runs/runs.ts';
import type { RunTimeline } from '../runs/timeline.ts';
import type { Workers } from '../runs/workers.ts';

/** All that an explanation is made from. */
export interface Findings {
  readonly controller: Controller;
  readonly place: ResourcePlace;
  readonly cluster: ClusterFindings;
  readonly temporal: TemporalFindings;
  /** What the controller decides on the live objects; an error where not all of them can be read. */
  readonly live: Live | ApiError | undefined;
  /** Of the run, in the Temporal UI. */
  readonly link: string | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** What the cluster says of a resource. */
export type ClusterFindings =
  | {
      readonly is: 'there';
      readonly object: KubernetesObject;
      /** Undefined where whoever asks may not read it. */
      readonly namespace: KubernetesObject | undefined;
    }
  | { readonly is: 'gone' }
  /** Its API is missing, or whoever asks may not read it. */
  | { readonly is: 'unreadable'; readonly error: ApiError };

/** What Temporal says of its operator and its runs. */
export type TemporalFindings =
  | {
      readonly is: 'reached';
      readonly taskQueue: string;
      readonly settings: PublishedSettings | undefined;
      /** The version of an operator whose settings this program cannot read. */
      readonly unreadable: string | undefined;
      readonly otherTaskQueues: readonly string[];
      /** Whose the task queue is, where it is another cluster's. */
      readonly otherCluster: string | undefined;
      /** Of the run's task queue where a run is open, else of the operator's. */
      readonly workers: Workers;
      /** The latest run of the resource; where it is gone, of the last one of its name. */
      readonly run: Run | undefined;
      /** Of that run. */
      readonly timeline: RunTimeline | undefined;
      /** The latest run of an earlier resource of the name; only where there is none of this one. */
      readonly earlier: ListedRun | undefined;
    }
  | { readonly is: 'away'; readonly problem: string };

export type Reached = Extract<TemporalFindings, { is: 'reached' }>;

/** Of a resource that is there, where Temporal has answered. */
export interface Known extends Findings {
  readonly cluster: Extract<ClusterFindings, { is: 'there' }>;
  readonly temporal: Reached;
}

/** The same, where a run is open for it. */
export interface Open extends Known {
  readonly run: Run;
}

/** What the controller decides now; undefined where nobody can tell. */
export function liveIn({ live }: Pick<Findings, 'live'>): Live | undefined {
  return live instanceof ApiError ? undefined : live;
}

export function objectNameOf({ controller, place }: Pick<Findings, 'controller' | 'place'>): ObjectName {
  return { ...place, type: controller.primary.type };
}
