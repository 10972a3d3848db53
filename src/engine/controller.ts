import type { Circumstances, Control } from './holds/control.ts';
import type { NextStep, Step } from '../runs/decision.ts';
import type { Identity, KubernetesObject } from '../api/object.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import type { ControllerMessages } from '../api/messages.ts';
import type { PolicyRule } from '../api/policy-rule.ts';
import type { ReferencedObject } from '../api/reference.ts';
import type { ResourceType } from '../api/resource-type.ts';

/**
 * One kind of object that a controller watches.
 *
 * @typeParam View the few fields that are kept of an object; the rest is dropped as it arrives
 */
export interface Watched<View> {
  readonly type: ResourceType;
  /** Only `PartialObjectMetadata` is read. */
  readonly metadataOnly?: true;
  readonly fieldSelector?: string;
  /** Only objects with these labels; one that loses them counts as gone. */
  readonly labelSelector?: string;
  /** Its API may be missing. Then there are no such objects, and that is no problem. */
  readonly isOptional?: true;
  /** Parses an object; undefined where it is of no interest. */
  view(object: KubernetesObject): View | undefined;
}

/** Objects that a resource owns or governs. */
export interface WatchedChild<View> extends Watched<View> {
  /** The key of the resource that the object belongs to: `namespace/name`, or `name` of a Namespace. */
  ownerKey(object: KubernetesObject): string | undefined;
}

/** A type whose objects the resources of a controller refer to. */
export interface ReferenceWatch<Primary> {
  readonly type: ResourceType;
  /** Some are selected by labels. */
  readonly isSelected: boolean;
  of(primary: Primary): References;
}

/** What a resource refers to in one type. */
export interface References {
  /** `namespace/name`, or `name` where the type is cluster-scoped. */
  readonly keys: readonly string[];
  /** Labels of others; undefined: none are selected. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Of those that are selected; undefined: any. */
  readonly namespace?: string | undefined;
}

/** All that a resource refers to, as it is, and a digest of that. */
export interface ReferredState {
  readonly objects: readonly ReferencedObject[];
  readonly digest: string;
}

/** Which resource it is, and what it refers to; undefined where nobody knows. */
export interface Identified extends Identity {
  readonly referred?: ReferredState | undefined;
  /** The optional types whose API is missing. Default: none. */
  readonly missing?: readonly ResourceType[];
}

/** What a controller may have left in a cluster. */
export interface Leaves {
  /** Types of objects that its resources own: `deployments.apps`. */
  readonly owns: readonly string[];
  readonly finalizers: readonly string[];
}

/**
 * A controller, as far as it is pure: what it watches, and what it decides. The watcher asks `decide` of its views, the
 * step activities ask it of what they read: there is one decision.
 *
 * @typeParam Primary the view of the resource itself
 * @typeParam Child the views of the objects that it owns or governs; a union where they are of several kinds
 * @typeParam Observation what a decision is made from
 */
export interface Controller<Primary = unknown, Child = unknown, Observation = unknown> {
  readonly name: string;
  /** What Temporal calls its runs. One workflow serves every type: `workflows/`. */
  readonly workflowType: string;
  /** The sentence that the Temporal UI shows over a run. */
  summary(ref: ResourceRef): string;
  /** What it says of a resource to people who ask. Default: the reasons of its decisions. */
  readonly words?: ControllerMessages<Observation>;
  /** Its steps by the names of their activities, and what the Temporal UI shows of each before its reason. */
  readonly steps: Readonly<Record<string, string>>;
  readonly primary: Watched<Primary>;
  readonly children: readonly WatchedChild<Child>[];
  /** Default: its resources refer to nothing. */
  readonly references?: readonly ReferenceWatch<Primary>[];
  /** What the watcher knows of a resource, as something to decide from. */
  observation(primary: Primary, children: readonly Child[], identity: Identified): Observation;
  /**
   * The next step, or why there is none. Pure: the same observation at the same time gives the same decision.
   *
   * @param nowMs milliseconds since the epoch
   * @param circumstances only what holds resources back asks for them; default: read live, in a namespace that is not
   *   paused
   */
  decide(observation: Observation, nowMs: number, circumstances?: Circumstances): NextStep;
  /**
   * The write of the status that is due whatever comes next; undefined where the status is up to date. It is asked for while
   * the next step is held back: a controller writes some of its status only after that step. Default: none ever is.
   */
  statusStep?(observation: Observation, nowMs: number): Step | undefined;
  /**
   * What people ask of the resource by annotations, as `controlOf` reads them when the view is made; undefined where they
   * ask for nothing, or the resource is gone. Default: they are not followed.
   */
  control?(observation: Observation): Control | undefined;
  /**
   * What else is news to an open run, besides the generation, the deletion and our annotations of the resource: one
   * text each, such as the end of a Job. Nothing that the run itself changes.
   */
  inputs?(observation: Observation): readonly string[];
  /**
   * The durable step of an earlier run that may still take effect, as far as this shows; undefined: there is none. Asked at the
   * beginning of a run. Default: there never is.
   */
  mayStillArrive?(observation: Observation): string | undefined;
  /** Its decisions depend on what no watch shows. Default: they do not. */
  readonly observes?: true;
  /** Its observations ask an outside system, which may take its time. Default: they do not. */
  readonly observesOutside?: true;
  /** How long an attempt of the longest of its steps may take effect, in milliseconds. Default: ATTEMPT_MAX_MS of run.ts. */
  readonly attemptMaxMs?: number;
  /**
   * What it creates is refused in a namespace that is being deleted, so nothing is done there.
   */
  readonly endsWithNamespace?: true;
  /** What it puts among the finalizers of its resources; only its own steps take it away. Default: nothing. */
  readonly finalizer?: string;
  /** Those of the other controllers of the program for its type. Default: there are none. */
  readonly otherFinalizers?: readonly string[];
  /** The status of its resources says nothing of what it does. Default: it does, unless only metadata is read. */
  readonly leavesStatus?: true;
  /** Objects of its resources are in other namespaces, so that watches of single namespaces do not suffice. Default: none. */
  readonly isElsewhere?: true;
  /** What nobody would remove if the next version no longer knew of it. Default: nothing. */
  readonly leaves?: Leaves;
  /**
   * What its activities must be allowed, all of it and nothing more. What the watcher must be allowed, to list and
   * to watch, follows from `primary` and `children`.
   */
  readonly permissions: readonly PolicyRule[];
}

/** Every controller records Events. */
export const RECORD_EVENTS: PolicyRule = {
  apiGroups: ['events.k8s.io'],
  resources: ['events'],
  verbs: ['create', 'patch'],
};
