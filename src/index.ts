import { definedIn } from './program/defined.ts';
import { operatorProgram, type Operator } from './program/operator.ts';
import type { AnyDefinition } from './controllers/defined/definition.ts';

/*
 * What the package exports. See docs/build-your-own.md.
 */

export * from './api/index.ts';
export type { AnyDefinition } from './controllers/defined/definition.ts';
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
export function operator(definition: OperatorDefinition): Operator {
  const { name, controllers } = definition;
  return operatorProgram({ name, controllers: controllers.map((each) => definedIn(each, name)) });
}
