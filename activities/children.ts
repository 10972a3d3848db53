import type { Action, DecisionEvent } from '../src/contract/decision.ts';
import type { KubernetesList, KubernetesObject } from '../src/contract/object.ts';
import { causeOfRefusal } from '../src/contract/refusal.ts';
import type { Blocked, ChildrenSeen, ChildStep } from '../src/controllers/defined/children/decide.ts';
import { ANSWERED_ANNOTATION } from '../src/controllers/defined/children/digest.ts';
import {
  answeredText,
  childView,
  isAsWanted,
  type Answered,
  type ChildView,
} from '../src/controllers/defined/children/view.ts';
import {
  inWords,
  hasLostOwner,
  isOwnedBy,
  isSame,
  OWNER_LABEL,
  type ChildRef,
  type DeclaredType,
  type ChildOwner,
  type WantedObject,
} from '../src/controllers/defined/children/wanted.ts';
import { fieldsOf } from '../src/controllers/fields.ts';
import { controllerOf, MANAGED_BY } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError, found, isOf } from '../src/kubernetes/errors.ts';
import { kubeOf, VERSION_OF_NONE } from '../src/kubernetes/kube.ts';
import { eachPage } from '../src/kubernetes/pages.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { changeOf } from './overridden.ts';
import { inBatches, SLOWLY } from './batches.ts';
import type { AttemptContext } from './reconciler.ts';

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
  readonly isDone: boolean;
  readonly blocked?: Blocked;
  readonly changed?: string | undefined;
}

const REQUEST_TIMEOUT_MS = 5_000;
/** A step begins no more writes after that; the next one goes on. */
const TIME_MS = 2_000;
/** A step of so few writes is tried as a local activity first, which has a second for all it does. */
const FEW_WRITES = 10;
const TIME_FOR_FEW_MS = 500;
const DONE = { create: 'created', apply: 'applied', delete: 'deleted' } as const;
const EVENT_REASON = { create: 'Created', apply: 'Applied', delete: 'Deleted' } as const;
const EVENT_ACTION = { create: 'Create', apply: 'Apply', delete: 'Delete' } as const;
/** How many names of objects a result holds. */
const NAMES_MAX = 5;

/** The API calls about the declared objects of one resource. Each throws ApiError. */
export class ChildrenClient {
  readonly #client: KubernetesClient;
  readonly #owner: ChildOwner;

  constructor(client: KubernetesClient, owner: ChildOwner) {
    this.#client = client;
    this.#owner = owner;
  }

  /** All that the resource has declared. @param isSpread some of them may be in other namespaces */
  async list(types: readonly DeclaredType[], isSpread: boolean): Promise<readonly ChildView[]> {
    const lists = await Promise.all(types.map((type) => this.#listOf(type, isSpread)));
    return lists.flat();
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
    await eachPage({ client: this.#client, path, labelSelector }, { onPage, timeoutMs: REQUEST_TIMEOUT_MS });
    return items;
  }

  /** Performs one step. Safe to repeat. */
  async perform(
    step: ChildStep,
    before: LiveChildren,
    { now, superseded, progress }: Pick<AttemptContext, 'now' | 'superseded' | 'progress'>,
  ): Promise<ChildrenEnd> {
    const untilMs = now() + ((step.writes ?? 1) > FEW_WRITES ? TIME_MS : TIME_FOR_FEW_MS);
    const soFar: Written[] = [];
    const write = async (child: ChildRef) => {
      const written = await this.#write(step.verb, child, before);
      soFar.push(written);
      progress?.(actionsOf(step, soFar));
      return written;
    };
    const isTimeUp = () => superseded.aborted || now() >= untilMs;
    const { done, failure } = await inBatches(step.children, write, { firstSize: SLOWLY, isTimeUp });
    const children = withWritten(before, done);
    const did = actionsOf(step, done);
    const changed = done.find((each) => each.changed !== undefined)?.changed;
    const end = { did, ...eventOf(step, done) };
    if (failure === undefined) return { children, changed, ...end };
    if (!(failure.error instanceof ApiError)) throw failure.error;
    return { children: withRefused(children, failure.error, this.#owner), ...end, refusal: failure.error };
  }

  async #write(verb: ChildStep['verb'], child: ChildRef, { wanted, there }: LiveChildren): Promise<Written> {
    const [want, live] = [wanted, there].map((all) => all.find((each) => isSame(each, child)));
    if (verb === 'create') return this.#create(want as WantedObject);
    if (verb === 'apply') return this.#apply(live as ChildView, want as WantedObject);
    return this.#delete(live as ChildView);
  }

  async #create(wanted: WantedObject): Promise<Written> {
    const { object, type } = wanted;
    try {
      const created = await this.#send(wanted, {
        ...object,
        metadata: { ...object.metadata, resourceVersion: VERSION_OF_NONE },
      });
      return { child: wanted, isDone: true, now: childView(type, created) };
    } catch (error) {
      if (!isOf(error, 'conflict')) throw error;
      return await this.#lookAt(wanted);
    }
  }

  /** Who has the name? What is ours has lost its label, or its owner reference: it gets them back by an apply. */
  async #lookAt(wanted: WantedObject): Promise<Written> {
    const object = await kubeOf(this.#client).get(wanted, { timeoutMs: REQUEST_TIMEOUT_MS });
    if (object === undefined) return { child: wanted, isDone: false };
    if (isOwnedBy(object, this.#owner) || hasLostOwner(object, wanted, this.#owner))
      return { child: wanted, isDone: false, now: childView(wanted.type, object) };
    const controller = controllerOf(object.metadata);
    const whose = controller === undefined ? 'nobody of ours' : `${controller.kind} ${controller.name}`;
    const because = `belongs to ${whose}`;
    return { child: wanted, isDone: false, blocked: { by: 'stranger', child: wanted, because } };
  }

  /** What was written counts even though something failed in the end: the next step meets the failure again, if it lasts. */
  async #apply(live: ChildView, wanted: WantedObject): Promise<Written> {
    let now = live;
    try {
      now = await this.#sendApply(now, wanted, notedOn(live, wanted));
      if (isAsWanted(now, wanted)) return { child: wanted, now, isDone: true };
      // The server makes something else of it. Noted on the object, the same answer counts as it is wanted.
      const noted = await this.#sendApply(now, wanted, { wanted: wanted.digest, answer: now.digest });
      const changed = isAsWanted(noted, wanted) ? undefined : noted.changed;
      return { child: wanted, now: noted, isDone: true, changed };
    } catch (error) {
      const isDone = now !== live;
      if (isInvalid(error) && (await this.#isAcceptedAnew(wanted))) {
        const blocked: Blocked = { by: 'immutable', child: wanted, because: error.words };
        return { child: wanted, now, isDone, blocked: { ...blocked, ...defaultIn(error, wanted) } };
      }
      if (!isDone) throw error;
      return { child: wanted, now, isDone };
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
      return error.classification === 'already-exists' || HELD.test(error.words);
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

  async #delete(live: ChildView): Promise<Written> {
    const { uid, resourceVersion } = live;
    const conditions = { uid, resourceVersion, propagation: 'Background' } as const;
    await found(kubeOf(this.#client).delete(live, conditions));
    return { child: live, isDone: true };
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

function notedOn({ answered }: ChildView, { digest }: WantedObject): Answered | undefined {
  return answered?.wanted === digest ? answered : undefined;
}

/**
 * Whether the validation of the type refuses it. What a webhook or an admission policy denies may be a 422, too, but begins with
 * other words. Source: apimachinery, pkg/api/errors, `NewInvalid`.
 */
function isInvalid(error: unknown): error is ApiError {
  return error instanceof ApiError && error.reason === 'Invalid' && INVALID.test(error.words);
}

const INVALID = /^[\w.-]+ "[^"]*" is invalid: /;
/** What the object itself holds: a create finds that before the name. */
const HELD = /exceeded quota|already allocated/;

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
  const { wanted, there, blocked = [] } = before;
  return {
    wanted,
    there: [...there.filter(isUntouched), ...done.flatMap(({ now }) => now ?? [])],
    blocked: [
      ...blocked.filter(({ child }) => isUntouched(child)),
      ...done.flatMap((each) => each.blocked ?? []),
    ],
  };
}

/** Who waits sees why. */
function withRefused(
  children: LiveChildren,
  { words, classification }: ApiError,
  owner: ChildOwner,
): LiveChildren {
  if (classification !== 'refused') return children;
  const { namespace = owner.metadata.name } = owner.metadata;
  return { ...children, refused: causeOfRefusal(words, { namespace }) };
}

function actionsOf({ verb }: ChildStep, done: readonly Written[]): readonly Action[] {
  const all = done.filter(({ isDone }) => isDone).map(({ child }) => child);
  const [first] = all;
  if (first === undefined) return [];
  const names = all.slice(0, NAMES_MAX).map(({ name }) => name);
  return [{ did: DONE[verb], what: first.type.kind, count: all.length, names }];
}

function eventOf({ verb }: ChildStep, done: readonly Written[]): Pick<ChildrenEnd, 'event'> {
  const all = done.filter(({ isDone }) => isDone);
  const [first] = all;
  if (first === undefined) return {};
  const more = all.length === 1 ? '' : ` and ${all.length - 1} more`;
  const note = `${DONE[verb]} ${inWords(first.child)}${more}`;
  const occasion = `${first.now?.uid ?? ''} ${first.now?.resourceVersion ?? ''}`;
  return {
    event: { type: 'Normal', reason: EVENT_REASON[verb], action: EVENT_ACTION[verb], note, occasion },
  };
}
