/*
 * A program: the controllers of an operator under one name. In: what an author passes to `operator`. Out: what the commands need of it:
 * run, dev, generate, new and those of `kubectl durable`. Nothing here talks to a server by itself.
 */

import type { z } from 'zod';
import type { Reconciler } from '../../activities/reconciler.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { typeNameOf } from '../api/resource-type.ts';
import { type Controller } from '../engine/controller.ts';
import type { CustomResourceDefinition } from '../api/kind.ts';
import type { ControlOptions } from '../engine/holds/holds.ts';
import type { GitBuildOptions } from '../controllers/git-build/kind.ts';
import type { RoleBindingOptions } from '../controllers/namespace-role-binding/binding.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';

/** An operator: its controllers, and its name among the operators of a cluster and of a Temporal namespace. */
export interface Program {
  readonly name: string;
  readonly controllers: readonly ProgramController[];
}

/** A controller of a program: what it decides, and how its resources are read and written. */
export interface ProgramController {
  readonly name: string;
  /** Of its kind, if that is the program's own. */
  readonly definition?: CustomResourceDefinition;
  /** Those of its own. */
  readonly options?: z.ZodObject | undefined;
  controller(options: ControllerOptions): Controller;
  reconciler(client: KubernetesClient, options: ControllerOptions): Reconciler;
  /** Its `observe` is not called. Default: it is. */
  readonly isUnobserved?: boolean;
  /** The same, for a plan, which writes to no outside system. Default: the controller uses none. */
  rehearsing?(): ProgramController;
}

/** The options of all controllers together. */
export interface ControllerOptions {
  readonly roleBinding: RoleBindingOptions;
  readonly build: GitBuildOptions;
  readonly reconciliation: ControlOptions & { readonly namespaces?: readonly string[] | undefined };
}

/** @throws ConfigurationError where two controllers would disturb each other */
export function controllersOf(program: Program, options: ControllerOptions): readonly Controller[] {
  const controllers = program.controllers.map((each) => each.controller(options));
  requireDistinct(controllers);
  return controllers.map((each) => {
    const otherFinalizers = finalizersBeside(each, controllers);
    const beside = otherFinalizers.length === 0 ? each : { ...each, otherFinalizers };
    return beside;
  });
}

function finalizersBeside(one: Controller, controllers: readonly Controller[]): readonly string[] {
  const type = typeNameOf(one.primary.type);
  return controllers
    .filter((each) => each.name !== one.name && typeNameOf(each.primary.type) === type)
    .flatMap(({ finalizer }) => finalizer ?? []);
}

function requireDistinct(controllers: readonly Controller[]): void {
  const names = controllers.map(({ name }) => name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined)
    throw new ConfigurationError(`two controllers are named ${twice}; give each a name of its own`);
}

interface ChoosingOptions extends ControllerOptions {
  readonly reconciliation: ControllerOptions['reconciliation'] & { readonly controllers: readonly string[] };
}

/**
 * The controllers that `--controllers` leaves, in their order.
 *
 * @throws ConfigurationError where `--namespaces` would hide objects of one: it would create them again and again
 */
export function chosenControllers(program: Program, options: ChoosingOptions): readonly Controller[] {
  const { controllers: chosen, namespaces = [] } = options.reconciliation;
  const controllers = controllersOf(program, options).filter(({ name }) => chosen.includes(name));
  const wide = controllers.find(({ isElsewhere }) => isElsewhere);
  if (namespaces.length > 0 && wide !== undefined)
    throw new ConfigurationError(
      `controller ${wide.name} has objects in other namespaces than its resources, which --namespaces leaves out; watch all namespaces, or leave the controller out by --controllers`,
    );
  return controllers;
}
