import { definedReconciler } from '../../activities/defined.ts';
import type { AnyKind } from '../api/controller.ts';
import { definedController } from '../controllers/defined/controller.ts';
import type { AnyDefinition } from '../controllers/defined/definition.ts';
import type { ControllerOptions, ProgramController } from './program.ts';

/** A controller that `defineController` has made, as the program runs it. */
export function definedIn(definition: AnyDefinition): ProgramController {
  const { manifest } = definition.for as AnyKind;
  return { ...definedWith(definition.name, () => definition), definition: manifest };
}

/** The same of one that depends on options of the program. */
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
