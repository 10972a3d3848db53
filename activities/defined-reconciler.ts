import { type Step } from '../src/runs/decision.ts';
import { definedController } from '../src/engine/defined-controller.ts';
import {
  isAuthorsStep,
  isChildStep,
  isLibraryStep,
  type DefinedObservation,
} from '../src/engine/observation.ts';
import { isExternal, stepsOf, type AnyDefinition } from '../src/engine/definition.ts';
import type { ControlOptions } from '../src/engine/holds/holds.ts';
import { remaining } from '../src/engine/lookups.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { dryRunning } from './dry-run.ts';
import { type AttemptContext, type Performed, type Reconciler } from './reconciler.ts';
import { withOverride, withRefused } from './refusals.ts';
import { confirm } from './confirming.ts';
import { writeChildren } from './objects/writing-children.ts';
import { runStep } from './running-step.ts';
import { served, type Served } from './served.ts';
import { writeResource } from './writing-resource.ts';

/** How the resources of an author's controller are read, and how its steps are done. */
export function definedReconciler(
  its: AnyDefinition,
  server: KubernetesClient,
  controls: ControlOptions = {},
): Reconciler<DefinedObservation> {
  const by = served(its, server);
  const { definition, observing, client } = by;
  return {
    controller: definedController(its, controls),
    isExternal: (step) => Object.hasOwn(stepsOf(definition), step) && isExternal(definition, step),
    observe: (...asked) => observing.observe(...asked),
    look: (...asked) => observing.look(...asked),
    ...definition.limits,
    ...(by.isReadLess && {
      confirm: (...asked: ConfirmArguments) => confirm(by, ...asked),
      isShown: (observation: DefinedObservation) =>
        observation !== 'gone' && observation.isOwnedShown === true,
      hasShown: (shown: DefinedObservation, written: DefinedObservation) =>
        shown !== 'gone' && written !== 'gone' && shown.view.resourceVersion === written.view.resourceVersion,
    }),
    perform: async (step, observation, context) =>
      withLookups(by, await perform(by, { step, observation, context }), { step, observation, context }),
    withRefusal(observation, refusal, name) {
      if (refusal.because === 'overridden') return withOverride(observation, refusal, definition);
      // Who only looks has waited since: what was refused is tried again.
      return name === 'observe' ? observation : withRefused(observation, refusal, definition);
    },
    rehearse: (step, observation, context) =>
      isChildStep(step)
        ? writeChildren(definition, dryRunning(client), step, { observation, context, isRehearsing: true })
        : Promise.resolve({ observation: undefined, did: [] }),
  };
}

function perform(by: Served, { step, observation, context }: Doing): Promise<Performed<DefinedObservation>> {
  if (isLibraryStep(step)) return writeResource(by, step, { observation, ref: context.ref });
  if (isChildStep(step)) return writeChildren(by.definition, by.client, step, { observation, context });
  if (isAuthorsStep(step)) return runStep(by, step, { observation, context });
  throw new Error(`nobody has decided on step ${step.do}; this is a bug`);
}

/** Lookups are kept until a step forgets them, whatever has to be observed anew. */
async function withLookups(
  { definition, observing }: Served,
  performed: Performed<DefinedObservation>,
  { step, observation: before, context }: Doing,
): Promise<Performed<DefinedObservation>> {
  const read = before === 'gone' ? undefined : before.lookups;
  if (read === undefined) return performed;
  const { forgets } = isAuthorsStep(step) ? (stepsOf(definition)[step.do] ?? {}) : {};
  const lookups = remaining(read, forgets);
  // Nothing is kept where nobody can tell what there is: that is found out, and said, by whoever observes next.
  const after =
    performed.observation ??
    (context.superseded.aborted
      ? undefined
      : await observing.observe(context, performed.view).catch(() => undefined));
  if (after === undefined || after === 'gone') return performed;
  return { ...performed, observation: { ...after, lookups } };
}

type ConfirmArguments = Parameters<NonNullable<Reconciler<DefinedObservation>['confirm']>>;

/** A step, and what it was decided from. */
interface Doing {
  readonly step: Step;
  readonly observation: DefinedObservation;
  readonly context: AttemptContext<DefinedObservation>;
}
