/*
 * What `durable-operator/testing` exports. See docs/test-your-controller.md.
 */

export { decisions } from './decisions.ts';
export type { Besides, Decided, Decisions, Given } from './decisions.ts';
export { explore } from './explore.ts';
export type { Bounds, Exploration } from './explore.ts';
export type { FetchAnswer, Fetched } from './fetched.ts';
export { fakeKubernetes } from './fake-kubernetes.ts';
export type { FakeAnswer, FakeKubernetes, RunRequest, Script } from './fake-kubernetes.ts';
export { record, replay } from './histories.ts';
export type { Recorded } from './histories.ts';
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
export type { AnyObject, Draft, DraftMeta, End, Explorable, Scenario, Surroundings } from './scenario.ts';
