import type { z } from 'zod';
import { definedReconciler } from '../../activities/defined-reconciler.ts';
import { isKind, keepsNote } from '../api/controller.ts';
import { besideEachOther } from './beside.ts';
import { optionsOfController } from '../config/controller-options.ts';
import { bound, OutsideNotAsked, type ClientsUser } from '../engine/bound.ts';
import { definedController } from '../engine/defined-controller.ts';
import { noteKeyOf } from '../engine/note.ts';
import type { AnyDefinition } from '../engine/definition.ts';
import type { ControllerOptions, ProgramController } from './program.ts';

/** A controller that `defineController` has made, as the program runs it. */
export function definedIn(definition: AnyDefinition, operator: string): ProgramController {
  return programController({ ...definition, operator }, madeOnce(definition));
}

/** Controllers that `defineController` has made, each as it is beside the others. @throws Error where they cannot be */
export function definedBeside(
  definitions: readonly AnyDefinition[],
  operator: string,
): readonly ProgramController[] {
  return besideEachOther(definitions, operator).map((each) => definedIn(each, operator));
}

/** One for a built-in type that depends on options of the program. */
export function definedWith(
  name: string,
  definitionFor: (options: ControllerOptions) => AnyDefinition,
): ProgramController {
  return {
    name,
    controller: (options) => definedController(definitionFor(options), options.reconciliation),
    reconciler: (client, options) =>
      definedReconciler(definitionFor(options), client, options.reconciliation),
  };
}

type ClientsFor = (options: unknown, user: ClientsUser) => unknown;

function programController(definition: AnyDefinition, clients: ClientsFor): ProgramController {
  const { name } = definition;
  if (keepsNote(definition)) noteKeyOf(definition);
  const type = definition.for;
  const boundTo = (all: ControllerOptions) => {
    const options = optionsOfController(all, name);
    const { namespaces = [] } = all.reconciliation;
    const isNarrow = namespaces.length > 0;
    return bound({ ...definition, isNarrow }, { options, clients: (user) => clients(options, user) });
  };
  return {
    ...definedWith(name, boundTo),
    ...(isKind(type) && { definition: type.manifest }),
    options: definition.options as z.ZodObject | undefined,
    isUnobserved: definition.isUnobserved === true,
    rehearsing: () =>
      programController(inPlan(definition), (options, user) =>
        user === 'observe' ? clients(options, user) : doNotAsk(),
      ),
  };
}

/** Its clients are made once per process. */
function madeOnce(definition: AnyDefinition): ClientsFor {
  let made: { readonly clients: unknown } | undefined;
  return (options) => (made ??= { clients: definition.clients?.(options) as unknown }).clients;
}

function inPlan(definition: AnyDefinition): AnyDefinition {
  const isUnobserved = definition.observe !== undefined && definition.observeInPlan !== true;
  return { ...definition, isUnobserved, isRehearsing: true };
}

function doNotAsk(): never {
  throw new OutsideNotAsked('a plan writes to no outside system');
}
