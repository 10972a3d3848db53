import { isObserve, isRest } from '../../contract/decision.ts';
import { refusalWords } from '../refusal-words.ts';
import type { BuildDecision, BuildStep, Facts, RuleDecision } from './observation.ts';
import type { BuildReason } from './reasons.ts';
import { reportIfNew } from './status.ts';
import type { BuildView } from './views.ts';

const OF_JOBS = ['JobRefused', 'JobDeleteRefused'] as const satisfies readonly BuildReason[];
const REFUSALS: readonly string[] = [
  ...OF_JOBS,
  'FinalizerRefused',
  'Overridden',
] satisfies readonly BuildReason[];

/** What the status says `Stalled` is true for, of this very generation. */
function stalledBy({ status, generation }: BuildView) {
  return status.conditions?.find(
    (each) => each.type === 'Stalled' && each.status === 'True' && each.observedGeneration === generation,
  );
}

/** Whether the status says that the server refuses what is to be written. */
export function isRefusalReported(build: BuildView): boolean {
  return REFUSALS.includes(stalledBy(build)?.reason ?? '');
}

/** Where the status says that the server refuses a Job, or to delete one: that, with the server's words. */
export function refusedJob(build: BuildView) {
  const stalled = stalledBy(build);
  const reason = OF_JOBS.find((each) => each === stalled?.reason);
  return stalled && reason && ({ reason, message: stalled.message, stalled: true } as const);
}

/** What the status says of a refusal that the server has just answered with. */
export function wordsFor(build: BuildView, refusal: string): string {
  return refusalWords(isRefusalReported(build) ? stalledBy(build)?.message : undefined, refusal);
}

/** The step that the server has just refused is in the status before it is tried again; creates say so themselves. */
export function reportRefusedStep(facts: Facts, decision: BuildDecision): RuleDecision {
  const { build, refusal } = facts;
  if (isRest(decision) || isObserve(decision)) return undefined;
  if (refusal?.because !== 'refused' && refusal?.because !== 'overridden') return undefined;
  // After an override, other steps may come first.
  if ((refusal.step ?? decision.do) !== decision.do) return undefined;
  const refused = reasonOf(decision, build);
  const reason = refused && refusal.because === 'overridden' ? 'Overridden' : refused;
  if (reason === undefined) return undefined;
  const message = wordsFor(build, refusal.message);
  const phase = build.deleting ? 'Cleaning' : (build.status.phase ?? 'Pending');
  const ready = phase === 'Succeeded';
  return reportIfNew(facts, {
    phase,
    ready,
    reason,
    message,
    stalled: true,
    because: 'the API server refuses it',
  });
}

function reasonOf({ do: step }: BuildStep, build: BuildView): BuildReason | undefined {
  switch (step) {
    case 'addFinalizer':
      // Of what is over, the status is not written again.
      return build.status.phase === 'Succeeded' || build.status.phase === 'Failed'
        ? undefined
        : 'FinalizerRefused';
    case 'removeFinalizer':
      return 'FinalizerRefused';
    case 'deleteJob':
      // What is in the way besides stays in the status: a failed cleanup, or a name that is taken.
      return stalledBy(build) === undefined || isRefusalReported(build) ? 'JobDeleteRefused' : undefined;
    case 'createJob':
    case 'createCleanupJob':
    case 'updateStatus':
      return undefined;
  }
}
