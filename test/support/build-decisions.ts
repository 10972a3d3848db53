import { decideBuild } from '../../src/controllers/git-build/decide.ts';
import type { BuildDecision, Observation } from '../../src/controllers/git-build/observation.ts';
import type { BuildReason } from '../../src/controllers/git-build/reasons.ts';
import type { BuildStatus } from '../../src/controllers/git-build/resource.ts';
import { checkSpec } from '../../src/controllers/git-build/spec.ts';
import type { BuildView } from '../../src/controllers/git-build/views.ts';
import { BUILD_DEFAULTS, SAMPLE } from './build-samples.ts';
import { anObservation } from './build-views.ts';

/*
 * What is decided about the sample at noon.
 */

export const NOW = '2026-11-21T12:00:00Z';
export const NOW_MS = Date.parse(NOW);
/** When its Job began. */
export const START = '2026-11-21T11:00:00Z';
export const ON_NODE_1 = [{ node: 'node-1', binary: 'helloworld' }];
export const BUILDING = { phase: 'Building', observedGeneration: 1, startTime: START } as const;
/** Its Pod could not start when it was last seen. */
export const TROUBLED: Partial<BuildStatus> = {
  ...BUILDING,
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'ImageNotPulled',
      message: 'the image x cannot be pulled',
      observedGeneration: 1,
      lastTransitionTime: START,
    },
  ],
};
export const INVALID = checkSpec({ ...SAMPLE, gitUrl: 'ext::sh' }, BUILD_DEFAULTS);

/** @param unknownForMs how long yet a create may succeed whose outcome nobody knows */
export function decide(fields: Partial<Observation>, unknownForMs = 0): BuildDecision {
  const unknown = [{ step: 'createJob', begunMs: NOW_MS, untilMs: NOW_MS + unknownForMs }];
  const circumstances = { isLive: true, isNamespacePaused: false, unknown };
  return decideBuild(anObservation(fields), NOW_MS, circumstances);
}

/** The status after an update. */
export function updated(status: Partial<BuildStatus>, decision: BuildDecision): Partial<BuildStatus> {
  if (decision.do !== 'updateStatus') throw new Error(`it does ${decision.do}`);
  const merged = Object.entries({ ...status, ...decision.status });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

/** What is decided once the status says what it is to say. */
export function settled(
  build: BuildView,
  fields: Partial<Observation>,
  unknownForMs?: number,
): BuildDecision {
  const first = decide({ build, ...fields }, unknownForMs);
  if (first.do !== 'updateStatus') return first;
  return decide({ build: { ...build, status: updated(build.status, first) }, ...fields }, unknownForMs);
}

/** The conditions that a decision writes: `Ready False: Building`. */
export function reasonsIn(decision: BuildDecision): readonly string[] | undefined {
  return decision.do === 'updateStatus'
    ? decision.status.conditions?.map(({ type, status, reason }) => `${type} ${status}: ${reason}`)
    : undefined;
}

export const inProgress = (reason: BuildReason) => [
  `Ready False: ${reason}`,
  'Stalled False: InProgress',
  `Reconciling True: ${reason}`,
];

export const BUILT = ['Ready True: Built', 'Stalled False: InProgress', 'Reconciling False: UpToDate'];

export const stalledBy = (reason: BuildReason, ready: 'True' | 'False' = 'False') => [
  `Ready ${ready}: ${reason}`,
  `Stalled True: ${reason}`,
  'Reconciling False: Stalled',
];
