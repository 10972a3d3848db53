import { definedReconciler } from '../../activities/defined.ts';
import { definedController } from '../controllers/defined/controller.ts';
import type { AnyDefinition } from '../controllers/defined/definition.ts';
import type { ProgramController } from './program.ts';

/** A controller that `defineController` has made, as the program runs it. */
export function definedIn(definition: AnyDefinition): ProgramController {
  return {
    name: definition.name,
    controller: () => definedController(definition),
    reconciler: (client) => definedReconciler(definition, client),
  };
}
