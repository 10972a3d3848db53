import type { Condition } from '../../src/engine/condition.ts';
import { decideDefined } from '../../src/engine/decide.ts';
import type { DefinedDecision } from '../../src/engine/observation.ts';
import type { BuildReason } from '../../src/controllers/git-build/reasons.ts';
import { SAMPLE } from './build-samples.ts';
import { aBuildView, anObservation, GIT_BUILD, type BuildGiven, type BuildSeen } from './build-views.ts';

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
export const TROUBLED: object = {
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
export const INVALID = { ...SAMPLE, gitUrl: 'ext::sh' };

/** As the tests compare it: without what the library adds to a step, and with what an Event is about alone. */
export type Shown = { readonly do: string } & Readonly<Record<string, unknown>>;

/**
 * The next decision; that a step is under way is said already.
 *
 * @param unknownForMs how long yet a create may succeed whose outcome nobody knows
 */
export function decide(fields: Partial<BuildSeen>, unknownForMs = 0): Shown {
  const first = decided(fields, unknownForMs);
  if (!('status' in first) || !/^the status has to say: waiting for [a-zA-Z]+Job: /.test(first.because))
    return shown(first);
  const build = fields.build ?? aBuildView();
  const { phase = 'Pending', message = '' } = build.status as { phase?: string; message?: string };
  const isNews = first.status['phase'] !== phase || first.status['message'] !== message;
  const status = updated(build.status, first);
  return isNews ? shown(first) : shown(decided({ ...fields, build: { ...build, status } }, unknownForMs));
}

function decided(fields: Partial<BuildSeen>, unknownForMs: number): DefinedDecision {
  const unknown = [{ step: 'createJob', begunMs: NOW_MS, untilMs: NOW_MS + unknownForMs }];
  const circumstances = { isLive: true, isNamespacePaused: false, unknown };
  return decideDefined(GIT_BUILD, anObservation(fields), NOW_MS, circumstances);
}

function shown(decision: DefinedDecision): Shown {
  const { event = {}, ...rest } = decision as DefinedDecision & Shown;
  const told = without(event as object, 'occasion');
  return {
    do: decision.do,
    ...without(rest, 'isDurable', 'digest', 'onChange'),
    ...('event' in decision && { event: told }),
  };
}

function without(its: object, ...fields: readonly string[]): object {
  return Object.fromEntries(Object.entries(its).filter(([field]) => !fields.includes(field)));
}

/** The status after an update. */
export function updated(status: object, decision: object): object {
  if (!('status' in decision)) throw new Error(`it is no status: ${JSON.stringify(decision)}`);
  const merged = Object.entries({ ...status, ...(decision.status as object) });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

/** What is decided once the status says what it is to say. */
export function settled(build: BuildGiven, fields: Partial<BuildSeen>, unknownForMs = 0): Shown {
  let status = build.status;
  for (let writes = 0; writes < WRITES_MAX; writes += 1) {
    const next = decided({ build: { ...build, status }, ...fields }, unknownForMs);
    if (!('status' in next)) return shown(next);
    status = updated(status, next);
  }
  throw new Error(`the status is never as it is to be: ${JSON.stringify(status)}`);
}

const WRITES_MAX = 4;

/** The conditions that a decision writes: `Ready False: Building`. */
export function reasonsIn(decision: Shown): readonly string[] | undefined {
  const { conditions } = (decision['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions
    ?.filter(({ type }) => type !== 'ExternalStep')
    .map(({ type, status, reason }) => `${type} ${status}: ${reason}`);
}

export const inProgress = (reason: BuildReason) => [
  `Ready False: ${reason}`,
  'Stalled False: NotStalled',
  `Reconciling True: ${reason}`,
];

export const BUILT = ['Ready True: Built', 'Stalled False: NotStalled', 'Reconciling False: UpToDate'];

export const stalledBy = (reason: BuildReason, ready: 'True' | 'False' = 'False') => [
  `Ready ${ready}: ${reason}`,
  `Stalled True: ${reason}`,
  'Reconciling False: Stalled',
];
