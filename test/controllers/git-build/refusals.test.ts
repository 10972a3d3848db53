import { describe, expect, it } from '@jest/globals';
import { causeOfRefusal } from '../../../src/contract/refusal.ts';
import { decideBuild } from '../../../src/controllers/git-build/decide.ts';
import type { Observation } from '../../../src/controllers/git-build/observation.ts';
import type { BuildStatus } from '../../../src/controllers/git-build/resource.ts';
import type { BuildView } from '../../../src/controllers/git-build/views.ts';
import { aBuildView, aCleanupView, aJobView, anObservation } from '../../support/build-views.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const REFUSAL = { because: 'refused', message: 'denied: no owner' } as const;
const ADVICE = 'change what refuses it, and then retry';
const DELETED = { deleting: true, deletedAt: '2026-11-21T11:00:00Z' };
const CLEANING = { phase: 'Cleaning', completionTime: '2026-11-21T11:00:00Z' } as const;
const ON_NODE_1 = [{ node: 'node-1', binary: 'helloworld' }];

type Known = Partial<BuildStatus>;

const decide = (fields: Partial<Observation>) => decideBuild(anObservation(fields), NOW_MS);

/** The build with the statuses that are written one after the other, until something else is to be done. */
function settled(build: BuildView, seen: Partial<Observation>) {
  const written: Known[] = [];
  let status = build.status;
  for (;;) {
    const step = decide({ ...seen, build: { ...build, status } });
    if (step.do !== 'updateStatus' || !('status' in step)) return { step: step.do, written, status };
    if (written.length > 4) throw new Error('it never ends');
    // A null takes a field away.
    const fields = Object.entries({ ...status, ...step.status }).filter(([, value]) => value !== null);
    status = Object.fromEntries(fields);
    written.push(status);
  }
}

describe('a step of a build that the server refuses', () => {
  it.each<[step: string, phase: string, BuildView, Partial<Observation>]>([
    ['addFinalizer', 'Pending', aBuildView({}, { finalizers: [] }), {}],
    ['removeFinalizer', 'Cleaning', aBuildView(CLEANING, DELETED), {}],
    ['deleteJob', 'Pending', aBuildView(), { jobs: [aJobView({ hash: 'old' })] }],
    ['deleteJob', 'Cleaning', aBuildView({}, DELETED), { jobs: [aJobView()] }],
  ])('is in the status, and then tried again: %s', (step, phase, build, seen) => {
    const refused = settled(build, { ...seen, refusal: REFUSAL });
    expect(refused.step).toBe(step);
    expect(refused.status).toMatchObject({
      phase,
      message: `${REFUSAL.message}; ${ADVICE}`,
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Refused' },
        { type: 'Stalled', status: 'True', reason: 'Refused', message: `${REFUSAL.message}; ${ADVICE}` },
        {},
      ],
    });
    const known = { ...build, status: refused.status };
    // Nothing is written before the next attempts, whatever is known of the refusal.
    expect(settled(known, seen)).toMatchObject({ step, written: [] });
    const others = { ...REFUSAL, message: 'denied: no owner (7)' };
    expect(settled(known, { ...seen, refusal: others })).toMatchObject({ step, written: [] });
    const another = { ...REFUSAL, message: 'denied: no limits' };
    expect(settled(known, { ...seen, refusal: another }).status.message).toBe(
      `${another.message}; ${ADVICE}`,
    );
  });

  it('has the reason and the advice that `why` and the Event have', () => {
    const refusal = {
      because: 'refused',
      message: 'jobs.batch "b" is forbidden: exceeded quota: no-jobs',
    } as const;
    const { reason, message } = causeOfRefusal(refusal.message, aBuildView());
    const { status } = settled(aBuildView(), { refusal });
    const said = `${message}; raise the quota of namespace shop, or ask for less`;
    expect(status.conditions?.[1]).toMatchObject({ type: 'Stalled', status: 'True', reason, message: said });
    expect(reason).toBe('QuotaExceeded');
  });

  it('is no longer in the status once the Job is being deleted', () => {
    const jobs = [aJobView({ hash: 'old' })];
    const refused = settled(aBuildView(), { jobs, refusal: REFUSAL });
    const going = settled(aBuildView(refused.status), { jobs: [aJobView({ hash: 'old', deleting: true })] });
    expect(going).toMatchObject({
      step: 'wait',
      status: { message: 'Job build-helloworld is being deleted' },
    });
    expect(going.status.conditions?.[1]).toMatchObject({ type: 'Stalled', status: 'False' });
  });

  it.each(['Succeeded', 'Failed'] as const)(
    'leaves a status alone that is not written again: %s',
    (phase) => {
      const build = aBuildView({ phase, observedGeneration: 1 }, { finalizers: [] });
      expect(settled(build, { refusal: REFUSAL })).toMatchObject({ step: 'addFinalizer', written: [] });
    },
  );

  it('leaves a cleanup failed that is to be tried again', () => {
    const build = aBuildView({ ...CLEANING, artifacts: ON_NODE_1 }, DELETED);
    const jobs = [aCleanupView({ state: 'failed', failureMessage: 'x', endedAt: '2026-11-21T11:00:00Z' })];
    const { step, status } = settled(build, { jobs, refusal: REFUSAL });
    expect(step).toBe('deleteJob');
    expect(status.conditions?.[1]).toMatchObject({ status: 'True', reason: 'CleanupFailed' });
  });
});
