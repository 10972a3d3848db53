import type { JobView } from './job-view.ts';
import type { PodView } from './pod-view.ts';

const LONGEST_MESSAGE = 1000;

/**
 * Why a Job failed, for people: how its last Pod ended and what it wrote last, without what could be a password.
 *
 * @param before the status' message while the Job ran: what kept its Pods from starting
 */
export function failureMessage(job: JobView, pods: readonly PodView[], before: string): string {
  const what = `Job ${job.name} failed`;
  if (job.failure === 'DeadlineExceeded') {
    return shortened(
      `${what}: it was not done within its deadline${before === '' ? '' : `; before, ${before}`}`,
    );
  }
  const last = pods
    .filter(({ purpose, phase }) => purpose === job.purpose && phase === 'failed')
    .toSorted((a, b) => (a.endedAt < b.endedAt ? -1 : a.endedAt > b.endedAt ? 1 : 0))
    .at(-1);
  const termination = last?.termination;
  if (termination === undefined) return shortened(`${what}: ${job.failureMessage || job.failure}`);
  const { exitCode, reason, lastLines } = termination;
  const how =
    reason === 'OOMKilled'
      ? 'it ran out of memory (OOMKilled)'
      : exitCode === -1
        ? reason
        : `exit code ${exitCode}`;
  const lines = lastLines.trim();
  return shortened(`${what}: ${how}${lines === '' ? '' : `: ${lines}`}`);
}

/** Without the user information of URLs: RFC 3986, 3.2.1. */
export function withoutCredentials(text: string): string {
  return text.replaceAll(/(:\/\/)[^/?#\s]*@/g, '$1');
}

/** The end is what tells most. */
function shortened(text: string): string {
  const safe = withoutCredentials(text);
  if (safe.length <= LONGEST_MESSAGE) return safe;
  return `${safe.slice(0, LONGEST_MESSAGE / 4)} … ${safe.slice(-(LONGEST_MESSAGE * 3) / 4)}`;
}
