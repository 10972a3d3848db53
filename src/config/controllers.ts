import type { Controller } from '../contract/controller.ts';
import { controllersFor } from '../controllers/index.ts';
import type { Options } from './config.ts';

/** The controllers that `--controllers` leaves, in their order. */
export function chosenControllers(options: Options): readonly Controller[] {
  const chosen: readonly string[] = options.reconciliation.controllers;
  return controllersFor(options).filter(({ name }) => chosen.includes(name));
}
