import { writesStatus } from '../src/api/controller.ts';
import { type Action } from '../src/runs/decision.ts';
import type { ResourceRef } from '../src/api/resource-ref.ts';
import { type DefinedObservation, type LiveReads, type SeenResource } from '../src/engine/observation.ts';
import { isExternal, type AnyDefinition, type AuthorsStep } from '../src/engine/definition.ts';
import { ControllerError, isNever, neverCause } from '../src/engine/failing.ts';
import { viewsOf, type OwnedView } from '../src/engine/owned.ts';
import { ApiError, isOf } from '../src/kubernetes/errors.ts';
import { REQUEST_TIMEOUT_MS, waitForBudget } from './authors-kube.ts';
import { doStep } from './authors-step.ts';
import { Folded } from './objects/folded.ts';
import { PartlyDone, unknownTo, type AttemptContext, type Performed } from './reconciler.ts';
import { causeOfFailure, isGoneBy, isNewsOf, isSaidByAuthor, isTelling } from './telling.ts';

import type { Served } from './served.ts';

/** A step of the author's, and what is known after it. */
export async function runStep(
  { definition, observing, kube }: Served,
  step: AuthorsStep,
  { observation, context }: Given,
): Promise<Performed<DefinedObservation>> {
  if (observation === 'gone')
    throw new Error(`step ${step.do} was decided without a resource; this is a bug`);
  const { view, owned, referred, live } = observation;
  const { resource } = view;
  const type = definition.for;
  const folded = new Folded(definition, observation);
  const facts = {
    ...{ resource, owned: viewsOf(owned), observed: live?.observed },
    references: referred?.objects ?? [],
    unknown: unknownTo(context),
  };
  try {
    const { status, ...performed } = await doStep<DefinedObservation>({
      ...{ definition, step, context, facts },
      goneNow: goneFrom(owned, context),
      isInVain: () => folded.isAnyLost,
      after: () => (isExternal(definition, step.do) ? undefined : folded.observation),
      kubeFor: ({ allow, onWritten, ...hooks }) =>
        observing.kubeWith({
          ...hooks,
          isMetadataOnly: (at) => type.metadataOnly === true && folded.isResource(at),
          allow: (asked) => {
            allow(asked);
            folded.check(step, asked);
          },
          onWritten: (written) => {
            folded.written(written);
            onWritten(written);
          },
        }),
    });
    if (status !== undefined)
      await record({ definition, kube }, status, {
        step: step.do,
        ref: context.ref,
        did: performed.did,
      });
    return performed;
  } catch (error) {
    return afterFailure(error, { definition, step: step.do, observation, context });
  }
}

interface Given {
  readonly observation: DefinedObservation;
  readonly context: AttemptContext<DefinedObservation>;
}

interface Failed {
  readonly definition: AnyDefinition;
  readonly step: string;
  readonly observation: SeenResource;
  readonly context: AttemptContext<DefinedObservation>;
}

/** What is known then. @throws where the attempt fails with it */
function afterFailure(
  error: unknown,
  { definition: { for: type }, step, observation, context: { ref, attempt } }: Failed,
): Performed<DefinedObservation> {
  const { view, live } = observation;
  const [failure, did] = error instanceof PartlyDone ? [error.cause, error.did] : [error, []];
  if (isGoneBy(failure, { ref, type })) return { observation: 'gone', did };
  const after = (more: LiveReads) => ({
    observation: {
      ...observation,
      ...(live === undefined && { isOwnedShown: true as const }),
      live: { ...live, ...more },
    },
    did,
  });
  if (isOf(failure, 'disruption-budget')) return after({ waiting: waitForBudget(failure) });
  // The status says it once. Where it does already, the attempt fails with it.
  const isRefusal = isOf(failure, 'refused', 'access-denied') || isSaidByAuthor(failure);
  if (isRefusal && isTelling(view))
    return {
      ...after({ refused: { step, cause: causeOfFailure(failure, { ref, type }) } }),
      refusal: failure,
    };
  if (isNever(failure)) return after({ never: neverCause(failure) });
  const isTold = failure instanceof ControllerError && live !== undefined;
  if (!isTold || !isNewsOf(failure, failure.asCause.reason, { view, attempt })) throw error;
  return { ...after({ refused: { step, cause: failure.asCause } }), isUnknown: true };
}

/** The status that a step returns is written whatever the resource is by now. @throws PartlyDone: the next attempt has the same key */
async function record(
  { definition, kube }: Pick<Served, 'definition' | 'kube'>,
  status: object,
  { step, ref, did }: { step: string; ref: ResourceRef; did: readonly Action[] },
): Promise<void> {
  const mistake = (error: unknown) => {
    const failing = { reason: 'StepFailed', what: `the status that step ${step} returns`, asks: true };
    return new PartlyDone(new ControllerError(definition.name, failing, error), did);
  };
  if (!writesStatus(definition)) throw mistake(new Error('the controller writes the status of no kind'));
  const at = { ...ref, type: definition.for, subresource: 'status' } as const;
  const sent = { metadata: { uid: ref.uid }, status };
  await kube.patch(at, sent, { timeoutMs: REQUEST_TIMEOUT_MS }).catch((error: unknown) => {
    throw error instanceof ApiError && !isOf(error, 'refused') ? new PartlyDone(error, did) : mistake(error);
  });
}

/** Of the views that a step was given: those that the watch, which showed them when the step began, shows no more. */
function goneFrom(
  owned: readonly OwnedView[],
  { watched }: AttemptContext<DefinedObservation>,
): () => ReadonlySet<unknown> {
  const shown = (): ReadonlySet<string> => {
    const seen = watched?.();
    return new Set(seen === undefined || seen === 'gone' ? [] : seen.owned.map(({ uid }) => uid));
  };
  const atFirst = shown();
  return () => {
    if (atFirst.size === 0) return atFirst;
    const now = shown();
    const gone = owned.filter(({ uid }) => atFirst.has(uid) && !now.has(uid));
    return new Set(gone.map(({ view }) => view).filter((view) => typeof view === 'object'));
  };
}
