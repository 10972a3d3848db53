import type { Circumstances, Control } from '../../src/engine/holds/control.ts';
import { converged, type NextStep, type Step } from '../../src/runs/decision.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { controlOf, controlWithStatusOf } from '../../src/engine/holds/annotations.ts';
import { controlled } from '../../src/engine/holds/holds.ts';

/*
 * What a controller decides, under the annotations of its resource.
 */

export const NOW = Date.parse('2026-11-22T10:00:00Z');
export const LIVE: Circumstances = { isLive: true, isNamespacePaused: false };
export const WATCHED: Circumstances = { ...LIVE, isLive: false };

export const CREATE: Step = { do: 'createPods', because: 'there is 1 Pod, and spec.replicas is 3' };
export const REPORT: Step = { do: 'updateStatus', because: 'the spec changed' };
export const DONE = converged('up to date');

export const deletePods = (count: number, of = 'generation 2', approval?: 'required' | 'never'): Step => ({
  do: 'deletePods',
  because: `there are ${count + 10} Pods, and spec.replicas is 10`,
  deletes: {
    ...{ what: 'Pod', count, objects: podsNamed('a', 'b'), interchangeable: of },
    ...(approval && { approval }),
  },
});

const podsNamed =
  (...names: readonly string[]) =>
  () =>
    names.map((name) => ({ name: `web-pod-${name}`, uid: `uid-${name}` }));

/** These Pods, and no others. */
export const deleteJust = (...names: readonly string[]): Step => ({
  ...deletePods(names.length),
  deletes: { what: 'Pod', count: names.length, objects: podsNamed(...names) },
});

interface Metadata {
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

const OUR = 'durable-operator.dev/';

function object(asked: Readonly<Record<string, string>>, status: object = {}, metadata: Metadata = {}) {
  const annotations = Object.fromEntries(Object.entries(asked).map(([name, value]) => [OUR + name, value]));
  const common = { name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion: '7', generation: 2 };
  return { metadata: { ...common, ...metadata, annotations }, status } satisfies KubernetesObject;
}

/** What the controller decides itself, under whose control, and which write of its status is due. */
interface Given {
  readonly decision: NextStep;
  readonly control: Control | undefined;
  readonly statusStep: Step | undefined;
}

interface How {
  readonly circumstances?: Circumstances;
  readonly over?: number;
  /** Default: the API server checks the names of people who approve. */
  readonly areApproversChecked?: boolean;
  /** The write of the status that is due. Default: none is. */
  readonly statusStep?: Step;
}

export function decided(
  decision: NextStep,
  control: Control | undefined,
  { circumstances = LIVE, over, areApproversChecked = true, statusStep }: How = {},
) {
  const controller = {
    decide: (given: Given): NextStep => given.decision,
    statusStep: (given: Given) => given.statusStep,
    control: (given: Given) => given.control,
  };
  return controlled(controller, { requireApprovalOver: over, areApproversChecked }).decide(
    { decision, control, statusStep },
    NOW,
    circumstances,
  );
}

/** Of a resource without a status of ours. */
export const plain = (asked: Readonly<Record<string, string>>, metadata?: Metadata) =>
  controlOf(object(asked, {}, metadata));
export const reporting = (
  asked: Readonly<Record<string, string>>,
  status: object = {},
  metadata?: Metadata,
) => controlWithStatusOf(object(asked, status, metadata));

/** The id of the plan that waits for approval. */
export function planOf(decision: NextStep): string {
  const plan = 'plan' in decision ? decision.plan : undefined;
  if (plan === undefined) throw new Error(`no plan in ${JSON.stringify(decision)}`);
  return plan;
}

/** The id of the plan that such a step is. */
export const planFor = (step: Step) => planOf(decided(step, plain({ approval: 'required' })));
