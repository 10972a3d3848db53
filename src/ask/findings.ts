import type { PublishedSettings } from '../config/published.ts';
import type { Controller } from '../contract/controller.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { ApiError } from '../kubernetes/errors.ts';
import type { Live } from './live.ts';
import type { ResourcePlace } from './resource-name.ts';
import type { RunStory } from './run-story.ts';
import type { ListedRun, Run } from './runs.ts';
import type { Workers } from './workers.ts';

/** What the cluster says of a resource. */
export type Found =
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
export type Asked =
  | {
      readonly is: 'reached';
      readonly taskQueue: string;
      readonly settings: PublishedSettings | undefined;
      readonly otherTaskQueues: readonly string[];
      readonly workers: Workers;
      /** The latest run of the resource; where it is gone, of the last one of its name. */
      readonly run: Run | undefined;
      /** Of that run. */
      readonly story: RunStory | undefined;
      /** The latest run of an earlier resource of the name; only where there is none of this one. */
      readonly earlier: ListedRun | undefined;
    }
  | { readonly is: 'away'; readonly problem: string };

/** All that an explanation is made from. */
export interface Findings {
  readonly controller: Controller;
  readonly place: ResourcePlace;
  readonly found: Found;
  readonly asked: Asked;
  /** What the controller decides on the live objects; an error where whoever asks may not read all of them. */
  readonly live: Live | ApiError | undefined;
  /** Of the run, in the Temporal UI. */
  readonly link: string | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}
