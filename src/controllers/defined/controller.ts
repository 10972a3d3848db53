import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import { displayName } from '../../contract/resource.ts';
import { startOf } from '../../contract/text.ts';
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

/** As much of a spec as a line has room for. */
const SHOWN_MAX = 100;

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
      wanted: ({ object }) => startOf(JSON.stringify(object['spec'] ?? {}), SHOWN_MAX),
      there: ({ observation }) => (observation === 'gone' ? 'nothing' : readyIn(observation.view)),
    },
    steps: { ...Object.fromEntries(steps.map(([step, { summary }]) => [step, summary])), ...LIBRARY_STEPS },
    primary: { type, view: (object) => polled(definedView(object), definition) },
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

/** An annotation of the resource counts more. */
function polled(view: DefinedView, { poll }: AnyDefinition): DefinedView {
  return poll === undefined ? view : { ...view, control: { pollInterval: poll.every, ...view.control } };
}

function readyIn({ conditions }: DefinedView): string {
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined ? 'no condition yet' : `${ready.reason}: ${ready.message}`;
}
