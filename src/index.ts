import { requireBeside } from './program/beside.ts';
import { operatorProgram, type Operator } from './program/operator.ts';
import type { Program } from './program/program.ts';

/*
 * What the package exports. See docs/build-your-own.md.
 */

export * from './api/index.ts';
export type { AnyDefinition } from './engine/definition.ts';
export type { Operator } from './program/operator.ts';
export type { Program as OperatorDefinition } from './program/program.ts';
export type { ReconcileRequest } from './watcher/pushed.ts';

/**
 * An operator with its command line: `run`, `watch`, `work`, `why`, `history`, `get`, `plan`, …; `--help` names all.
 *
 * @throws Error in one sentence that says what is allowed, where its name is out of its limits, or its controllers cannot be told apart
 * @example
 * await operator({ name: 'bucket-operator', controllers: [bucket] }).main();
 */
export function operator(definition: Program): Operator {
  requireBeside(definition);
  return operatorProgram(definition);
}
