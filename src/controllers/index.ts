import type { Controller } from '../contract/controller.ts';
import { build } from './build/controller.ts';
import type { BuildOptions } from './build/options.ts';
import { namespaceRoleBinding } from './namespace-role-binding/controller.ts';
import type { RoleBindingOptions } from './namespace-role-binding/decide.ts';
import { podLabel } from './pod-label/controller.ts';
import { podSet } from './pod-set/controller.ts';

/** The options of all controllers together. */
export interface ControllerOptions {
  readonly roleBinding: RoleBindingOptions;
  readonly build: BuildOptions;
}

export const CONTROLLER_NAMES = ['pod-label', 'namespace-role-binding', 'pod-set', 'build'] as const;
export type ControllerName = (typeof CONTROLLER_NAMES)[number];

/** The one list of controllers. */
export function controllersFor(options: ControllerOptions): readonly Controller[] {
  return [podLabel, namespaceRoleBinding(options.roleBinding), podSet, build(options.build)];
}
