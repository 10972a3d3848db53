import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import { displayName } from '../../contract/resource.ts';
import {
  decideDefined,
  isSettled,
  LIBRARY_STEPS,
  type AnyDefinition,
  type DefinedObservation,
  type DefinedStep,
} from './decide.ts';
import { definedView, type DefinedView } from './view.ts';
import type { AnyKind } from '../../api/controller.ts';

export type DefinedController = Controller<DefinedView, never, DefinedObservation, DefinedStep>;

/** The pure half of a controller that an author has defined. */
export function definedController(definition: AnyDefinition): DefinedController {
  const { name, finalizer, permissions = [] } = definition;
  const type: AnyKind = definition.for as AnyKind;
  const steps = Object.entries(definition.steps as Record<string, { readonly summary: string }>);
  return {
    name,
    workflowType: name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    summary: (ref) => `${type.kind} ${displayName(ref)}`,
    words: {
      wanted: ({ object }) => `generation ${object.metadata.generation ?? 0} of its spec`,
      there: ({ observation }) => (observation === 'gone' ? 'nothing' : readyIn(observation.view)),
    },
    steps: { ...Object.fromEntries(steps.map(([step, { summary }]) => [step, summary])), ...LIBRARY_STEPS },
    primary: { type, view: definedView },
    children: [],
    observation: (view) => ({ view }),
    decide: (...asked) => decideDefined(definition, ...asked),
    control: (observation) => (observation === 'gone' ? undefined : observation.view.control),
    mayStillArrive: (observation) =>
      observation !== 'gone' &&
      !isSettled(observation.view) &&
      (finalizer === undefined || observation.view.finalizers.includes(finalizer)),
    ...(finalizer !== undefined && { finalizer }),
    permissions: [
      allow(type, ['get', 'patch']),
      allow(type, ['patch'], { subresource: 'status' }),
      RECORD_EVENTS,
      ...permissions,
    ],
  };
}

function readyIn({ conditions }: DefinedView): string {
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined ? 'no condition yet' : `${ready.reason}: ${ready.message}`;
}
