import { definedReconciler } from '../../activities/defined.ts';
import { isKind } from '../api/controller.ts';
import type { WatchedType } from '../api/watched.ts';
import { definedController } from '../controllers/defined/controller.ts';
import type { AnyDefinition } from '../controllers/defined/definition.ts';
import type { ControllerOptions, ProgramController } from './program.ts';

/** A controller that `defineController` has made, as the program runs it. */
export function definedIn(definition: AnyDefinition): ProgramController {
  const type = definition.for as WatchedType;
  return {
    ...definedWith(definition.name, () => definition),
    ...(isKind(type) && { definition: type.manifest }),
  };
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
