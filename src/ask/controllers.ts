import { defaultOptions, type Options } from '../config/config.ts';
import type { PublishedSettings } from '../config/published.ts';
import type { Controller } from '../engine/controller.ts';
import type { MessageInput } from '../api/messages.ts';
import { controllersOf as controllersWith, type Program } from '../program/program.ts';

/** The controllers with the settings of the running operator, or with the defaults. */
export function configuredControllers(program: Program, settings?: PublishedSettings): readonly Controller[] {
  return controllersWith(program, optionsOf(program, settings));
}

export function optionsOf(program: Program, settings: PublishedSettings | undefined): Options {
  return settings?.options ?? defaultOptions(program);
}

const CHILDREN_MAX = 5;

/** A few of its children that are not well, the worst first. */
export function childrenNotWell({ words }: Controller, subject: MessageInput): readonly string[] {
  return (words?.children?.(subject) ?? []).slice(0, CHILDREN_MAX);
}

/** Whether the status of its kind reports the state. Otherwise the controller has to decide. */
export function hasStatus({ primary, leavesStatus }: Pick<Controller, 'primary' | 'leavesStatus'>): boolean {
  return primary.metadataOnly !== true && leavesStatus !== true;
}
