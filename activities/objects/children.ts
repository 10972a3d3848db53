/*
 * Reads and writes of the objects that belong to a resource. In: what is declared or owned, as decided. Out: what was done, and what is
 * there by then. Every write carries what it was decided from; nothing of a stranger is changed, and nothing is decided here.
 */

import { REQUEST_TIMEOUT_MS } from '../authors-kube.ts';
import { addedUp, type Action, type DecisionEvent } from '../../src/runs/decision.ts';
import { isUnready, POD_TROUBLES, podTrouble } from '../../src/api/pod-trouble.ts';
import type { KubernetesList, KubernetesObject } from '../../src/api/object.ts';
import {
  IN_USE,
  QUOTA,
  stepName,
  type Blocked,
  type ChildrenSeen,
  type ChildStep,
  type Recreation,
  type RefusedChild,
} from '../../src/engine/children/decide.ts';
import { podSelector, type PodsFound } from '../../src/engine/children/hanging.ts';
import { ANSWERED_ANNOTATION } from '../../src/engine/children/digest.ts';
import {
  answeredText,
  childView,
  isAsWanted,
  type Answered,
  type ChildView,
} from '../../src/engine/children/view.ts';
import {
  adoptedMetadata,
  controllerIn,
  inWords,
  hasLostOwner,
  isOwnedBy,
  isSame,
  OWNER_LABEL,
  withData,
  type ChildRef,
  type DeclaredType,
  type ChildOwner,
  type WantedObject,
} from '../../src/engine/children/wanted.ts';
import { ControllerError } from '../../src/engine/failing.ts';
import { fieldsOf, isFields } from '../../src/api/fields.ts';
import { MANAGED_BY, PODS } from '../../src/api/kinds.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { causeOfError } from '../../src/kubernetes/causes.ts';
import { ApiError, found, isOf } from '../../src/kubernetes/errors.ts';
import { kubeOf, VERSION_OF_NONE } from '../../src/kubernetes/kube.ts';
import { eachPage } from '../../src/kubernetes/pages.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { changeOf } from '../overridden.ts';
import { inBatches, SLOWLY } from './batches.ts';
import type { AttemptContext } from '../reconciler.ts';

/** Declared objects as a step has read them. */
export interface LiveChildren extends ChildrenSeen {
  readonly wanted: readonly WantedObject[];
}

/** How a step on declared objects ended. */
export interface ChildrenEnd {
  readonly children: LiveChildren;
  readonly did: readonly Action[];
  readonly changed?: string | undefined;
  readonly event?: DecisionEvent;
  readonly refusal?: ApiError | undefined;
}

/** One object, after a write. */
interface Written {
  readonly child: ChildRef;
  /** Undefined: it is gone, or was never ours. */
  readonly now?: ChildView;
  readonly done?: ChildStep['verb'] | 'adopt';
  readonly blocked?: Blocked;
  readonly refused?: RefusedChild;
  readonly changed?: string | undefined;
}

/** A step begins no more writes after that; the next one goes on. */
const TIME_MS = 2_000;
/** A step of so few writes is tried as a local activity first, which has a second for all it does. */
const FEW_WRITES = 10;
const TIME_FOR_FEW_MS = 500;
const PROPAGATION = { foreground: 'Foreground', background: 'Background', orphan: 'Orphan' } as const;
const DONE = { create: 'created', apply: 'applied', delete: 'deleted', adopt: 'adopted' } as const;
const EVENT_REASON = { create: 'Created', apply: 'Applied', delete: 'Deleted', adopt: 'Adopted' } as const;
const EVENT_ACTION = { create: 'Create', apply: 'Apply', delete: 'Delete', adopt: 'Adopt' } as const;

/** The API calls about the declared objects of one resource. Each throws ApiError. */
export class ChildrenClient {
  readonly #client: KubernetesClient;
  readonly #owner: ChildOwner;
  readonly #isRehearsing: boolean;

  /** @param isRehearsing it is for a plan: nothing is generated */
  constructor(client: KubernetesClient, owner: ChildOwner, { isRehearsing = false } = {}) {
    this.#client = client;
    this.#owner = owner;
    this.#isRehearsing = isRehearsing;
  }

  /** All that the resource has declared. @param isSpread some of them may be in other namespaces */
  async list(
    types: readonly DeclaredType[],
    isSpread: boolean,
  ): Promise<Required<Pick<ChildrenSeen, 'there' | 'missing'>>> {
    const missing: DeclaredType[] = [];
    const lists = await Promise.all(
      types.map((type) =>
        this.#listOf(type, isSpread).catch((error: unknown) => {
          if (!type.optional || !isOf(error, 'api-missing')) throw error;
          missing.push(type);
          return [];
        }),
      ),
    );
    return { there: lists.flat(), missing };
  }

  async #listOf(type: DeclaredType, isSpread: boolean): Promise<readonly ChildView[]> {
    const { namespace, uid } = this.#owner.metadata;
    const items: ChildView[] = [];
    const onPage = (page: KubernetesList) => {
      for (const object of page.items ?? [])
        if (isOwnedBy(object, this.#owner)) items.push(childView(type, object));
    };
    const isWide = isSpread || !type.namespaced;
    const path = resourcePath(type, isWide ? {} : { namespace });
    const labelSelector = `${OWNER_LABEL}=${uid}`;
    const which = type.retired ? {} : { labelSelector };
    await eachPage({ client: this.#client, path, ...which }, { onPage, timeoutMs: REQUEST_TIMEOUT_MS });
    return items;
  }

  /** Why the Pods of those that are not ready are not: the first that says so. */
  async podsOf({ wanted, there }: LiveChildren): Promise<PodsFound> {
    let sinceMs = 0;
    for (const child of there.filter(({ readiness }) => readiness.is !== 'ready')) {
      const labelSelector = wanted.filter((each) => isSame(each, child)).map(podSelector)[0];
      if (labelSelector === undefined) continue;
      const which = { type: PODS, namespace: child.namespace, labelSelector };
      const pods = await kubeOf(this.#client).list(which, unreadyPod, { timeoutMs: REQUEST_TIMEOUT_MS });
      const [hanging] = pods.toSorted(
        (one, other) => one.rank - other.rank || one.createdAtMs - other.createdAtMs,
      );
      if (hanging?.cause !== undefined) return { cause: hanging.cause };
      sinceMs = Math.max(sinceMs, ...pods.map(({ createdAtMs }) => createdAtMs));
    }
    return { sinceMs };
  }

  /** Performs one step. Safe to repeat. */
  async perform(
    step: ChildStep,
    before: LiveChildren,
    { now, superseded, progress }: Pick<AttemptContext, 'now' | 'superseded' | 'progress'>,
  ): Promise<ChildrenEnd> {
    const untilMs = now() + ((step.writes ?? 1) > FEW_WRITES ? TIME_MS : TIME_FOR_FEW_MS);
    const soFar: Written[] = [];
    let refusal: ApiError | undefined;
    const write = async (child: ChildRef) => {
      const written = await this.#write(step, child, before).catch((thrown: unknown) => {
        const error = thrown instanceof ControllerError ? asRefused(thrown) : thrown;
        // The others are not held up by it.
        if (!isOf(error, 'refused', 'access-denied')) throw error;
        refusal ??= error;
        return this.#refused(step.verb, child, before, error);
      });
      soFar.push(written);
      progress?.(actionsOf(soFar));
      return written;
    };
    const isTimeUp = () => superseded.aborted || now() >= untilMs;
    const { done, failure } = await inBatches(step.children, write, { firstSize: SLOWLY, isTimeUp });
    const children = withWritten(before, done);
    const did = actionsOf(done);
    const changed = done.find((each) => each.changed !== undefined)?.changed;
    const end = { children, did, ...eventOf(done) };
    if (failure === undefined) return { ...end, changed, refusal };
    if (!(failure.error instanceof ApiError)) throw failure.error;
    return { ...end, refusal: failure.error };
  }

  async #write({ verb, propagation }: ChildStep, child: ChildRef, before: LiveChildren): Promise<Written> {
    const { want, live } = foundIn(before, child);
    if (verb === 'delete' || want === undefined)
      return live === undefined ? { child } : this.#delete(live, propagation);
    return live === undefined ? this.#create(want) : this.#apply(live, want);
  }

  #refused(verb: ChildStep['verb'], child: ChildRef, before: LiveChildren, error: ApiError): Written {
    const { live } = foundIn(before, child);
    const { namespace = this.#owner.metadata.namespace ?? '' } = child;
    const resource = `${child.type.kind.toLowerCase()}/${child.name} -n ${namespace}`;
    const cause = causeOfError(error, { resource, namespace });
    const tried = verb === 'delete' ? verb : live === undefined ? 'create' : 'apply';
    return { child, ...(live && { now: live }), refused: { step: stepName(tried, child), child, cause } };
  }

  async #create(wanted: WantedObject): Promise<Written> {
    const { object, type } = wanted;
    const generated = this.#isRehearsing ? undefined : await wanted.generate?.();
    try {
      const whole = generated === undefined ? object : withGenerated(object, generated);
      const created = await this.#send(wanted, {
        ...whole,
        metadata: { ...object.metadata, resourceVersion: VERSION_OF_NONE },
      }).catch((error: unknown) => {
        throw generated === undefined ? error : withoutGenerated(error, generated);
      });
      return { child: wanted, done: 'create', now: childView(type, created) };
    } catch (error) {
      if (!isOf(error, 'conflict')) throw error;
      return await this.#lookAt(wanted);
    }
  }

  /** Who has the name? What is ours has lost its label, or its owner reference: it gets them back by an apply. */
  async #lookAt(wanted: WantedObject): Promise<Written> {
    const object = await kubeOf(this.#client).get(wanted, { timeoutMs: REQUEST_TIMEOUT_MS });
    if (object === undefined) return { child: wanted };
    if (isOwnedBy(object, this.#owner) || hasLostOwner(object, wanted, this.#owner))
      return { child: wanted, now: childView(wanted.type, object) };
    const controller = controllerIn(object, this.#owner);
    const { adopt = false } = wanted;
    const isLeaving = object.metadata.deletionTimestamp !== undefined;
    if (controller === undefined && !isLeaving && (adopt === true || (adopt && adopt(object))))
      return this.#adopt(object, wanted);
    const because = `belongs to ${controller ?? 'nobody of ours'}`;
    return { child: wanted, blocked: { by: 'stranger', child: wanted, because } };
  }

  /** It is changed afterwards, where it is to be. */
  async #adopt(object: KubernetesObject, wanted: WantedObject): Promise<Written> {
    const { uid, resourceVersion } = object.metadata;
    const metadata = { ...adoptedMetadata(object, wanted, this.#owner), uid, resourceVersion };
    const adopted = await kubeOf(this.#client).patch(wanted, { metadata }, { timeoutMs: REQUEST_TIMEOUT_MS });
    return { child: wanted, now: childView(wanted.type, adopted), done: 'adopt' };
  }

  /** What was written counts even though something failed in the end: the next step meets the failure again, if it lasts. */
  async #apply(live: ChildView, wanted: WantedObject): Promise<Written> {
    let now = live;
    try {
      now = await this.#sendApply(now, wanted, notedOn(live, wanted));
      if (isAsWanted(now, wanted)) return { child: wanted, now, done: 'apply' };
      // The server makes something else of it. Noted on the object, the same answer counts as it is wanted.
      const noted = await this.#sendApply(now, wanted, { wanted: wanted.digest, answer: now.digest });
      const changed = isAsWanted(noted, wanted) ? undefined : noted.changed;
      return { child: wanted, now: noted, done: 'apply', changed };
    } catch (error) {
      const done = now === live ? {} : { done: 'apply' as const };
      if (isInvalid(error) && (await this.#isAcceptedAnew(wanted))) {
        const blocked: Blocked = { by: 'immutable', child: wanted, because: error.words };
        return { child: wanted, now, ...done, blocked: { ...blocked, ...defaultIn(error, wanted) } };
      }
      if (now === live) throw error;
      return { child: wanted, now, ...done };
    }
  }

  /** Whether the object itself is valid: then only its change is not. */
  async #isAcceptedAnew({ type, namespace, object }: WantedObject): Promise<boolean> {
    try {
      await this.#client.request({
        method: 'POST',
        path: resourcePath(type, { namespace }),
        query: { fieldManager: type.manager ?? MANAGED_BY, dryRun: 'All' },
        body: object,
        timeoutMs: REQUEST_TIMEOUT_MS,
      });
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.classification === 'already-exists' || isHeldBack(error);
    }
  }

  async #sendApply(
    { uid, resourceVersion }: ChildView,
    wanted: WantedObject,
    answered: Answered | undefined,
  ): Promise<ChildView & { readonly changed: string }> {
    const { metadata } = wanted.object;
    const note = answered && { [ANSWERED_ANNOTATION]: answeredText(answered) };
    // Who applies no annotation at all, and says so, owns those of everybody.
    const annotations = note && { annotations: { ...metadata.annotations, ...note } };
    const body = { ...wanted.object, metadata: { ...metadata, uid, resourceVersion, ...annotations } };
    const answer = await this.#send(wanted, body);
    return {
      ...childView(wanted.type, answer),
      changed: changeOf(body, answer, wanted.type.manager) ?? inWords(wanted),
    };
  }

  async #delete(live: ChildView, how: Recreation = 'background'): Promise<Written> {
    const { uid, resourceVersion } = live;
    const conditions = { uid, resourceVersion, propagation: PROPAGATION[how] };
    await found(kubeOf(this.#client).delete(live, conditions));
    // Unless in the background, it stays until the garbage collector has seen to what belongs to it.
    const now = how === 'background' ? undefined : { ...live, isBeingDeleted: true };
    return { child: live, done: 'delete', ...(now && { now }) };
  }

  /** Server-side apply. */
  #send({ type, namespace, name }: ChildRef, body: object): Promise<KubernetesObject> {
    return this.#client.request<KubernetesObject>({
      method: 'PATCH',
      path: resourcePath(type, { namespace, name }),
      query: { fieldManager: type.manager ?? MANAGED_BY, force: true },
      contentType: 'application/apply-patch+yaml',
      body,
      timeoutMs: REQUEST_TIMEOUT_MS,
    });
  }
}

/** A function of the author's has failed: that is said where a refusal is. */
function asRefused({ message, asCause }: ControllerError): ApiError {
  return new ApiError(message, { classification: 'refused', said: asCause });
}

/** Source: RFC 7386, as far as fields are added. */
function withGenerated(object: KubernetesObject, generated: object): KubernetesObject {
  const merged = (before: unknown, added: unknown): unknown =>
    isFields(added)
      ? {
          ...fieldsOf(before),
          ...Object.fromEntries(
            Object.entries(added).map(([name, value]) => [name, merged(fieldsOf(before)[name], value)]),
          ),
        }
      : added;
  // The metadata is the manifest's, so that the object is what was decided.
  return withData({ ...object, ...fieldsOf(merged(object, generated)), metadata: object.metadata });
}

/** A server may quote what it refuses. */
function withoutGenerated(error: unknown, generated: object): unknown {
  if (!(error instanceof ApiError)) return error;
  const texts = textsIn(generated).toSorted((one, other) => other.length - one.length);
  const hidden = (text: string) => texts.reduce((rest, each) => rest.replaceAll(each, HIDDEN), text);
  const { status, reason, retryAfterMs, classification, said } = error;
  const fields = { status, reason, retryAfterMs, classification };
  const words = hidden(error.words);
  const told = said && { ...said, message: hidden(said.message) };
  return new ApiError(hidden(error.message), { ...fields, words, said: told });
}

const HIDDEN = '[generated]';

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string')
    return value === ''
      ? []
      : [value, Buffer.from(value).toString('base64'), JSON.stringify(value).slice(1, -1)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The worst has the lowest rank. */
function unreadyPod(pod: KubernetesObject) {
  if (!isUnready(pod)) return undefined;
  const cause = podTrouble(pod);
  const place = POD_TROUBLES.findIndex((each) => each === cause?.reason);
  const rank = place === -1 ? POD_TROUBLES.length : place;
  return { rank, cause, createdAtMs: Date.parse(pod.metadata.creationTimestamp ?? '') || 0 };
}

function notedOn({ answered }: ChildView, { digest }: WantedObject): Answered | undefined {
  return answered?.wanted === digest ? answered : undefined;
}

/**
 * Whether the validation of the type refuses it. What a webhook or an admission policy denies may be a 422, too, but begins with
 * other words. Source: apimachinery, pkg/api/errors, `NewInvalid`.
 */
function isInvalid(error: unknown): error is ApiError {
  return (
    error instanceof ApiError && error.reason === 'Invalid' && INVALID.test(error.words) && !isHeldBack(error)
  );
}

const INVALID = /^[\w.-]+ "[^"]*" is invalid: /;

/** By what an object holds: by the one itself, where it is created by a dry run. */
function isHeldBack({ words }: ApiError): boolean {
  return words.includes(QUOTA) || words.includes(IN_USE);
}

/** A field that is not declared, and is invalid: the server had set it. */
function defaultIn({ details }: ApiError, { object }: WantedObject): Pick<Blocked, 'undeclared'> {
  const fields = (details?.causes ?? []).flatMap(({ field }) => field ?? []);
  const undeclared = fields.find((field) => /^spec(\.\w+)+$/.test(field) && !isDeclared(object, field));
  return undeclared === undefined ? {} : { undeclared };
}

function isDeclared(object: KubernetesObject, field: string): boolean {
  const value = field.split('.').reduce<unknown>((at, name) => fieldsOf(at)[name], object);
  return value !== undefined;
}

function withWritten(before: LiveChildren, done: readonly Written[]): LiveChildren {
  const isUntouched = (child: ChildRef) => !done.some((each) => isSame(each.child, child));
  const { there, blocked = [], refused = [] } = before;
  return {
    ...before,
    there: [...there.filter(isUntouched), ...done.flatMap(({ now }) => now ?? [])],
    blocked: [
      ...blocked.filter(({ child }) => isUntouched(child)),
      ...done.flatMap((each) => each.blocked ?? []),
    ],
    refused: refusedAfter(refused, done),
  };
}

/** What is refused again keeps its place: the first is what the status says. */
function refusedAfter(before: readonly RefusedChild[], done: readonly Written[]): readonly RefusedChild[] {
  const now = done.flatMap(({ refused }) => refused ?? []);
  const isOf = ({ step, child }: RefusedChild, other: RefusedChild) =>
    child === undefined ? step === other.step : other.child !== undefined && isSame(child, other.child);
  const isTried = ({ step, child }: RefusedChild) =>
    done.some((each) =>
      child === undefined
        ? VERBS.some((verb) => stepName(verb, each.child) === step)
        : isSame(child, each.child),
    );
  const kept = before.flatMap((each) => (isTried(each) ? now.filter((other) => isOf(each, other)) : [each]));
  return [...kept, ...now.filter((each) => !kept.includes(each))];
}

const VERBS = ['create', 'apply', 'delete'] as const;

function foundIn({ wanted, there }: LiveChildren, child: ChildRef) {
  const want = wanted.find((each) => isSame(each, child));
  return { want, live: there.find((each) => isSame(each, child)) };
}

function actionsOf(written: readonly Written[]): readonly Action[] {
  return addedUp(
    written.flatMap(({ done, child: { type, name } }) =>
      done === undefined ? [] : [{ did: DONE[done], what: type.kind, count: 1, names: [name] }],
    ),
  );
}

function eventOf(written: readonly Written[]): Pick<ChildrenEnd, 'event'> {
  const all = written.filter(({ done }) => done !== undefined);
  const [first] = all;
  if (first?.done === undefined) return {};
  const { done, child, now } = first;
  const more = all.length === 1 ? '' : ` and ${all.length - 1} more`;
  const note = `${DONE[done]} ${inWords(child)}${more}`;
  const occasion = `${now?.uid ?? ''} ${now?.resourceVersion ?? ''}`;
  return {
    event: { type: 'Normal', reason: EVENT_REASON[done], action: EVENT_ACTION[done], note, occasion },
  };
}
