import type { KubernetesObject } from '../../src/api/object.ts';

/** Which object: a manifest names itself, too. */
export interface ObjectReference {
  /** `example.com/v1` */
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

/** As the API server has it. */
export type StoredObject<T extends KubernetesObject = KubernetesObject> = T & ObjectReference;

/** What a person writes. */
export type WrittenObject = ObjectReference & Readonly<Record<string, unknown>>;

/** How an operator is started. */
export interface OperatorOptions {
  /** Its main module. Default: `src/main.ts`. */
  readonly main?: string;
  /** Flags of `run`: `['--namespaces', 'team-a']`. Default: none. */
  readonly args?: readonly string[];
  /** Besides PATH, HOME and the address of Temporal. Default: nothing. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The most that something may cost. */
export interface Costs {
  /** Requests to the API server. Watches, the Lease and Events do not count. */
  readonly calls: number;
  /** Temporal runs. */
  readonly runs: number;
  /** Requests that write Events. */
  readonly events: number;
}

/** Your operator, in a process of its own, with the rights of `deploy/install.yaml` and no others. */
export interface TestOperator {
  /** Each line of its log, parsed. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Starts it again. Resolves once it is ready. */
  start(): Promise<void>;
  /** Asks it, as an administrator does: `ask('why', 'website/shop', '-n', namespace)`. @returns what it printed, whether or not all is well */
  ask(...args: readonly string[]): Promise<string>;
  /**
   * From the audit log: it was denied nothing, and every right it has was used by some test before. Call it last.
   *
   * @param expected in `unused`, rights that the tests do not use, as the message names them: `delete services`
   * @throws Error that names each right
   */
  expectLeastPrivilege(expected?: { readonly unused?: readonly string[] }): void;
  /**
   * What it asks for while something happens, until each of its runs has ended.
   *
   * @throws Error with what it asked for, if that is more
   * @example
   * await operator.expectCosts({ calls: 0, runs: 0, events: 0 }, async () => {
   *   await servers.patch(site, { metadata: { labels: { team: 'a' } } });
   *   await servers.until(other, isReady);
   * });
   */
  expectCosts(most: Costs, during: () => Promise<void>): Promise<void>;
}

/** A cluster and a Temporal server for tests. */
export interface TestStack {
  /** The file of an administrator. */
  readonly kubeconfig: string;
  /** `127.0.0.1:<port>` */
  readonly temporalAddress: string;
  readonly temporalUiUrl: string;
  /** A new Namespace, in which Pods can be created. @returns its name */
  namespace(): Promise<string>;
  /** Creates or changes an object, by server-side apply. @throws ApiError */
  apply<T extends KubernetesObject = KubernetesObject>(object: WrittenObject): Promise<StoredObject<T>>;
  /**
   * Applies the object of a YAML file, in this namespace: `samples/website.yaml`. The name of a cluster-scoped one gets this namespace at
   * its end, so that each story has an object of its own.
   *
   * @throws Error if the file has none, or several
   */
  applySample(path: string, namespace: string): Promise<StoredObject>;
  get<T extends KubernetesObject = KubernetesObject>(object: ObjectReference): Promise<T | undefined>;
  /** A merge patch. @throws ApiError */
  patch(object: ObjectReference, patch: object, subresource?: 'status'): Promise<void>;
  /** Asks for its deletion; {@link TestStack.untilGone} waits for it. */
  delete(object: ObjectReference): Promise<void>;
  /**
   * Waits until the object is as it should be: `until(site, isReady)`.
   *
   * @param within seconds. Default: 60
   * @throws Error with the object as it is, after that time
   */
  until<T extends KubernetesObject = KubernetesObject>(
    object: ObjectReference,
    is: (object: T) => boolean,
    within?: number,
  ): Promise<T>;
  /** @param within seconds. Default: 60 */
  untilGone(object: ObjectReference, within?: number): Promise<void>;
  /** Applies the definitions and the roles of `deploy/install.yaml`, and starts your operator with those rights. */
  operator(options?: OperatorOptions): Promise<TestOperator>;
  /** Stops a server, and starts it again with what it had stored. */
  outage(server: 'temporal' | 'kubernetes', during: () => Promise<void>): Promise<void>;
  /**
   * Plays the story again and again. Each time, the operator is killed after another of its writes, before it gets the answer, and started
   * again; until a story has no more writes. No other operator may run meanwhile.
   *
   * @param story in a namespace of its own; what it expects has to be true in spite of the kill
   * @returns after which writes it was killed: `patch deployments/shop`
   * @throws Error of the story, with the write before it
   */
  killAfterEveryWrite(
    story: (namespace: string) => Promise<void>,
    options?: OperatorOptions,
  ): Promise<readonly string[]>;
  /** Ends all servers and operators. Safe to repeat. */
  stop(): Promise<void>;
}
