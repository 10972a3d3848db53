import type { z } from 'zod';
import type { ApiError } from './api-error.ts';
import type { Cause } from './cause.ts';
import type { Condition } from './condition.ts';
import type { PolicyRule } from './policy-rule.ts';
import type { ResourceType } from './resource-type.ts';
import type { KubernetesObject } from './object.ts';
import type { Ignored } from './messages.ts';
import { checkController } from './checks.ts';
import type { AnyKind, SpecOf, StatusOf } from './kind.ts';
import type { Children, ChildrenContext } from './child.ts';
import type { NextOf, Decision } from './next.ts';
import type { ParsedType } from './parsed-type.ts';
import type { ReferencedType } from './reference.ts';
import type {
  DecisionContext,
  LookupContext,
  MessageSubject,
  ObserveContext,
  StepDefinition,
} from './step.ts';
import type { OwnedType, ViewedObject, WatchedType } from './watched.ts';

export { declaredOf, hidesNote, keepsJobs, keepsNote, writesStatus } from './checks.ts';
export { isKind, type AnyKind } from './kind.ts';
export { isParsed } from './parsed-type.ts';

/** A resource of a kind, parsed. */
export interface ResourceOf<K extends AnyKind> extends KubernetesObject {
  /** With the defaults of the schema. */
  readonly spec: SpecOf<K>;
  /** The author's own fields; a status that somebody wrote by hand, and that does not fit, counts as empty. */
  readonly status: Partial<StatusOf<K>>;
  readonly isBeingDeleted: boolean;
  /** The conditions, as they are. Absent: there is none yet. */
  readonly conditions?: readonly Condition[];
  /** The `metadata.generation` that the status is about. Absent: it says nothing yet. */
  readonly observedGeneration?: number;
  /**
   * Why the stored spec does not fit the schema, which may have been another when it was stored. Then the functions are
   * asked only while the resource is being deleted, and each field of `spec` that does not fit is as stored.
   */
  readonly invalid?: string;
}

/** The resource, as decisions and steps have it: the view of it; without `view`, the whole of a kind, and the fields of a parsed type. */
export type ResourceFor<F extends WatchedType, View> = [View] extends [undefined]
  ? F extends AnyKind
    ? ResourceOf<F>
    : ViewedObject<F extends ParsedType<infer Fields> ? z.output<Fields> : View>
  : ViewedObject<View>;

/** What `view` is given. */
export type ObjectFor<F extends WatchedType> = F extends AnyKind
  ? ResourceOf<F>
  : KubernetesObject & (F extends ParsedType<infer Fields> ? z.output<Fields> : unknown);

/** What only a controller of a kind of {@link defineKind} can have. */
export type OfKind<F extends WatchedType, Member> = F extends AnyKind ? Member : never;

/** What the commands say of a resource, without a full stop. */
export interface Messages<R, Owned> {
  /** What the resource asks for: `10 Pods`. */
  desired(subject: MessageSubject<R, Owned>): string;
  /** What there is of it: `7 available, 0 failed`. */
  current(subject: MessageSubject<R, Owned>): string;
  /** What is wrong with its objects, the worst first: `Pod web-1 cannot pull the image busybox`. Default: nothing is said. */
  children?(subject: MessageSubject<R, Owned>): readonly string[];
  /** How far it is, for a headline: `7 of 10 Pods`. Undefined: nothing can be counted. Default: nothing is said. */
  progress?(subject: MessageSubject<R, Owned>): string | undefined;
  /** Why the controller does nothing for a resource; undefined: it does. Only the metadata may be known. */
  ignored?(object: KubernetesObject): Ignored | undefined;
  /** Whether a resource is worth a line in a list although it is ignored. Default: yes. */
  isListed?(object: KubernetesObject): boolean;
  /** Default: `the resource is gone`. */
  readonly gone?: string;
}

/**
 * What an author says of a controller.
 *
 * @typeParam F what it is for
 * @typeParam View what the watcher keeps of a resource; unused for a kind
 * @typeParam Owned what it keeps of the objects of `owns`
 * @typeParam Observed what `observe` returns
 * @typeParam Steps the data of each step, by its name
 * @typeParam Lookups what its `lookups` return, by their names
 */
export interface ControllerDefinition<
  F extends WatchedType,
  View,
  Owned,
  Observed,
  Steps,
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- any controller, for those who do not use them
  Options extends z.ZodObject = any,
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- likewise
  Clients = any,
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- likewise
  Lookups = any,
> {
  /** Lower-case words joined by `-`, at most 63 characters: `image-scan`. It is in workflow ids, so it stays. Another one for each controller of an operator. */
  readonly name: string;
  /** What it does for a resource, in the title of a run: `the label follows its annotation`. Default: the title names the resource. */
  readonly summary?: string;
  /** A kind of {@link defineKind}, a type of {@link defineType}, or a built-in type with `view`: `{ ...PODS, metadataOnly: true }`. */
  readonly for: F;
  /**
   * What the watcher keeps of an object, and what `decide` is asked with: little, since there may be a hundred thousand of them. What is
   * being deleted, is too. Undefined: the object is of no interest. One with our finalizer or our state is watched all the same, so that
   * what it stands for can be removed. Default: the whole of a kind of {@link defineKind}, the fields of a type of {@link defineType}; any
   * other type needs one.
   */
  view?(object: ObjectFor<F>): View;
  /**
   * Options of the operator: each is a flag, a variable and a key of the file of options. Each is a string, a number, a boolean, one of
   * some words, a list of strings (`a,b`), a {@link durationMs} or another codec of a string, with a default or optional, and nothing secret,
   * since they are published for the commands. Named in camelCase, at most 63 characters: `storeUrl` is the flag `--store-url`. Not `help`,
   * `version` or `config`, no name of another option, and no `no` before a name, which turns a flag off. `meta` may say for help and docs
   * a `description`, the `argument` that follows the flag, `unset` (in words, where it is empty), and `docs`, more sentences. What a check of
   * yours says goes on from the value where it begins in lower case: `is not a host; use lower-case letters`. Where the definition itself
   * follows from them: {@link withOptions}.
   */
  readonly options?: Options;
  /**
   * Clients of outside systems, made once per process when `observe` or a step first asks for them. In a plan, only `observe` gets them, and
   * only with `observeInPlan`. A test replaces them: `{ ...bucket, clients: () => ({ store: fakeStore }) }`.
   */
  clients?(options: z.output<NoInfer<Options>>): Clients;
  /**
   * Types whose objects belong to the resources. What `view` keeps of an object is in `owned` of `decide`. Steps read them one type after the other: first Jobs, then
   * their Pods, so that a Job that is gone by then has no Pod that is missed. `children` may declare objects of
   * each type without `ownerOf`, `nameFor`, selectors and `metadataOnly`; their `view` is in `current`, too.
   */
  readonly owns?: readonly OwnedType<Owned>[];
  /** Types whose objects the resources refer to. Default: none. */
  readonly references?: readonly ReferencedType<NoInfer<ResourceFor<F, View>>, z.output<NoInfer<Options>>>[];
  /**
   * Kept on the resource until `decide` answers `next.removeFinalizer`: `example.com/bucket`, a domain and a name of at most 63 characters.
   * It is added before the first step, and before a rest of a resource of which `observe`, `owned` or `children` shows something to
   * remove. Default: none.
   */
  readonly finalizer?: string;
  /**
   * Types that were in `owns` of earlier versions. Objects whose controller owner reference has the UID of a resource are deleted, once all that
   * it declares is as declared. Keep it until each cluster has run this version. Default: none.
   */
  readonly retired?: readonly ResourceType[];
  /**
   * Finalizers of earlier versions. `finalizer` takes their place; without it, they are taken away, also from a resource that is being deleted.
   * Keep it until each cluster has run this version. Default: none.
   */
  readonly retiredFinalizers?: readonly string[];
  /**
   * Observes it again and again, for changes that no watch shows: `10m`. A run starts only if something is to be done. Resources take
   * turns within the interval. From `10s` to `24d`. Default: never.
   */
  readonly pollInterval?: string;
  /**
   * Only with `observe`. With another number, a new version of the operator observes each resource once, spread over ten minutes. Without
   * it, new code reaches a converged resource when something that it depends on changes. Default: none.
   */
  readonly revision?: number;
  /** Reads whatever decisions are made from besides. Reads only: it may be asked at any time, by commands, too. */
  observe?(
    context: ObserveContext<NoInfer<ResourceFor<F, View>>, NoInfer<Clients>, z.output<NoInfer<Options>>>,
  ): Promise<Observed>;
  /**
   * Named reads that only some decisions need: `{ copies: { read: ({ kube }) => kube.list(SECRETS) } }`. `decide` gets what they return as `lookups`. One is read once a decision asks for it, and what
   * it returns is kept for the steps that follow in the run, until one `forgets` it. Reads only, within ten seconds. The watcher reads none: it then starts a
   * run. So do not ask for one on the way to `next.converged` where the conditions say already what was found: that is an error. Named in camelCase, at most 63 characters; `node` is taken. Default: none.
   */
  readonly lookups?: {
    readonly [Name in keyof Lookups]: {
      read(
        context: LookupContext<
          NoInfer<ResourceFor<F, View>>,
          NoInfer<Owned>,
          NoInfer<Clients>,
          z.output<NoInfer<Options>>
        >,
      ): Promise<Lookups[Name]>;
    };
  };
  /**
   * Only with `observe` or `lookups`. `plan` calls them, with the real clients and the credentials of the person who asks. Without it, a plan goes by what the
   * operator observed last, and says so. Default: false.
   */
  readonly observeInPlan?: boolean;
  /**
   * The objects that the resource stands for, of types of `owns`. The library creates and changes them, deletes those that are no longer
   * declared, and says whether they are ready. Pure: it is asked whenever the resource changes, or what it refers to. Default: none.
   */
  children?(
    context: ChildrenContext<NoInfer<ResourceFor<F, View>>, z.output<NoInfer<Options>>, NoInfer<Owned>>,
    next: Pick<NextOf<NoInfer<Steps>>, 'wait' | 'stalled'>,
  ): Children;
  /**
   * Only with `decide`. A name is that of an activity in the history: letters, digits, `-` and `_`, with a letter first, at most 63 characters.
   * Those of the library are taken: `observe`, `default`, `addFinalizer`, `removeFinalizer`, `updateStatus`, `updateState`, and `create`,
   * `apply` and `delete` with a kind that is declared, such as `createDeployment`.
   */
  readonly steps?: {
    readonly [Name in keyof Steps]: StepDefinition<
      NoInfer<ResourceFor<F, View>>,
      NoInfer<Owned>,
      NoInfer<Observed>,
      Steps[Name],
      NoInfer<Clients>,
      z.output<NoInfer<Options>>,
      F extends AnyKind ? StatusOf<F> : never,
      NoInfer<Lookups>
    >;
  };
  /**
   * What comes next, or why nothing does. Pure. It is asked before each attempt of a step, and after it. With `children`, once each of these is
   * as it is declared, or cannot be, which `current` says. Default: nothing does.
   */
  decide?(
    context: DecisionContext<
      NoInfer<ResourceFor<F, View>>,
      NoInfer<Owned>,
      NoInfer<Observed>,
      z.output<NoInfer<Options>>,
      NoInfer<Lookups>
    >,
    next: NextOf<NoInfer<Steps>, F extends AnyKind ? StatusOf<F> : never>,
  ): Decision;
  /** The author's own fields of the status. They are written once the resource rests. Only of a kind. Default: none. */
  status?(
    context: DecisionContext<
      NoInfer<ResourceFor<F, View>>,
      NoInfer<Owned>,
      NoInfer<Observed>,
      z.output<NoInfer<Options>>,
      NoInfer<Lookups>
    >,
  ): F extends AnyKind ? Partial<StatusOf<F>> : never;
  /**
   * What is news to an open run, besides the generation, the deletion and our annotations; nothing that the run itself changes. Default:
   * of a type that is not of {@link defineKind}, its view.
   */
  interruptOn?(
    context: Pick<
      DecisionContext<NoInfer<ResourceFor<F, View>>, NoInfer<Owned>, undefined>,
      'resource' | 'owned'
    >,
  ): readonly string[];
  /**
   * Your words and advice for a write that the API server refuses, or cannot make, such as for a webhook that is down. Condition, Event,
   * history and `why` say them. Pure. Undefined: as the library says it.
   *
   * @example
   * refusal: ({ message }) =>
   *   message.includes('exceeded quota')
   *     ? { reason: 'QuotaExceeded', message: 'the quota of the team is used up', advice: ['ask platform@ for more'] }
   *     : undefined,
   */
  refusal?(error: ApiError): Cause | undefined;
  /** What the commands say. Default: from the spec and the conditions. */
  readonly messages?: Messages<NoInfer<ResourceFor<F, View>>, NoInfer<Owned>>;
  /**
   * `concurrency`: the most attempts that one process has in progress, from 1. Who gets no turn holds no slot, and comes again. Without it,
   * a controller has half of the slots of a worker, a namespace a quarter, and more only while enough are free.
   */
  readonly limits?: { readonly concurrency: number };
  /** What `observe` and the steps need in the cluster. What the library itself needs is added. Default: nothing. */
  readonly permissions?: readonly PolicyRule[];
}

/**
 * A controller that decides. The steps and their data are typed: a step that does not exist does not compile.
 *
 * @throws Error in one sentence that says what is allowed, where a name or a duration is out of its limits, or a member does not fit what it is for
 * @example
 * const bucket = defineController({
 *   name: 'bucket',
 *   for: Bucket,
 *   finalizer: 'example.com/bucket',
 *   observe: ({ resource, signal }) => store.find(resource.metadata.uid, signal),
 *   steps: {
 *     provision: {
 *       summary: 'create the bucket',
 *       run: async ({ resource, idempotencyKey, signal }) => {
 *         await store.create(resource.metadata.uid, { idempotencyKey, signal });
 *         return 'created the bucket';
 *       },
 *     },
 *     remove: {
 *       summary: 'remove the bucket',
 *       run: async ({ resource, signal }) => {
 *         await store.remove(resource.metadata.uid, signal);
 *         return 'removed the bucket';
 *       },
 *     },
 *   },
 *   decide({ resource: { isBeingDeleted }, observed }, next) {
 *     if (isBeingDeleted) return observed ? next.do.remove('it is being deleted') : next.removeFinalizer('no bucket is left');
 *     return observed ? next.converged('the bucket is there') : next.do.provision('there is no bucket');
 *   },
 * });
 */
export function defineController<
  F extends WatchedType,
  View = undefined,
  Owned = never,
  Observed = undefined,
  Steps = unknown,
  Options extends z.ZodObject = z.ZodObject,
  Clients = undefined,
  Lookups = unknown,
>(
  definition: ControllerDefinition<F, View, Owned, Observed, Steps, Options, Clients, Lookups>,
): ControllerDefinition<F, View, Owned, Observed, Steps, Options, Clients, Lookups> {
  checkController(definition);
  return definition;
}
