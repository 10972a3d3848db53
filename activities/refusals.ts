import type { Cause } from '../src/api/cause.ts';
import type { Refusal } from '../src/runs/decision.ts';
import { causeOfOverride } from '../src/api/refusal.ts';
import { stepName } from '../src/engine/children/decide.ts';
import { childSummaries } from '../src/engine/children/declared.ts';
import { stepsOf, type AnyDefinition } from '../src/engine/definition.ts';
import type { DefinedObservation } from '../src/engine/observation.ts';
import type { DefinedView } from '../src/engine/view.ts';
import { isStalled } from '../src/engine/watched.ts';
import { causeOfError } from '../src/kubernetes/causes.ts';
import { ApiError } from '../src/kubernetes/errors.ts';

/*
 * What is known, with a refusal that another attempt has met.
 */

export function withOverride(
  observation: DefinedObservation,
  { step = '', message }: Refusal,
  definition: AnyDefinition,
): DefinedObservation {
  if (observation === 'gone') return observation;
  const overridden = causeOfOverride(message);
  if (Object.hasOwn(stepsOf(definition), step) && !isToldIn(observation.view, overridden))
    return { ...observation, live: { ...observation.live, refused: { step, cause: overridden } } };
  if (observation.live?.declared === undefined) return observation;
  const { declared, ...live } = observation.live;
  if ('outcome' in declared) return observation;
  return { ...observation, live: { ...live, declared: { ...declared, overridden } } };
}

/** Another process may have tried it. */
export function withRefused(
  observation: DefinedObservation,
  refusal: Refusal,
  definition: AnyDefinition,
): DefinedObservation {
  if (observation === 'gone') return observation;
  const { namespace: home, name } = observation.view;
  const { declared, ...live } = observation.live ?? {};
  const wanted = declared !== undefined && 'wanted' in declared ? declared.wanted : [];
  const ofChildren = childSummaries(definition);
  // The words of a refusal do not say where it was.
  const placeOf = (step: string) =>
    wanted.find((each) => [stepName('create', each), stepName('apply', each)].includes(step))?.namespace ??
    home;
  const resource = `${definition.for.kind.toLowerCase()}/${name} -n ${home}`;
  const causeOf = (step: string, error: ApiError) =>
    definition.refusal?.(error) ?? causeOfError(error, { resource, namespace: placeOf(step) });
  const all = [...(refusal.others ?? []), refusal].flatMap(({ step, because, message }) =>
    step !== undefined && (because === 'refused' || because === 'access-denied')
      ? [{ step, cause: causeOf(step, new ApiError(message, { classification: because })) }]
      : [],
  );
  const refused = all.filter(({ step }) => Object.hasOwn(ofChildren, step));
  const ofAuthor = all.filter(({ step }) => Object.hasOwn(stepsOf(definition), step));
  const last = ofAuthor.findLast(({ cause }) => !isToldIn(observation.view, cause));
  if (declared === undefined || 'outcome' in declared)
    return last === undefined
      ? observation
      : { ...observation, live: { ...observation.live, refused: last } };
  return {
    ...observation,
    live: { ...live, declared: { ...declared, refused }, ...(last && { refused: last }) },
  };
}

/** In whatever words: each attempt may be refused in others, and would be preceded by a write. */
function isToldIn(view: DefinedView, { reason }: Cause): boolean {
  const isSaid = view.conditions.some((each) => each.type === 'Stalled' && each.reason === reason);
  return isSaid && isStalled(view);
}
