import { inOneLine, type Advice, type Cause } from '../../api/index.ts';
import { wayOut, type BuildCause } from './causes.ts';
import type { Facts } from './facts.ts';
import { RECHECK_MS, stallWith, type Meanwhile } from './job-rules.ts';
import { inMilliseconds, leftMs, type RuleVerdict, type BuildVerdict } from './verdict.ts';
import type { JobView } from './views.ts';

/** The Job controller creates a Pod within moments, or records an Event that says why it cannot. */
const PODS_DUE_MS = 10_000;

/** A Job that builds or cleans. */
interface Running extends Meanwhile {
  readonly action: 'Build' | 'Clean';
  /** What keeps its Pods from starting. */
  readonly trouble: BuildCause | undefined;
  /** What kept them from starting when they were last seen. */
  readonly before?: BuildCause | undefined;
  readonly recheckMs: number;
}

/** Reports how it is doing, and waits for its end. */
export function awaitEnd(facts: Facts, job: JobView, running: Running): BuildVerdict {
  const { action, status, reason, trouble, before, recheckMs } = running;
  const cause = trouble ?? before;
  const name = action === 'Build' ? `Job ${facts.build.namespace}/${job.name}` : `cleanup Job ${job.name}`;
  const recheckAfter = inMilliseconds(Math.min(recheckMs, awaitsPodMs(job, facts) ?? recheckMs));
  return (
    stallWithoutPods(facts, job, { status, reason }) ?? {
      status: { ...status, message: cause ? inOneLine(cause) : '' },
      reason,
      then: (next) =>
        next.wait(`${name} to end`, { recheckAfter, ...(cause && { cause }), ...(trouble && { action }) }),
    }
  );
}

/** When to look at a Job without Pods again; undefined if it has one. */
function awaitsPodMs({ uid, createdAt }: JobView, { pods, nowMs }: Facts): number | undefined {
  if (pods.some(({ jobUid }) => jobUid === uid)) return undefined;
  const dueMs = leftMs(createdAt, PODS_DUE_MS, nowMs);
  return dueMs > 0 ? dueMs : RECHECK_MS;
}

/** A Job is created, and then the API server may refuse its Pods. Only the Events of the Job say so. */
function stallWithoutPods(facts: Facts, job: JobView, meanwhile: Meanwhile): RuleVerdict {
  // It has a Pod, or will get one at any moment.
  if (awaitsPodMs(job, facts) !== RECHECK_MS) return undefined;
  const { [job.uid]: refusal } = facts.lookups.refusedPods ?? {};
  if (refusal === undefined) return undefined;
  const cause = inReportedWords(causeOf(refusal, job, facts), facts.build.status.message);
  return stallWith(meanwhile, { cause, action: 'CreatePod', recheckMs: RECHECK_MS });
}

/** Quoted names, numbers and the order differ from one refusal to the next: they are not worth a write and an Event each. */
function inReportedWords(cause: BuildCause, reported = ''): BuildCause {
  const advice = inOneLine({ ...cause, message: '' });
  const message = reported.slice(0, -advice.length);
  return reported.endsWith(advice) && gist(message) === gist(cause.message) ? { ...cause, message } : cause;
}

function gist(words: string): string {
  const known = words.replace(/"[^"]*"|\S*\d\S*/g, '').match(/[^\s,;:.]+/g) ?? [];
  return known.sort().join(' ');
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
