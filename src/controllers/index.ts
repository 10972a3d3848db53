import type { Controller } from '../contract/controller.ts';
import { controlled, type ControlOptions } from './control/controlled.ts';
import { gitBuild, type GitBuildOptions } from './git-build/controller.ts';
import { namespaceRoleBinding } from './namespace-role-binding/controller.ts';
import type { RoleBindingOptions } from './namespace-role-binding/decide.ts';
import { podLabel } from './pod-label/controller.ts';
import { podSet } from './pod-set/controller.ts';

/** The options of all controllers together. */
export interface ControllerOptions {
  readonly roleBinding: RoleBindingOptions;
  readonly build: GitBuildOptions;
  readonly reconciliation: ControlOptions & { readonly namespaces?: readonly string[] | undefined };
}

type Make = (options: ControllerOptions) => Controller;

/** The one list of controllers, by their names. */
const CONTROLLERS = {
  'pod-label': () => podLabel,
  'namespace-role-binding': ({ roleBinding }) => namespaceRoleBinding(roleBinding),
  'pod-set': () => podSet,
  'git-build': ({ build }) => gitBuild(build),
} satisfies Record<string, Make>;

export type ControllerName = keyof typeof CONTROLLERS;

function isName(name: string): name is ControllerName {
  return Object.hasOwn(CONTROLLERS, name);
}

export const CONTROLLER_NAMES: readonly ControllerName[] = Object.keys(CONTROLLERS).filter(isName);

export function controllersFor(options: ControllerOptions): readonly Controller[] {
  return Object.values<Make>(CONTROLLERS).map((make) => controlled(make(options), options.reconciliation));
}
