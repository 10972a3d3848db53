/*
 * A program: the controllers of an operator under one name. In: what an author passes to `operator`, and the values of the options. Out:
 * each definition as it runs, and what decides by it; reconcilers.ts makes of it what reads and writes. Nothing here talks to a server.
 */

import { typeNameOf } from '../api/resource-type.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { optionsOfController } from '../config/controller-options.ts';
import { bound, OutsideNotAsked, withValues } from '../engine/bound.ts';
import type { Controller } from '../engine/controller.ts';
import { definedController } from '../engine/defined-controller.ts';
import type { AnyDefinition } from '../engine/definition.ts';
import type { ControlOptions } from '../engine/holds/holds.ts';
import { besideOthers } from './beside.ts';

/** An operator of your own. */
export interface Program {
  /**
   * Its name among the operators of a cluster: `bucket-operator`. Lower-case words joined by `-`, at most 52 characters. Its task queue, its Lease
   * and its chart are named after it.
   */
  readonly name: string;
  /**
   * What {@link defineController} has made: at least one, each with a name of its own. Several may be for one type, each with a finalizer
   * of its own. Of a {@link defineKind kind}, exactly one of them has `status` or `children`: it writes the conditions. The others keep
   * their state in an annotation, as for a type that is not theirs. Two for one type may not declare objects of one type.
   */
  readonly controllers: readonly AnyDefinition[];
}

/** The options of an operator that its controllers follow, beside those of their own. */
export interface ProgramOptions {
  readonly reconciliation: ControlOptions & { readonly namespaces?: readonly string[] | undefined };
}

/** What decides, in the order of the program. */
export function controllersOf(program: Program, options: ProgramOptions): readonly Controller[] {
  return program.controllers.map((each) => {
    const otherFinalizers = finalizersBeside(each, program);
    const controller = definedController(configured(each, program, options), options.reconciliation);
    return otherFinalizers.length === 0 ? controller : { ...controller, otherFinalizers };
  });
}

function finalizersBeside(one: AnyDefinition, { controllers }: Program): readonly string[] {
  return controllers
    .filter((each) => each.name !== one.name && typeNameOf(each.for) === typeNameOf(one.for))
    .flatMap(({ finalizer }) => finalizer ?? []);
}

interface ChoosingOptions extends ProgramOptions {
  readonly reconciliation: ProgramOptions['reconciliation'] & { readonly controllers: readonly string[] };
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

/** The same program for a plan, which writes to no outside system, and reads one only where its controller allows that. */
export function rehearsing(program: Program): Program {
  const controllers = program.controllers.map((each) => {
    const isUnobserved = each.observe !== undefined && each.observeInPlan !== true;
    return { ...each, isUnobserved, isRehearsing: true } as const;
  });
  return { ...program, controllers };
}

/** A definition of the program with the values of its options, as it is beside the others. */
export function configured(one: AnyDefinition, program: Program, options: ProgramOptions): AnyDefinition {
  const { namespaces = [] } = options.reconciliation;
  const values = optionsOfController(options, one.name);
  const definition = withValues(besideOthers(one, program), values, { namespaces });
  const clients = () => clientsOf(one, () => definition.clients?.(values) as unknown);
  return bound(
    { ...definition, isNarrow: namespaces.length > 0 },
    { options: values, clients: (user) => (user === 'run' && one.isRehearsing ? doNotAsk() : clients()) },
  );
}

/** Those of outside systems are made once per process. */
function clientsOf(definition: AnyDefinition, make: () => unknown): unknown {
  const made = CLIENTS.get(definition) ?? { clients: make() };
  CLIENTS.set(definition, made);
  return made.clients;
}

const CLIENTS = new WeakMap<AnyDefinition, { readonly clients: unknown }>();

function doNotAsk(): never {
  throw new OutsideNotAsked('a plan writes to no outside system');
}
