import { definedReconciler } from '../../activities/defined.ts';
import type { AnyKind } from '../api/controller.ts';
import { definedController } from '../controllers/defined/controller.ts';
import type { AnyDefinition } from '../controllers/defined/definition.ts';
import type { ProgramController } from './program.ts';

/** A controller that `defineController` has made, as the program runs it. */
export function definedIn(definition: AnyDefinition): ProgramController {
  const { manifest } = definition.for as Partial<AnyKind>;
  return {
    name: definition.name,
    ...(manifest && { definition: manifest }),
    controller: () => definedController(definition),
    reconciler: (client) => definedReconciler(definition, client),
  };
}
