import { definedIn } from './program/defined.ts';
import { operator as operatorOf, type Operator } from './program/operator.ts';
import type { AnyDefinition } from './controllers/defined/decide.ts';

/*
 * What the package exports. See docs/build-your-own.md.
 */

export { defineKind } from './api/kind.ts';
export type {
  CustomResourceDefinition,
  Kind,
  KindDefinition,
  PrinterColumn,
  Rule,
  ScalePaths,
  SpecOf,
  StatusOf,
} from './api/kind.ts';
export { defineController } from './api/controller.ts';
export type {
  ControllerDefinition,
  Facts,
  NextOf,
  Observing,
  Outcome,
  ResourceOf,
  Running,
  StepDefinition,
} from './api/controller.ts';
export type { Kube, KubeReads, Selection } from './api/kube.ts';
export { ownedBy } from './api/owner.ts';
export { StepError } from './api/step-error.ts';
export type { StepErrorClass } from './api/step-error.ts';
export type { Advice, Cause, CommandAdvice } from './contract/cause.ts';
export { allow } from './contract/controller.ts';
export type { ConditionalDelete, ConditionalPatch, NewObject, ObjectAt } from './contract/kube.ts';
export { JOBS, NAMESPACES, NODES, PODS } from './controllers/kinds.ts';
export type { PolicyRule, ResourceType } from './contract/controller.ts';
export type { KubernetesObject, ObjectMeta, OwnerReference } from './contract/object.ts';
export type { Operator } from './program/operator.ts';

/** An operator of your own. */
export interface OperatorDefinition {
  /** Its name among the operators of a cluster: `bucket-operator`. Its task queue and its Lease are named after it. */
  readonly name: string;
  /** What {@link defineController} has made. */
  readonly controllers: readonly AnyDefinition[];
}

/**
 * An operator with its command line: `run`, `watch`, `work`, `why`, `history`, `get`, `plan`, …; `--help` names all.
 *
 * @example
 * await operator({ name: 'bucket-operator', controllers: [bucket] }).main();
 */
export function operator({ name, controllers }: OperatorDefinition): Operator {
  return operatorOf({ name, controllers: controllers.map(definedIn) });
}
