import { inOneLine, type Cause } from '../api/cause.ts';
import type { Rest, Wait } from '../runs/decision.ts';
import { waitingFor } from '../runs/sentences.ts';
import type { Finding } from './condition.ts';
import type { DefinedView } from './view.ts';

/** What a rest says of a resource in its conditions. */
export interface ConditionFindings {
  readonly ready: Finding;
  readonly stall: Finding;
  /** Nothing is left to do, even if it is not Ready. */
  readonly isOver: boolean;
}

/** Where nothing is wrong. */
export const AS_SPECIFIED = 'AsSpecified';
export const WAITING = 'Waiting';

const NOT_STALLED: Finding = { type: 'Stalled', status: 'False', reason: 'NotStalled', message: '' };

/** A rest; or what the status says while a step goes on. */
export type ReportedRest = Rest | Announcement;

type Announcement = Omit<Wait, 'recheckMs'> & {
  /** An attempt of this step may be in progress from now on. */
  readonly external?: string;
  /** An attempt of it was refused. */
  readonly isRefused?: true;
};

export function findingsOf(rest: ReportedRest): ConditionFindings {
  switch (rest.do) {
    case 'converged': {
      const { because, notReady } = rest;
      const ready: Finding = notReady
        ? notReadyFor(notReady)
        : { type: 'Ready', status: 'True', reason: AS_SPECIFIED, message: because };
      return { ready, stall: NOT_STALLED, isOver: !('isProgressing' in rest) };
    }
    case 'wait': {
      const message = waitingFor(rest.for);
      const ready: Finding = rest.cause
        ? notReadyFor(rest.cause)
        : { type: 'Ready', status: 'False', reason: WAITING, message };
      const isRefused = 'isRefused' in rest;
      return { ready, stall: isRefused ? stalledBy(ready) : NOT_STALLED, isOver: false };
    }
    case 'stalled':
    case 'held': {
      const ready = notReadyFor({ ...rest, advice: 'advice' in rest ? rest.advice : [] });
      return { ready, stall: stalledBy(ready), isOver: false };
    }
  }
}

function stalledBy(ready: Finding): Finding {
  return { ...ready, type: 'Stalled', status: 'True' };
}

function notReadyFor(cause: Cause): Finding {
  return { type: 'Ready', status: 'False', reason: cause.reason, message: inOneLine(cause) };
}

/** Where a function fails with a spec that does not fit, as it may of a resource that is being deleted, it is the spec that helps. */
export function causeWithin({ namespace, name, resource }: DefinedView, cause: Cause): Cause {
  if (resource?.invalid === undefined) return cause;
  const advice = `correct the spec of ${namespace}/${name}, which its schema refuses (${resource.invalid}); its deletion goes on at once`;
  return { ...cause, advice: [advice, ...cause.advice] };
}

export function invalidSpecCause(
  { namespace, name }: Pick<DefinedView, 'namespace' | 'name'>,
  message: string,
): Cause {
  return {
    reason: 'InvalidSpec',
    message: message,
    advice: [`correct the spec of ${namespace}/${name}; that is noticed at once`],
  };
}
