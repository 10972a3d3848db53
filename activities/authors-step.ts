import type { Kube } from '../src/api/kube.ts';
import type { StepResult } from '../src/api/step.ts';
import type { ReferencedObject } from '../src/api/reference.ts';
import { addedUp, sentenceOf, type Action } from '../src/runs/decision.ts';
import { SILENT_LOGGER } from '../src/api/logger.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import type { UnknownAttempt } from '../src/api/unknown-attempt.ts';
import { deletedBy } from '../src/engine/holds/approval.ts';
import {
  isExternal,
  callMaxMs,
  runMaxMs,
  stepsOf,
  UNBOUND,
  type AnyDefinition,
  type AuthorsStep,
} from '../src/engine/definition.ts';
import { ApiError, isNamespaceEnding, isOf } from '../src/kubernetes/errors.ts';
import type { WriteHooks, AcceptedWrite } from './authors-kube.ts';
import { AT_ONCE, inBatches, SLOWLY } from './objects/batches.ts';
import { refuseBesideHanging, untilGivenUp } from './hanging-code.ts';
import { PartlyDone, type Performed, type AttemptContext } from './reconciler.ts';

const LOCAL_EACH_MS = 500;

/** What an author's step is given, and what is known after it. */
interface Doing<O> {
  readonly definition: AnyDefinition;
  readonly step: AuthorsStep;
  readonly facts: {
    readonly resource: unknown;
    readonly owned: readonly unknown[];
    readonly references: readonly ReferencedObject[];
    readonly observed: unknown;
    readonly unknown: readonly UnknownAttempt[];
  };
  readonly context: Pick<
    AttemptContext,
    'ref' | 'now' | 'superseded' | 'notDone' | 'progress' | 'idempotencyKey' | 'log' | 'begins'
  >;
  readonly kubeFor: (hooks: WriteHooks & { readonly signal?: AbortSignal }) => Kube;
  /** Asked before each batch of writes: which items of `owned` have gone since. Default: none has. */
  readonly goneNow?: () => ReadonlySet<unknown>;
  /** Whether something has taken an object, on its way to the server, from the resource: more of them would be in vain. Default: nothing has. */
  readonly isInVain?: () => boolean;
  /** Asked once all is done. Undefined: it has to be observed. */
  readonly after: () => O | undefined;
}

/** Besides, fields of the status that it has to say. */
type Done<O> = Performed<O> & { readonly status?: object };

/** Has the author's code do a step. @throws ApiError */
export async function doStep<O>(doing: Doing<O>): Promise<Done<O>> {
  const { definition, step, facts, context, kubeFor, goneNow, isInVain, after } = doing;
  const its = stepsOf(definition)[step.do] ?? unknownStep(definition, step);
  const soFar: Action[] = [];
  const ofEach: Action[] = [];
  let last: Pick<AcceptedWrite, 'answer' | 'changed'> = {};
  // The time of an attempt runs from its beginning, for whatever it calls.
  const signal = isExternal(definition, step.do) ? soon(context.superseded, its) : undefined;
  // Within the workflow task, it has a second for all that it does.
  const goesOnUntil = performance.now() + (context.notDone === undefined ? LOCAL_EACH_MS : runMaxMs(its) / 2);
  const running = {
    ...UNBOUND,
    ...facts,
    ...{ log: context.log ?? SILENT_LOGGER, now: context.now },
    kube: kubeFor({
      ...(signal && { signal }),
      allow: deletesOnly(step),
      onWritten: (written) => {
        if (written.answer !== undefined) last = written;
      },
    }),
    get signal() {
      return signal ?? soon(context.superseded, its);
    },
    get idempotencyKey() {
      return context.idempotencyKey?.() ?? '';
    },
    progress: (sentence: string) => {
      soFar.push(actionOf(sentence));
      context.progress?.([...soFar, ...ofEach]);
    },
    async each<T>(items: readonly T[], act: (item: T) => Promise<string | undefined>) {
      let gone: ReadonlySet<unknown> = new Set();
      const prepare = () => {
        gone = goneNow?.() ?? gone;
        return Promise.resolve();
      };
      const actOn = async (item: T) => {
        const sentence = gone.has(item) ? undefined : await act(item);
        if (sentence === undefined) return;
        ofEach.push(countedIn(sentence));
        context.progress?.([...soFar, ...ofEach]);
      };
      const isTimeUp = () =>
        context.superseded.aborted || performance.now() > goesOnUntil || isInVain?.() === true;
      const firstSize = step.deletes === undefined ? SLOWLY : AT_ONCE;
      const { failure } = await inBatches(items, actOn, { firstSize, isTimeUp, prepare });
      if (failure !== undefined) throw failure.error;
      return sentenceOf(ofEach);
    },
  };
  const didAsSaid = (message: string) => {
    if (message === '') return [];
    // What an Event says besides, the reason of the step has in the history.
    return ofEach.length > 0 && message.startsWith(sentenceOf(ofEach))
      ? addedUp(ofEach)
      : [actionOf(message)];
  };
  const call = {
    of: { controller: definition.name, uid: context.ref.uid },
    ...{ what: `run of step ${step.do}`, maxMs: callMaxMs(definition, its), log: running.log },
  };
  refuseBesideHanging(call);
  try {
    context.begins?.();
    const result = await untilGivenUp(call, () => its.run(running, step.data));
    const { message, event, status } =
      typeof result === 'string'
        ? { message: result }
        : (result as StepResult<Readonly<Record<string, unknown>>>);
    const { answer, changed } = last;
    return {
      ...{ observation: after(), did: didAsSaid(message) },
      ...(changed !== undefined && { changed }),
      ...(status && { status }),
      ...(event && { event: { type: 'Normal', ...event, note: message, occasion: occasionOf(answer) } }),
    };
  } catch (error) {
    // It was asked to end, and has done so.
    const did = addedUp([...soFar, ...ofEach]);
    if (context.superseded.aborted && did.length > 0) return { observation: undefined, did, isUnknown: true };
    return { observation: undefined, ...failed(error, did) };
  }
}

/** Each write is an Event of its own, though its note may repeat the last one's: the resourceVersion distinguishes them. */
function occasionOf(answer: KubernetesObject | undefined): string {
  return answer === undefined ? '' : `${answer.metadata.uid} ${answer.metadata.resourceVersion}`;
}

/** What was done must not be lost. What comes next is decided from what is there by then, and meets the failure again, if it lasts. */
function failed(
  error: unknown,
  did: readonly Action[],
): Pick<Performed<never>, 'did' | 'refusal' | 'isUnknown'> {
  if (!(error instanceof ApiError))
    throw error instanceof Error && did.length > 0 ? new PartlyDone(error, did) : error;
  if (did.length === 0 && isNamespaceEnding(error)) return { did, refusal: error };
  if (did.length === 0) throw error;
  if (isOf(error, 'retry-after', 'disruption-budget')) throw new PartlyDone(error, did);
  return { did, ...(isOf(error, 'unavailable') && { isUnknown: true }) };
}

/** Refuses to delete anything that its decision does not name: a person may have approved of just that. */
function deletesOnly({ do: name, deletes }: AuthorsStep): WriteHooks['allow'] {
  let named: ReadonlySet<string> | undefined;
  return ({ verb, at, uid }) => {
    if (verb !== 'delete') return;
    if (deletes === undefined)
      throw new Error(`step ${name} calls kube.delete or kube.evict, but does not declare \`deletes\``);
    named ??= new Set([...deletedBy(deletes), ...(deletes.helpers?.() ?? [])].map((each) => each.uid));
    if (uid === undefined || !named.has(uid))
      throw new Error(
        `step ${name} may not delete ${at.type.plural}/${at.name}: its UID is not one of the ${deletes.count} that \`deletes\` names`,
      );
  };
}

function unknownStep({ name }: AnyDefinition, step: AuthorsStep): never {
  throw new Error(`controller ${name} has no step ${step.do}`);
}

/** `created Pod web-1`, `deleted failed Pod web-2` */
function countedIn(sentence: string): Action {
  const [, did, what, name] = /^(\S+) ((?:[a-z]+ )*[A-Z]\S*) (\S+)$/.exec(sentence) ?? [];
  if (did === undefined || what === undefined || name === undefined) return actionOf(sentence);
  return { did, what, count: 1, names: [name] };
}

function actionOf(sentence: string): Action {
  const [did = '', ...what] = sentence.split(' ');
  return { did, what: what.join(' ') };
}

/** The time that an attempt has. @param step default: `observe` */
export function soon(superseded: AbortSignal, step: { readonly timeout?: string } = {}): AbortSignal {
  return AbortSignal.any([superseded, AbortSignal.timeout(runMaxMs(step))]);
}
