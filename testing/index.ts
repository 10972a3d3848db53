/*
 * What `durable-operator/testing` exports. See docs/test-your-controller.md.
 */

export { decisions } from './decisions.ts';
export type { DecisionInputs, Decided, Decisions, GivenLookups, GivenResource } from './decisions.ts';
export { explore } from './explore.ts';
export type { ExploreOptions, Exploration } from './explore.ts';
export type { FetchAnswer, FetchRequest } from './fetched.ts';
export { fakeKubernetes } from './fake-kubernetes.ts';
export type { FakeAnswer, FakeKubernetes, StepRequest, Script } from './fake-kubernetes.ts';
export { downloadHistory, replay } from './histories.ts';
export type { HistorySource } from './histories.ts';
export type { CallsOf, StateOf } from './outside.ts';
export { eventually } from './eventually.ts';
export { isReady, stack } from './stack.ts';
export type {
  Costs,
  ObjectReference,
  OperatorOptions,
  StoredObject,
  TestOperator,
  TestStack,
  WrittenObject,
} from './stack/test-stack.ts';
export type {
  AnyObject,
  Before,
  Draft,
  DraftMeta,
  End,
  Explorable,
  JudgedWrite,
  Scenario,
  Situation,
} from './scenario.ts';
