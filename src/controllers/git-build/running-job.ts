import { inOneLine, type Advice, type Cause } from '../../contract/cause.ts';
import { waitFor, warning } from '../../contract/decision.ts';
import { refusalWords } from '../refusal-words.ts';
import { said, wayOut, type BuildCause } from './causes.ts';
import { RECHECK_MS, stallWith, type Meanwhile } from './job-rules.ts';
import { knownOf, type BuildDecision, type Facts, type RuleDecision } from './observation.ts';
import type { BuildReason } from './reasons.ts';
import { reportIfNew } from './status.ts';
import type { JobView } from './views.ts';

/** The Job controller creates a Pod within moments, or records an Event that says why it cannot. */
const PODS_DUE_MS = 10_000;

/** A Job that builds or cleans. */
interface Running {
  readonly action: 'Build' | 'Clean';
  readonly meanwhile: Meanwhile;
  /** The reason of the conditions if nothing is wrong. */
  readonly otherwise: BuildReason;
  /** What keeps its Pods from starting. */
  readonly trouble: BuildCause | undefined;
  /** What kept them from starting when they were last seen. */
  readonly before?: BuildCause | undefined;
  readonly because: string;
  readonly recheckMs: number;
}

/** Reports how it is doing, and waits for its end. */
export function awaitEnd(facts: Facts, job: JobView, running: Running): BuildDecision {
  const { action, meanwhile, otherwise, trouble, before, because, recheckMs } = running;
  const cause = trouble ?? before;
  const event = trouble && warning(trouble, action, job.uid);
  const name = action === 'Build' ? `Job ${facts.build.namespace}/${job.name}` : `cleanup Job ${job.name}`;
  return (
    stallWithoutPods(facts, job, meanwhile) ??
    reportIfNew(facts, { ...meanwhile, ...said(cause, otherwise), because, ...(event && { event }) }) ??
    waitFor(`${name} to end`, Math.min(recheckMs, awaitsPodMs(job, facts) ?? recheckMs), cause)
  );
}

/** When to look at a Job without Pods again; undefined if it has one. */
function awaitsPodMs({ uid, createdAt }: JobView, { pods, nowMs }: Facts): number | undefined {
  if (pods.some(({ jobUid }) => jobUid === uid)) return undefined;
  // At most so long, even if the server's clock is ahead.
  const leftMs = Math.min(Date.parse(createdAt) + PODS_DUE_MS - nowMs, PODS_DUE_MS);
  return leftMs > 0 ? leftMs : RECHECK_MS;
}

/** A Job is created, and then the API server may refuse its Pods. Only the Events of the Job say so. */
function stallWithoutPods(facts: Facts, job: JobView, meanwhile: Meanwhile): RuleDecision {
  // It has a Pod, or will get one at any moment.
  if (awaitsPodMs(job, facts) !== RECHECK_MS) return undefined;
  const refusal = knownOf(facts.refusedPods, job.uid);
  if (refusal === undefined)
    return { do: 'observe', because: `Job ${job.name} has no Pod`, what: 'events', job };
  if (refusal === 'none') return undefined;
  const cause = causeOf(refusal, job, facts);
  const reported = facts.build.status.conditions?.find(({ reason }) => reason === cause.reason);
  return stallWith(facts, {
    cause,
    message: refusalWords(reported?.message, inOneLine(cause)),
    ...meanwhile,
    because: 'its Pods are refused',
    event: warning(cause, 'CreatePod', job.uid),
    recheckMs: RECHECK_MS,
  });
}

/** Its commands help here, too. Its sentences do not: nobody but the operator writes the Job. */
function causeOf(refusal: Cause, job: JobView, { build }: Facts): BuildCause {
  return {
    reason: 'PodsRefused',
    message: `Pods of Job ${job.name} are refused: ${refusal.message}`,
    advice: [
      whatToDo(refusal),
      'the Job tries again within a minute',
      ...refusal.advice.filter((each) => typeof each !== 'string'),
      ...wayOut(build),
    ],
  };
}

function whatToDo({ reason }: Cause): Advice {
  switch (reason) {
    case 'QuotaExceeded':
      return 'raise the quota; if it asks for requests or limits, add a LimitRange with defaults';
    case 'PodSecurity':
      return 'set the label pod-security.kubernetes.io/enforce of the namespace to privileged, since builds write to the nodes';
    default:
      return 'change what refuses them';
  }
}
