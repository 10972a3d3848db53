import { isObserve, isRest } from '../../contract/decision.ts';
import { refusalWords } from '../refusal-words.ts';
import type { BuildDecision, BuildStep, Facts, RuleDecision } from './observation.ts';
import type { BuildReason } from './reasons.ts';
import type { BuildPhase } from './resource.ts';
import { reportIfNew } from './status.ts';
import type { BuildView } from './views.ts';

const OF_JOBS = ['JobRefused', 'JobDeleteRefused'] as const satisfies readonly BuildReason[];
const REFUSALS: readonly string[] = [
  ...OF_JOBS,
  'FinalizerRefused',
  'Overridden',
] satisfies readonly BuildReason[];

/** Why the status says that this generation is stalled. */
function stalledBy({ status, generation }: BuildView) {
  return status.conditions?.find(
    (each) => each.type === 'Stalled' && each.status === 'True' && each.observedGeneration === generation,
  );
}

/** Whether the status says that the server refuses a step. */
export function isRefusalReported(build: BuildView): boolean {
  return REFUSALS.includes(stalledBy(build)?.reason ?? '');
}

/** What the status says of a refused Job, or of one that may not be deleted: the server's own words. */
export function refusedJob(build: BuildView) {
  const stalled = stalledBy(build);
  const reason = OF_JOBS.find((each) => each === stalled?.reason);
  return stalled && reason && ({ reason, message: stalled.message, stalled: true } as const);
}

/** Before a refused step is tried again, the status says so. After that, it is tried with backoff. */
export function reportRefusedStep(facts: Facts, decision: BuildDecision): RuleDecision {
  const { build, refusal } = facts;
  if (isRest(decision) || isObserve(decision)) return undefined;
  if (refusal?.because !== 'refused' && refusal?.because !== 'overridden') return undefined;
  // After an override, other steps may come first.
  if ((refusal.step ?? decision.do) !== decision.do) return undefined;
  const refused = reasonOf(decision, build);
  const reason = refused && refusal.because === 'overridden' ? 'Overridden' : refused;
  if (reason === undefined) return undefined;
  const known = isRefusalReported(build) ? stalledBy(build)?.message : undefined;
  const phase = phaseDuring(decision, build);
  return reportIfNew(facts, {
    phase,
    ready: phase === 'Succeeded',
    reason,
    message: refusalWords(known, refusal.message),
    stalled: true,
    because: 'the API server refuses it',
  });
}

function phaseDuring({ do: step }: BuildStep, { deleting, status }: BuildView): BuildPhase {
  if (deleting) return 'Cleaning';
  return step === 'createJob' ? 'Pending' : (status.phase ?? 'Pending');
}

function reasonOf({ do: step }: BuildStep, build: BuildView): BuildReason | undefined {
  switch (step) {
    case 'addFinalizer':
      // The status of a finished build is not written again.
      return build.status.phase === 'Succeeded' || build.status.phase === 'Failed'
        ? undefined
        : 'FinalizerRefused';
    case 'removeFinalizer':
      return 'FinalizerRefused';
    case 'deleteJob':
      // The status keeps a failed cleanup, or a name that is taken.
      return stalledBy(build) === undefined || isRefusalReported(build) ? 'JobDeleteRefused' : undefined;
    case 'createJob':
    case 'createCleanupJob':
      return 'JobRefused';
    case 'updateStatus':
      return undefined;
  }
}
