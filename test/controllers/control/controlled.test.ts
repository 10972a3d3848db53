import { describe, expect, it } from '@jest/globals';
import type { Circumstances, Control } from '../../../src/contract/control.ts';
import { converged, stalled, waitFor, type Decision, type Step } from '../../../src/contract/decision.ts';
import type { KubernetesObject } from '../../../src/contract/object.ts';
import { controlOf, controlWithStatusOf } from '../../../src/controllers/control/annotations.ts';
import { controlled } from '../../../src/controllers/control/controlled.ts';
import type { ControlPatch } from '../../../src/controllers/control/report.ts';

const NOW = Date.parse('2026-11-22T10:00:00Z');
const LIVE: Circumstances = { isLive: true, isNamespacePaused: false };
const WATCHED: Circumstances = { ...LIVE, isLive: false };

const CREATE: Step = { do: 'createPods', because: 'there is 1 Pod, and spec.replicas is 3' };
const REPORT: Step = { do: 'updateStatus', because: 'the spec changed' };
const DONE = converged('up to date');

const deletePods = (count: number, of = 'generation 2'): Step => ({
  do: 'deletePods',
  because: `there are ${count + 10} Pods, and spec.replicas is 10`,
  deletes: { what: 'Pod', count, names: () => ['web-pod-a', 'web-pod-b'].slice(0, count), of },
});

interface Metadata {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

const OUR = 'durable-operator.dev/';

function object(asked: Readonly<Record<string, string>>, status: object = {}, metadata: Metadata = {}) {
  const annotations = Object.fromEntries(Object.entries(asked).map(([name, value]) => [OUR + name, value]));
  const common = { name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion: '7', generation: 2 };
  return { metadata: { ...common, ...metadata, annotations }, status } satisfies KubernetesObject;
}

/** What the controller decides itself, and under whose control. */
interface Given {
  readonly decision: Decision;
  readonly control: Control | undefined;
}

const aController = (requireApprovalOver?: number) =>
  controlled(
    {
      decide: ({ decision }: Given): Decision => decision,
      control: ({ control }: Given) => control,
    },
    { requireApprovalOver },
  );

interface How {
  readonly circumstances?: Circumstances;
  readonly over?: number;
}

function decided(decision: Decision, control: Control | undefined, { circumstances = LIVE, over }: How = {}) {
  return aController(over).decide({ decision, control }, NOW, circumstances);
}

/** Of a resource without a status of ours. */
const plain = (asked: Readonly<Record<string, string>>, metadata?: Metadata) =>
  controlOf(object(asked, {}, metadata));
const reporting = (asked: Readonly<Record<string, string>>, status: object = {}, metadata?: Metadata) =>
  controlWithStatusOf(object(asked, status, metadata));

function planIn(decision: Decision): string {
  const plan = 'plan' in decision ? decision.plan : undefined;
  if (plan === undefined) throw new Error(`no plan in ${JSON.stringify(decision)}`);
  return plan;
}

function conditionsIn(decision: Decision): readonly { readonly message: string }[] {
  return (decision as { readonly control?: ControlPatch }).control?.conditions ?? [];
}

/** The id of the plan that such a step is. */
const planFor = (step: Step) => planIn(decided(step, plain({ approval: 'required' })));

describe('a resource that asks for nothing', () => {
  it.each([CREATE, REPORT, DONE, deletePods(500)])(
    'is decided on by its controller alone: %j',
    (decision) => {
      expect(decided(decision, plain({}))).toBe(decision);
      expect(decided(decision, reporting({}))).toBe(decision);
    },
  );
});

describe('a paused resource', () => {
  it('is held before a step that writes, and says what is held', () => {
    expect(decided(CREATE, plain({ paused: 'true' }))).toMatchObject({
      do: 'held',
      by: 'pause',
      because: 'paused by the annotation durable-operator.dev/paused',
      would: 'createPods: there is 1 Pod, and spec.replicas is 3',
      event: { type: 'Normal', reason: 'Paused' },
    });
  });

  it('may write its status, and be in its desired state', () => {
    expect(decided(REPORT, plain({ paused: 'true' }))).toBe(REPORT);
    expect(decided(DONE, plain({ paused: 'true' }))).toBe(DONE);
  });

  it('says so in its status first, once', () => {
    const step = decided(CREATE, reporting({ paused: 'true' }));
    expect(step).toMatchObject({
      do: 'updateStatus',
      resourceVersion: '7',
      control: {
        conditions: [
          {
            type: 'Paused',
            status: 'True',
            reason: 'Paused',
            observedGeneration: 2,
            lastTransitionTime: '2026-11-22T10:00:00Z',
            message:
              'paused by the annotation durable-operator.dev/paused; held is createPods: there is 1 Pod, and spec.replicas is 3',
          },
        ],
      },
    });
    const status = 'control' in step ? step.control : {};
    expect(decided(CREATE, reporting({ paused: 'true' }, status))).toMatchObject({ do: 'held' });
  });

  it('says that nothing is held any more, behind the conditions of its controller', () => {
    const at = { observedGeneration: 2, lastTransitionTime: '2026-11-22T09:00:00Z', message: '' };
    const conditions = [
      { type: 'Paused', status: 'True', reason: 'Paused', ...at },
      { type: 'Ready', status: 'True', reason: 'PodsReady', ...at },
    ];
    expect(decided(CREATE, reporting({}, { conditions }))).toMatchObject({
      do: 'updateStatus',
      control: {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Paused', status: 'False', reason: 'NotPaused' },
        ],
      },
    });
  });

  it('is not held once it is being deleted: a pause holds no finalizer', () => {
    const deleted = { deletionTimestamp: '2026-11-22T09:00:00Z' };
    const remove: Step = { do: 'removeFinalizer', because: 'every node is clean' };
    expect(decided(remove, plain({ paused: 'true' }, deleted))).toBe(remove);
    const both = { isLive: true, isNamespacePaused: true };
    expect(decided(remove, plain({ paused: 'true' }, deleted), { circumstances: both })).toBe(remove);
  });

  it.each([undefined, plain({ approval: 'required' })])('is any in a paused Namespace: %j', (control) => {
    const circumstances = { ...LIVE, isNamespacePaused: true };
    expect(decided(CREATE, control, { circumstances })).toMatchObject({
      do: 'held',
      by: 'pause',
      because: 'paused by the annotation durable-operator.dev/paused of its Namespace',
    });
    expect(decided(REPORT, control, { circumstances })).toBe(REPORT);
  });
});

describe('a deletion that has to be approved', () => {
  it('is held, with what it would delete and the id of the plan', () => {
    const held = decided(deletePods(290), plain({ approval: 'required' }));
    expect(held).toMatchObject({
      do: 'held',
      by: 'approval',
      because: 'awaiting approval to delete 290 Pods (web-pod-a, web-pod-b and 288 more)',
      would: 'deletePods: there are 300 Pods, and spec.replicas is 10',
    });
    expect(planIn(held)).toMatch(/^290-[0-9a-f]{8}$/);
  });

  it('is one that deletes more than the operator may by itself', () => {
    expect(decided(deletePods(20), reporting({}), { over: 20 })).toMatchObject({ do: 'deletePods' });
    expect(decided(deletePods(21), plain({ paused: 'false' }), { over: 20 })).toMatchObject({ do: 'held' });
    expect(decided(CREATE, reporting({}), { over: 1 })).toBe(CREATE);
  });

  it('goes on once that very plan is approved, and for the rest of it', () => {
    const approved = planFor(deletePods(290));
    const control = plain({ approval: 'required', approved });
    expect(decided(deletePods(290), control)).toMatchObject({ do: 'deletePods' });
    expect(decided(deletePods(90), control)).toMatchObject({ do: 'deletePods' });
  });

  it.each([
    ['more', deletePods(291)],
    ['something else', deletePods(290, 'generation 3')],
  ])('is asked for anew where it deletes %s', (_, step) => {
    const approved = planFor(deletePods(290));
    const decision = decided(step, plain({ approval: 'required', approved }));
    expect(decision).toMatchObject({ do: 'held', by: 'approval' });
    expect(planIn(decision)).not.toBe(approved);
  });

  it('of another resource of the same name is asked for anew', () => {
    const approved = planFor(deletePods(290));
    const { metadata } = object({ approval: 'required', approved });
    const other = controlOf({ metadata: { ...metadata, uid: 'uid-2' } });
    expect(decided(deletePods(290), other)).toMatchObject({ do: 'held' });
  });

  it('stays held where it is rejected, and says by whom and why', () => {
    const rejected = planFor(deletePods(290));
    const answer = { rejected, 'answered-by': 'alice', 'answered-because': 'not today' };
    expect(decided(deletePods(290), plain({ approval: 'required', ...answer }))).toMatchObject({
      do: 'held',
      because: 'rejected by alice: not today',
      plan: rejected,
    });
  });

  it('stays held where the same plan is approved and rejected', () => {
    const plan = planFor(deletePods(290));
    const control = plain({ approval: 'required', approved: plan, rejected: plan });
    expect(decided(deletePods(290), control)).toMatchObject({ do: 'held' });
  });

  it('is no reason to hold what deletes nothing', () => {
    expect(decided(CREATE, plain({ approval: 'required' }))).toBe(CREATE);
  });

  it('is reported, and not again while other Pods would go in the same plan', () => {
    const control = reporting({ approval: 'required' });
    const step = decided(deletePods(290), control);
    expect(step).toMatchObject({
      do: 'updateStatus',
      control: { conditions: [{ type: 'AwaitingApproval', status: 'True', reason: 'ApprovalRequired' }] },
    });
    const reported = reporting({ approval: 'required' }, 'control' in step ? step.control : {});
    const others: Step = {
      ...deletePods(290),
      deletes: { what: 'Pod', count: 290, names: () => ['web-pod-z'], of: 'generation 2' },
    };
    expect(decided(others, reported)).toMatchObject({ do: 'held' });
    expect(decided(deletePods(291), reported)).toMatchObject({ do: 'updateStatus' });
  });

  it('is used up once its work is done, as far as is read, and not by a wait or a step in between', () => {
    const approved = planFor(deletePods(290));
    const control = reporting({ approval: 'required', approved, 'answered-by': 'alice' });
    expect(decided(DONE, control, { circumstances: WATCHED })).toMatchObject({ do: 'observe' });
    expect(decided(DONE, control)).toMatchObject({
      do: 'updateStatus',
      because: 'what was approved by alice is done',
      control: { lastHandledApproval: approved },
    });
    expect(decided(stalled('failed'), control)).toMatchObject({ control: { lastHandledApproval: approved } });
    expect(decided(waitFor('a Job', 1000), control)).toMatchObject({ do: 'wait' });
    expect(decided(REPORT, control)).toBe(REPORT);
  });

  it('is asked for anew where it is used up', () => {
    const approved = planFor(deletePods(290));
    const control = reporting({ approval: 'required', approved }, { lastHandledApproval: approved });
    expect(decided(deletePods(290), control)).toMatchObject({
      control: { conditions: [{ type: 'AwaitingApproval', status: 'True' }] },
    });
  });

  it('can be approved again where what was used up comes to the same once more', () => {
    const approved = planFor(deletePods(1));
    const again = reporting({ approval: 'required', approved }, { lastHandledApproval: approved });
    const [{ message } = { message: '' }] = conditionsIn(decided(deletePods(1), again));
    const plan = /plan (\S+)$/.exec(message)?.[1] ?? '';
    expect(plan).toMatch(/^1-/);
    expect(plan).not.toBe(approved);
    const answered = reporting({ approval: 'required', approved: plan }, { lastHandledApproval: approved });
    expect(decided(deletePods(1), answered)).toMatchObject({ do: 'deletePods' });
  });

  it('of a resource that is being deleted is held, too', () => {
    const deleted = { deletionTimestamp: '2026-11-22T09:00:00Z' };
    expect(decided(deletePods(3), plain({ approval: 'required' }, deleted))).toMatchObject({ do: 'held' });
  });
});

describe('a requested reconcile', () => {
  const asked = { 'reconcile-requested-at': '2026-11-22T09:59:00.123Z' };

  it('reads what is there, and repeats the request in the status', () => {
    expect(decided(DONE, reporting(asked), { circumstances: WATCHED })).toMatchObject({ do: 'observe' });
    expect(decided(DONE, reporting(asked))).toMatchObject({
      do: 'updateStatus',
      control: { lastHandledReconcileAt: '2026-11-22T09:59:00.123Z' },
    });
  });

  it('is met once', () => {
    const met = { lastHandledReconcileAt: '2026-11-22T09:59:00.123Z' };
    expect(decided(DONE, reporting(asked, met))).toBe(DONE);
  });

  it('does not wait for a pause to end, nor end it', () => {
    const control = reporting({ ...asked, paused: 'true' });
    expect(decided(CREATE, control)).toMatchObject({
      do: 'updateStatus',
      control: { lastHandledReconcileAt: '2026-11-22T09:59:00.123Z' },
    });
  });

  it('of any length fits into the status', () => {
    const long = reporting({ 'reconcile-requested-at': 'x'.repeat(10_000) });
    expect(decided(DONE, long)).toMatchObject({ control: { lastHandledReconcileAt: 'x'.repeat(253) } });
    const met = { lastHandledReconcileAt: 'x'.repeat(253) };
    expect(decided(DONE, reporting({ 'reconcile-requested-at': 'x'.repeat(10_000) }, met))).toBe(DONE);
  });
});

describe('an annotation that cannot be followed', () => {
  it.each([
    [
      { paused: 'True' },
      'annotation durable-operator.dev/paused is "True"; write "true" or "false", or remove it',
    ],
    [
      { approval: 'yes' },
      'annotation durable-operator.dev/approval is "yes"; write "required", or remove it',
    ],
    [
      { 'poll-interval': '10' },
      'annotation durable-operator.dev/poll-interval is "10"; write a duration such as 10m, or remove it',
    ],
  ])('is an Event, and holds nothing: %j', (asked, note) => {
    expect(decided(DONE, plain(asked))).toMatchObject({
      do: 'converged',
      event: { type: 'Warning', reason: 'InvalidAnnotation', note },
    });
    expect(decided(CREATE, plain(asked))).toBe(CREATE);
  });

  it('does not take the place of another Event', () => {
    const event = { type: 'Warning', reason: 'NameTooLong', action: 'AddLabel', note: 'too long' } as const;
    expect(decided(stalled('too long', event), plain({ paused: 'True' }))).toMatchObject({ event });
  });

  it.each(['0m', '0.0s', '-1m', '1w', '', '10 m'])('is an interval of %j', (text) => {
    expect(plain({ 'poll-interval': text })).toMatchObject({
      problems: [expect.stringContaining('poll-interval')],
    });
  });
});
