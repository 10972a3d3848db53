import type { z } from 'zod';
import { definedReconciler } from '../../activities/defined.ts';
import { isKind } from '../api/controller.ts';
import type { WatchedType } from '../api/watched.ts';
import { optionsOfController } from '../config/controller-options.ts';
import { bound, OutsideNotAsked } from '../controllers/defined/bound.ts';
import { definedController } from '../controllers/defined/controller.ts';
import type { AnyDefinition } from '../controllers/defined/definition.ts';
import type { ControllerOptions, ProgramController } from './program.ts';

/** A controller that `defineController` has made, as the program runs it. */
export function definedIn(definition: AnyDefinition, operator: string): ProgramController {
  return programController({ ...definition, operator }, usedOnce(definition));
}

/** One for a built-in type that depends on options of the program. */
export function definedWith(
  name: string,
  definitionFor: (options: ControllerOptions) => AnyDefinition,
): ProgramController {
  return {
    name,
    controller: (options) => definedController(definitionFor(options)),
    reconciler: (client, options) => definedReconciler(definitionFor(options), client),
  };
}

type Use = (options: unknown) => unknown;

function programController(definition: AnyDefinition, use: Use): ProgramController {
  const { name } = definition;
  const type = definition.for as WatchedType;
  const boundTo = (all: ControllerOptions) => {
    const options = optionsOfController(all, name);
    return bound(definition, { options, use: () => use(options) });
  };
  return {
    ...definedWith(name, boundTo),
    ...(isKind(type) && { definition: type.manifest }),
    options: definition.options as z.ZodObject | undefined,
    rehearsing: () => programController(definition, doNotAsk),
  };
}

/** Its clients are made once per process. */
function usedOnce(definition: AnyDefinition): Use {
  let made: { readonly use: unknown } | undefined;
  return (options) => (made ??= { use: definition.use?.(options) as unknown }).use;
}

function doNotAsk(): never {
  throw new OutsideNotAsked('a plan asks no outside system');
}
