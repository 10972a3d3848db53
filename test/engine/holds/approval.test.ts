import { describe, expect, it } from '@jest/globals';
import { isolation } from '../../../examples/isolation/src/isolation.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import { stalled, waitFor, type NextStep, type Step } from '../../../src/runs/decision.ts';
import type { ControlPatch } from '../../../src/engine/holds/report.ts';
import {
  CREATE,
  decided,
  deleteJust,
  deletePods,
  DONE,
  LIVE,
  plain,
  planFor,
  planOf,
  REPORT,
  reporting,
  WATCHED,
} from '../../support/controlled-decisions.ts';
import { aCause, planIn } from '../../support/causes.ts';
import { statusIn } from '../../support/status-write.ts';

const BY_ALICE = { 'answered-by': 'alice', 'answered-because': 'the shop is closed' };

function conditionsIn(decision: NextStep): readonly { readonly message: string }[] {
  return (decision as { readonly status?: ControlPatch }).status?.conditions ?? [];
}

describe('a deletion that has to be approved', () => {
  it('is held, with what it would delete and the id of the plan', () => {
    const held = decided(deletePods(290), plain({ approval: 'required' }));
    expect(held).toMatchObject({
      do: 'held',
      by: 'approval',
      message: 'awaiting approval to delete 290 Pods (web-pod-a, web-pod-b and 288 more)',
      would: 'deletePods: there are 300 Pods, and spec.replicas is 10',
    });
    expect(planOf(held)).toMatch(/^290-[0-9a-f]{8}$/);
  });

  it('is one that deletes more than the operator may by itself', () => {
    expect(decided(deletePods(20), reporting({}), { over: 20 })).toMatchObject({ do: 'deletePods' });
    expect(decided(deletePods(21), plain({ paused: 'false' }), { over: 20 })).toMatchObject({ do: 'held' });
    expect(decided(CREATE, reporting({}), { over: 1 })).toBe(CREATE);
  });

  it('is one of a step that always asks first', () => {
    const asking = deletePods(1, 'generation 2', 'required');
    expect(decided(asking, plain({ paused: 'false' }))).toMatchObject({ do: 'held' });
    const approved = planFor(asking);
    expect(decided(asking, plain({ approved }))).toMatchObject({ do: 'deletePods' });
  });

  it('is none of a step that never asks, unless a person does', () => {
    const exempt = deletePods(21, 'generation 2', 'never');
    expect(decided(exempt, reporting({}), { over: 20 })).toMatchObject({ do: 'deletePods' });
    expect(decided(exempt, plain({ approval: 'required' }), { over: 20 })).toMatchObject({ do: 'held' });
  });

  it('is held also of a resource without a status and without annotations', () => {
    const controller = definedController(isolation);
    const metadata = { name: 'shop', uid: 'u', resourceVersion: '7' };
    const view = controller.primary.view({ metadata });
    if (view === undefined) throw new Error('a Namespace is of interest');
    const policy = { uid: 'u2', isOurs: true };
    const seen = controller.observation(view, [{ uid: 'u2', ownerUid: undefined, view: policy }], metadata);
    const decide = (over: number) =>
      definedController(isolation, { requireApprovalOver: over }).decide(seen, 0, LIVE);
    expect(decide(1)).toMatchObject({ do: 'open' });
    expect(decide(0)).toMatchObject({ do: 'held', by: 'approval' });
  });

  it('goes on once that very plan is approved, and for the rest of it', () => {
    const approved = planFor(deletePods(290));
    const control = plain({ approval: 'required', approved });
    expect(decided(deletePods(290), control)).toMatchObject({ do: 'deletePods' });
    expect(decided(deletePods(90), control)).toMatchObject({ do: 'deletePods' });
  });

  it('says who approved of it, and why, in the history of the run and by one Event for all its batches', () => {
    const approved = planFor(deletePods(290));
    const control = reporting({ ...BY_ALICE, approval: 'required', approved });
    const [first, last] = [decided(deletePods(290), control), decided(deletePods(90), control)];
    expect(first).toMatchObject({
      because: 'there are 300 Pods, and spec.replicas is 10; approved by alice: the shop is closed',
      approval: {
        event: {
          type: 'Normal',
          reason: 'Approved',
          note: `approved by alice: the shop is closed; plan ${approved}`,
        },
        action: { did: 'approved', what: 'by alice: the shop is closed', isOnce: true },
      },
    });
    expect('approval' in last && last.approval).toEqual('approval' in first && first.approval);
  });

  it('says in all of these that nobody has checked a name', () => {
    const approved = planFor(deletePods(290));
    const control = reporting({ approval: 'required', approved, 'answered-by': 'the-ceo' });
    const step = decided(deletePods(290), control, { areApproversChecked: false });
    const words = 'approved; who did is not checked; said to be the-ceo';
    expect(step).toMatchObject({
      because: expect.stringContaining(`; ${words}`),
      approval: {
        event: { note: `${words}; plan ${approved}` },
        action: { did: 'approved;', what: 'who did is not checked; said to be the-ceo' },
      },
    });
  });

  it('says nothing of an approval where it needs none', () => {
    const approved = planFor(deletePods(3));
    const step = deletePods(3);
    expect(decided(step, reporting({ ...BY_ALICE, approved }), { over: 20 })).toBe(step);
  });

  it('is for just the objects that were shown', () => {
    const control = plain({ approval: 'required', approved: planFor(deleteJust('a', 'b')) });
    expect(decided(deleteJust('b', 'a'), control)).toMatchObject({ do: 'deletePods' });
    for (const other of [deleteJust('a', 'c'), deleteJust('a'), deleteJust('a', 'b', 'c')])
      expect(decided(other, control)).toMatchObject({ do: 'held', by: 'approval' });
  });

  it('is for none of the objects beyond its count', () => {
    const counting = (...names: readonly string[]): Step => {
      const { deletes, ...step } = deleteJust(...names);
      return { ...step, ...(deletes && { deletes: { ...deletes, count: 1 } }) };
    };
    const held = decided(counting('a', 'b'), plain({ approval: 'required' }));
    expect(held).toMatchObject({ message: 'awaiting approval to delete 1 Pod (web-pod-a)' });
    expect(planOf(held)).toBe(planFor(counting('a', 'c')));
    expect(planOf(held)).not.toBe(planFor(counting('b', 'a')));
  });

  it('names the namespaces of objects that are not where the resource is', () => {
    const objects = () => [
      { namespace: 'shop', name: 'a', uid: 'uid-a' },
      { namespace: 'depot', name: 'a', uid: 'uid-b' },
    ];
    const step: Step = { ...deleteJust(), deletes: { what: 'Secret', count: 2, objects } };
    expect(decided(step, plain({ approval: 'required' }))).toMatchObject({
      message: 'awaiting approval to delete 2 Secrets (a, depot/a)',
    });
  });

  it.each([
    ['more', deletePods(291)],
    ['something else', deletePods(290, 'generation 3')],
  ])('is asked for anew where it deletes %s', (_, step) => {
    const approved = planFor(deletePods(290));
    const decision = decided(step, plain({ approval: 'required', approved }));
    expect(decision).toMatchObject({ do: 'held', by: 'approval' });
    expect(planOf(decision)).not.toBe(approved);
  });

  it('of another resource of the same name is asked for anew', () => {
    const approved = planFor(deletePods(290));
    const other = plain({ approval: 'required', approved }, { uid: 'uid-2' });
    expect(decided(deletePods(290), other)).toMatchObject({ do: 'held' });
  });

  it('stays held where it is rejected, and says by whom and why', () => {
    const rejected = planFor(deletePods(290));
    const answer = { rejected, 'answered-by': 'alice', 'answered-because': 'not today' };
    expect(decided(deletePods(290), plain({ approval: 'required', ...answer }))).toMatchObject({
      do: 'held',
      message: 'rejected by alice: not today',
      plan: rejected,
    });
  });

  it.each([
    ['the same plan', planFor(deletePods(90))],
    ['a larger part of the same plan', planFor(deletePods(290))],
    ['another plan', planFor(deletePods(90, 'generation 1'))],
  ])('stays held where a rejection of %s is beside the approval', (_, rejected) => {
    const approved = planFor(deletePods(290));
    const control = plain({ approval: 'required', approved, rejected });
    expect(decided(deletePods(90), control)).toMatchObject({ do: 'held' });
  });

  it('is reported, and not again while other Pods would go in the same plan', () => {
    const control = reporting({ approval: 'required' });
    const step = decided(deletePods(290), control);
    expect(step).toMatchObject({
      do: 'updateStatus',
      status: { conditions: [{ type: 'AwaitingApproval', status: 'True', reason: 'ApprovalRequired' }] },
    });
    const reported = reporting({ approval: 'required' }, statusIn(step));
    const others: Step = {
      ...deletePods(290),
      deletes: {
        ...{ what: 'Pod', count: 290, interchangeable: 'generation 2' },
        objects: () => [{ name: 'web-pod-z', uid: 'uid-z' }],
      },
    };
    expect(decided(others, reported)).toMatchObject({ do: 'held' });
    expect(decided(deletePods(291), reported)).toMatchObject({ do: 'updateStatus' });
  });

  it('is used up once its work is done, as far as is read, and not by a wait or a step in between', () => {
    const approved = planFor(deletePods(290));
    const control = reporting({ ...BY_ALICE, approval: 'required', approved });
    expect(decided(DONE, control, { circumstances: WATCHED })).toMatchObject({ do: 'observe' });
    expect(decided(DONE, control)).toMatchObject({
      do: 'updateStatus',
      because: `nothing is left to delete of plan ${approved}, approved by alice: the shop is closed`,
      status: { lastHandledApproval: approved },
    });
    expect(decided(stalled(aCause('failed')), control)).toMatchObject({
      status: { lastHandledApproval: approved },
    });
    expect(decided(waitFor('a Job', 1000), control)).toMatchObject({ do: 'wait' });
    expect(decided(REPORT, control)).toBe(REPORT);
  });

  it('is not used up, and not called done, by an approval of a plan that is out of date', () => {
    const approved = planFor(deletePods(290, 'generation 1'));
    const control = reporting({ ...BY_ALICE, approval: 'required', approved });
    const step = decided(deletePods(290), control);
    expect(step).toMatchObject({
      status: { conditions: [{ type: 'AwaitingApproval', reason: 'ApprovalRequired' }] },
    });
    expect(step).not.toHaveProperty('status.lastHandledApproval');
    const reported = reporting({ ...BY_ALICE, approval: 'required', approved }, statusIn(step));
    const held = decided(deletePods(290), reported);
    expect(held).toMatchObject({ do: 'held', message: expect.stringContaining('awaiting approval') });
    expect(planOf(held)).not.toBe(approved);
    expect(decided(deletePods(290), reported, { circumstances: WATCHED })).toMatchObject({ do: 'held' });
  });

  it('is asked for anew where it is used up', () => {
    const approved = planFor(deletePods(290));
    const control = reporting({ approval: 'required', approved }, { lastHandledApproval: approved });
    expect(decided(deletePods(290), control)).toMatchObject({
      status: { conditions: [{ type: 'AwaitingApproval', status: 'True' }] },
    });
  });

  it('can be approved again where what was used up comes to the same once more', () => {
    const approved = planFor(deletePods(1));
    const again = reporting({ approval: 'required', approved }, { lastHandledApproval: approved });
    const [{ message } = { message: '' }] = conditionsIn(decided(deletePods(1), again));
    const plan = planIn(message) ?? '';
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
