import type { Config } from '../config.ts';
import type { Controller } from '../contract/controller.ts';
import { controllersFor, type ControllerOptions } from '../controllers/index.ts';
import { parseLabelSelector } from '../controllers/label-selector.ts';

/** The options of the controllers, with what they hold as text parsed. */
export function controllerOptions({ roleBinding, build }: Config): ControllerOptions {
  const namespaceSelector = parseLabelSelector(roleBinding.namespaceSelector);
  return { roleBinding: { ...roleBinding, namespaceSelector }, build };
}

/** The controllers that `--controllers` leaves, in their order. */
export function chosenControllers(config: Config): readonly Controller[] {
  return controllersFor(controllerOptions(config)).filter(({ name }) => config.controllers.includes(name));
}
