import { defaultOptions, type Options } from '../config/config.ts';
import type { PublishedSettings } from '../config/published.ts';
import type { Controller } from '../contract/controller.ts';
import type { Subject } from '../contract/words.ts';
import { controllersFor } from '../controllers/index.ts';

/** The controllers with the settings of the running operator, or with the defaults. */
export function controllersOf(settings?: PublishedSettings): readonly Controller[] {
  return controllersFor(optionsOf(settings));
}

export function optionsOf(settings: PublishedSettings | undefined): Options {
  return settings?.options ?? defaultOptions();
}

const CHILDREN_MAX = 5;

/** A few of its children that are not well, the worst first. */
export function childrenNotWell({ words }: Controller, subject: Subject): readonly string[] {
  return (words?.children?.(subject) ?? []).slice(0, CHILDREN_MAX);
}

/** Only the operator removes them. */
export const FINALIZERS: readonly string[] = controllersOf().flatMap(({ finalizer }) => finalizer ?? []);

/** Whether the status of its kind reports the state. Otherwise the controller has to decide. */
export function hasStatus({ primary }: Pick<Controller, 'primary'>): boolean {
  return primary.metadataOnly !== true;
}
