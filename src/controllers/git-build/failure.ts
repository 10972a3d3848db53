import { redacted, truncate } from '../../api/index.ts';
import type { JobView, PodView } from './views.ts';

/** Code points. */
const LONGEST_MESSAGE = 1000;

/**
 * Why a Job failed, for people, with its last lines and without credentials.
 *
 * @param before the status' message while the Job ran: what kept its Pods from starting
 */
export function failureOf(job: JobView, pods: readonly PodView[], before = ''): string {
  const { reason, details } = causeOf(job, pods, before);
  return shortened(`Job ${job.name} failed: ${reason}${details}`);
}

/** The same without what its Pod wrote, for the history: that may be secret. */
export function reasonOfFailure(job: JobView, pods: readonly PodView[]): string {
  return `Job ${job.name} failed: ${causeOf(job, pods, '').reason}`;
}

interface Cause {
  readonly reason: string;
  readonly details: string;
}

/** How its last Pod failed, unless the Job exceeded its deadline. */
function causeOf(job: JobView, pods: readonly PodView[], before: string): Cause {
  if (job.failure === 'DeadlineExceeded') {
    return {
      reason: 'it exceeded its deadline',
      details: before === '' ? '' : `; before that: ${before}`,
    };
  }
  const termination = pods
    .filter(({ purpose, phase }) => purpose === job.purpose && phase === 'failed')
    .toSorted((a, b) => (a.endedAt < b.endedAt ? -1 : a.endedAt > b.endedAt ? 1 : 0))
    .at(-1)?.termination;
  if (termination === undefined) return { reason: job.failureMessage || job.failure, details: '' };
  const lines = wholeWordsOf(termination.lastLines).trim();
  return { reason: exitOf(termination), details: lines === '' ? '' : `: ${lines}` };
}

/** The kubelet keeps so many bytes of the log. Source: its `MaxContainerTerminationMessageLogLength`. */
const TAIL_BYTES = 2048;

/** Drops the first word if it is cut off: it may be the rest of a URL, with credentials. */
function wholeWordsOf(lastLines: string): string {
  const isCut = new TextEncoder().encode(lastLines).length >= TAIL_BYTES;
  return isCut ? lastLines.replace(/^\S*/, '') : lastLines;
}

function exitOf({ exitCode, reason, container }: NonNullable<PodView['termination']>): string {
  const whose = container === undefined ? '' : ` of the container ${container}, which was added to its Pod`;
  if (reason === 'OOMKilled') return 'it ran out of memory (OOMKilled)';
  if (exitCode !== -1) return `exit code ${exitCode}${whose}`;
  return reason === '' ? 'its Pod failed' : reason;
}

/** Keeps more of the end, which says most. */
function shortened(text: string): string {
  const safe = redacted(text);
  const characters = Array.from(safe);
  if (characters.length <= LONGEST_MESSAGE) return safe;
  const end = characters.slice(-(LONGEST_MESSAGE * 3) / 4).join('');
  return `${truncate(safe, LONGEST_MESSAGE / 4)} … ${end}`;
}
