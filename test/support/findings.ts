import { explain } from '../../src/ask/why/explain.ts';
import { explanationText } from '../../src/ask/why/explanation.ts';
import type { ResourceFindings, Reached } from '../../src/ask/why/findings.ts';
import type { TimelineNextStep, RunTimeline, StepEntry } from '../../src/temporal/timeline.ts';
import type { Run } from '../../src/temporal/run-reader.ts';
import { configuredControllers } from '../../src/ask/controllers.ts';
import { defaultOptions } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { aPodOf, aPodSet, NOW_MS, observationOf } from './pod-sets.ts';

/*
 * What `why` has found of a PodSet, for tests of what it says.
 */

export const ago = (seconds: number) => NOW_MS - seconds * 1000;
const [podSet] = configuredControllers(durableOperator).filter(({ name }) => name === 'pod-set');
if (podSet === undefined) throw new Error('no controller pod-set');
export const web = aPodSet().in('shop').wanting(3).ofGeneration(2);
export const ref = { controller: 'pod-set', namespace: 'shop', name: 'web', uid: web.object.metadata.uid };

export const RUN: Run = {
  ref,
  workflowId: 'pod-set/shop/web/u',
  runId: 'r',
  isOpen: true,
  startedAtMs: ago(252),
  endedAtMs: undefined,
  runState: undefined,
  status: 'RUNNING',
  taskQueue: 'durable-operator',
  pending: [],
  workflowTaskAttempt: undefined,
  version: undefined,
  historyLength: 10,
};
export const CLOSED: Run = { ...RUN, isOpen: false, endedAtMs: ago(60), status: 'COMPLETED' };
export const TIMELINE: RunTimeline = {
  runId: 'r',
  startedAtMs: ago(252),
  reason: 'there are 0 Pods, and spec.replicas is 3',
  entries: [],
  end: undefined,
};
export const REACHED: Reached = {
  is: 'reached',
  program: 'durable-operator',
  taskQueue: 'durable-operator',
  settings: { version: '1.0', options: defaultOptions(durableOperator) },
  unreadable: undefined,
  otherTaskQueues: [],
  otherCluster: undefined,
  workers: { pollers: [''], lastPollMs: NOW_MS, current: '' },
  noWatcher: undefined,
  run: RUN,
  timeline: TIMELINE,
};
export const FINDINGS: ResourceFindings = {
  controller: podSet,
  place: ref,
  cluster: { is: 'there', object: web.object, namespace: undefined },
  temporal: REACHED,
  live: {
    observation: observationOf(web, [aPodOf(web)], {}),
    next: { do: 'createPods', because: 'there is 1 Pod, and spec.replicas is 3' },
  },
  link: 'http://ui/run',
  nowMs: NOW_MS,
};

export const plain = (_: unknown, text: string) => text;

export function textFor(changes: Partial<ResourceFindings>): string {
  return explanationText(explain({ ...FINDINGS, ...changes }), plain);
}

export const reached = (changes: Partial<typeof REACHED>): Reached => ({ ...REACHED, ...changes });

export function done(next: TimelineNextStep): StepEntry {
  return {
    ...{ kind: 'step', atMs: ago(20), step: 'observe', summary: undefined, isLocal: true, attempts: 1 },
    end: { how: 'done', tookMs: 5, did: [], next, refusal: undefined },
  };
}
