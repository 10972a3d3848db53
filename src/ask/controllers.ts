import { defaultOptions, type Options } from '../config/config.ts';
import type { PublishedSettings } from '../config/published.ts';
import type { Controller } from '../contract/controller.ts';
import type { ResourceRef } from '../contract/resource.ts';
import { controllersFor } from '../controllers/index.ts';

/** The controllers as the running operator has them; without its settings, with the defaults. */
export function controllersOf(settings?: PublishedSettings): readonly Controller[] {
  return controllersFor(optionsOf(settings));
}

export function optionsOf(settings: PublishedSettings | undefined): Options {
  return settings?.options ?? defaultOptions();
}

/** What only the operator takes away, whichever of its controllers run. */
export const FINALIZERS: readonly string[] = controllersOf().flatMap(({ finalizer }) => finalizer ?? []);

/** The status of its kind says how a resource does; of another kind, the controller has to be asked. */
export function hasStatus({ primary }: Pick<Controller, 'primary'>): boolean {
  return primary.metadataOnly !== true;
}

/** What the options of the operator leave out. @param namespace of the resource; of a Namespace, its own name */
export function leftOutBy(
  { controllers, namespaces }: Pick<Options['reconciliation'], 'controllers' | 'namespaces'>,
  { controller, namespace }: Pick<ResourceRef, 'controller' | 'namespace'>,
): 'controller' | 'namespace' | undefined {
  const running: readonly string[] = controllers;
  if (!running.includes(controller)) return 'controller';
  return namespaces.length === 0 || namespaces.includes(namespace) ? undefined : 'namespace';
}
