import { definedBeside } from './program/defined.ts';
import { operatorProgram, type Operator } from './program/operator.ts';
import { misnamed, refuse } from './api/limits.ts';
import type { AnyDefinition } from './engine/definition.ts';

/*
 * What the package exports. See docs/build-your-own.md.
 */

export { duration as durationMs } from './config/values.ts';
export * from './api/index.ts';
export type { AnyDefinition } from './engine/definition.ts';
export type { Operator } from './program/operator.ts';
export type { ReconcileRequest } from './watcher/pushed.ts';

/** An operator of your own. */
export interface OperatorDefinition {
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

/**
 * An operator with its command line: `run`, `watch`, `work`, `why`, `history`, `get`, `plan`, …; `--help` names all.
 *
 * @throws Error in one sentence that says what is allowed, where its name is out of its limits, or its controllers cannot be told apart
 * @example
 * await operator({ name: 'bucket-operator', controllers: [bucket] }).main();
 */
export function operator(definition: OperatorDefinition): Operator {
  const { name, controllers } = definition;
  const names = controllers.map((each) => each.name);
  const twice = names.find((each, place) => names.indexOf(each) !== place);
  refuse(`operator ${name}`, [
    misnamed('operator', name),
    names.length === 0 && 'it must have at least one controller',
    twice !== undefined && `two controllers are named ${twice}; each must have a name of its own`,
  ]);
  return operatorProgram({ name, controllers: definedBeside(controllers, name) });
}
