import type { Advice } from './cause.ts';
import type { KubernetesObject } from './object.ts';

/** A resource, as it is now. */
export interface MessageInput<O = unknown> {
  /** As the API server has it. */
  readonly object: KubernetesObject;
  /** What `decide` is asked with. */
  readonly observation: O;
}

/** Why the controller does nothing for a resource, and never will unless it changes. */
export interface Ignored {
  readonly message: string;
  readonly advice: readonly Advice[];
}

/**
 * What a controller says of its resources to people who ask. Pure; plain English, without a full stop.
 *
 * @typeParam O what `decide` is asked with
 */
export interface ControllerMessages<O = unknown> {
  /** What the resource asks for: `10 Pods`. */
  desired(subject: MessageInput<O>): string;
  /** What there is of it: `7 available, 0 failed`. */
  current(subject: MessageInput<O>): string;
  /** Its children that are not well, the worst first: `Pod web-pod-a cannot pull the image busybox`. */
  children?(subject: MessageInput<O>): readonly string[];
  /** How far it is, for a headline: `7 of 10 Pods`. Undefined: nothing can be counted. */
  progress?(subject: MessageInput<O>): string | undefined;
  /**
   * Why the controller ignores the resource; undefined: it does not. Only the `metadata` of the resource may be known.
   */
  ignored?(object: KubernetesObject): Ignored | undefined;
  /** Whether it is worth a line in a list although it is ignored. Default: yes. */
  isListed?(object: KubernetesObject): boolean;
}
