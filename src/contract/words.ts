import type { KubernetesObject } from './object.ts';

/** A resource, as it is now. */
export interface Subject<O = unknown> {
  /** As the API server has it. */
  readonly object: KubernetesObject;
  /** What `decide` is asked with. */
  readonly observation: O;
}

/** Why a resource is not up to date. */
export type Trouble =
  /** A step fails, and Temporal tries it again. */
  | {
      readonly is: 'failing';
      readonly step: string;
      /** One of `FAILURE`, or what else Temporal calls it, such as `TIMEOUT`. */
      readonly failure: string;
      /** The server's words. */
      readonly message: string;
    }
  | { readonly is: 'waiting'; readonly for: string }
  | { readonly is: 'stalled'; readonly because: string };

/** What a person can do about it: a sentence, or a command with what it is for. */
export type Advice = string | CommandAdvice;

export interface CommandAdvice {
  readonly run: string;
  /** What it does: `show the Pods`. */
  readonly to: string;
}

/** Why the controller does nothing for a resource, and never will unless it changes. */
export interface Ignored {
  readonly because: string;
  readonly advice: readonly Advice[];
}

/**
 * What a controller says of its resources to people who ask. Pure; plain English, without a full stop.
 *
 * @typeParam O what `decide` is asked with
 */
export interface Words<O = unknown> {
  /** What the resource asks for: `10 Pods`. */
  wanted(subject: Subject<O>): string;
  /** What there is of it: `7 available, 0 failed`. */
  there(subject: Subject<O>): string;
  /** How far it is, for a headline: `7 of 10 Pods`. Undefined: nothing can be counted. */
  progress?(subject: Subject<O>): string | undefined;
  /** What a person can do, the most useful first. Undefined: nothing but what goes for every controller. */
  advice?(trouble: Trouble, object: KubernetesObject): readonly Advice[] | undefined;
  /**
   * Why the resource is none that the controller does anything for; undefined: it is one. Its `metadata` may be all that is
   * known of it.
   */
  ignored?(object: KubernetesObject): Ignored | undefined;
  /** Whether it is worth a line in a list although it is ignored. Default: yes. */
  isListed?(object: KubernetesObject): boolean;
}
