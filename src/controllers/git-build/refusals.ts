import { inOneLine } from '../../contract/cause.ts';
import { isObserve, isRest } from '../../contract/decision.ts';
import { causeOfOverride, causeOfRefusal } from '../../contract/refusal.ts';
import { stalledBy } from '../condition.ts';
import { refusalWords } from '../refusal-words.ts';
import type { BuildDecision, BuildStep, Facts, RuleDecision } from './observation.ts';
import type { BuildReason } from './reasons.ts';
import type { BuildPhase } from './resource.ts';
import { reportIfNew } from './status.ts';
import type { BuildView } from './views.ts';

const REFUSALS: readonly BuildReason[] = ['QuotaExceeded', 'PodSecurity', 'WebhookUnavailable', 'Refused'];

/** Whether the status says that a step is refused, or overridden. */
export function isRefusalReported(build: BuildView): boolean {
  return reportedRefusal(build) !== undefined || stalledBy(build)?.reason === 'Overridden';
}

/** What the status says of a step that the server refuses; undefined: nothing. */
export function reportedRefusal(build: BuildView) {
  const stalled = stalledBy(build);
  const reason = REFUSALS.find((each) => each === stalled?.reason);
  return stalled && reason && ({ reason, message: stalled.message, stalled: true } as const);
}

/** Before a refused step is tried again, the status says so. After that, it is tried with backoff. */
export function reportRefusedStep(facts: Facts, decision: BuildDecision): RuleDecision {
  const { build, refusal } = facts;
  if (isRest(decision) || isObserve(decision)) return undefined;
  if (refusal?.because !== 'refused' && refusal?.because !== 'overridden') return undefined;
  // After an override, other steps may come first.
  if ((refusal.step ?? decision.do) !== decision.do) return undefined;
  if (!isReportable(decision, build)) return undefined;
  const { message } = refusal;
  const cause = refusal.because === 'refused' ? causeOfRefusal(message, build) : causeOfOverride(message);
  const known = isRefusalReported(build) ? stalledBy(build)?.message : undefined;
  return reportIfNew(facts, {
    phase: phaseDuring(decision, build),
    reason: cause.reason,
    message: refusalWords(known, inOneLine(cause)),
    stalled: true,
    because: 'the API server refuses it',
  });
}

function phaseDuring({ do: step }: BuildStep, { deleting, status }: BuildView): BuildPhase {
  if (deleting) return 'Cleaning';
  return step === 'createJob' ? 'Pending' : (status.phase ?? 'Pending');
}

function isReportable({ do: step }: BuildStep, build: BuildView): boolean {
  switch (step) {
    case 'addFinalizer':
      // The status of a finished build is not written again.
      return build.status.phase !== 'Succeeded' && build.status.phase !== 'Failed';
    case 'deleteJob':
      // The status keeps a failed cleanup, or a name that is taken.
      return stalledBy(build) === undefined || isRefusalReported(build);
    case 'removeFinalizer':
    case 'createJob':
    case 'createCleanupJob':
      return true;
    case 'updateStatus':
      return false;
  }
}
