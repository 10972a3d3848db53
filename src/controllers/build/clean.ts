import { unreachable } from '../../contract/unreachable.ts';
import { listed } from './artifacts.ts';
import { failureMessage } from './failure.ts';
import type { JobView } from './job-view.ts';
import { JOB_NET_MS, NET_MS, writeIfNew, type Decision, type Known } from './known.ts';
import { awaitLeftover, reportRefusal, takenName } from './obstacles.ts';
import type { Step } from './observation.ts';
import type { PodView } from './pod-view.ts';
import type { Artifact } from './resource.ts';
import { without, type StatusChange } from './status.ts';

/** What is to be removed from nodes, one node after the other, by Jobs of one name. */
export interface Cleaning {
  readonly artifacts: readonly Artifact[];
  readonly jobName: string;
  /** What the status says meanwhile. */
  readonly phase: 'Cleaning' | 'Succeeded';
  readonly nowMs: number;
  /** What to do once all are removed. */
  readonly finish: (cleaned: readonly Artifact[]) => Step;
}

const RETRY_FIRST_MS = 10_000;
const RETRY_MOST_MS = 300_000;

/**
 * The next step towards nodes without these artifacts. A cleanup Job proves its node clean once it has succeeded;
 * what it has cleaned is taken off the status before the Job goes, so that nothing is cleaned twice or forgotten.
 */
export function cleanAway(known: Known, cleaning: Cleaning): Step {
  const { artifacts, finish } = cleaning;
  if (known.jobs === undefined) {
    // Nothing but a cleanup of the same name can be there, and the create then says so.
    const isFirst = known.cleaningBegan === true && artifacts.length > 0;
    return isFirst ? createFor(known, cleaning, artifacts) : { do: 'look', at: 'jobs' };
  }
  const cleanups = known.jobs.filter(({ purpose }) => purpose === 'cleanup');
  const cleaned = artifacts.filter((each) => cleanups.some((job) => proves(job, each)));
  const left = without(artifacts, cleaned);
  const current: Current = { known, cleaning, cleaned, left };
  const unfinished = cleanups.find(({ state }) => state !== 'succeeded');
  if (unfinished !== undefined) return attend(current, unfinished);
  if (left.length === 0) return finish(cleaned);
  return nextNode(current, cleanups);
}

interface Current {
  readonly known: Known;
  readonly cleaning: Cleaning;
  readonly cleaned: readonly Artifact[];
  readonly left: readonly Artifact[];
}

function covers(job: JobView, { node, binary }: Artifact): boolean {
  return job.node === node && job.binaries.includes(binary);
}

function proves(job: JobView, artifact: Artifact): boolean {
  return job.state === 'succeeded' && covers(job, artifact);
}

/** A cleanup that has not succeeded. */
function attend(current: Current, job: JobView): Step {
  if (job.deleting) return awaitEnd(job, 'to go', NET_MS);
  if (!current.left.some((each) => covers(job, each))) {
    return { do: 'delete-job', job, propagation: job.state === 'active' ? 'Foreground' : 'Background' };
  }
  switch (job.state) {
    case 'active':
      return watchOver(current, job);
    case 'failed':
      return tryAgain(current, job);
    case 'succeeded':
      throw new Error(`cleanup Job ${job.name} has succeeded`);
    default:
      return unreachable(job.state);
  }
}

/** Where its Pod finds no node, the node may be gone, and with it what was there. */
function watchOver({ known, cleaning, cleaned, left }: Current, job: JobView): Step {
  const { build, pods, nodes = {} } = known;
  const { nowMs, phase } = cleaning;
  if (pods === undefined) return { do: 'look', at: 'pods' };
  const trouble = pods.find((pod) => pod.purpose === 'cleanup' && pod.trouble !== undefined)?.trouble;
  if (trouble?.kind === 'unschedulable') {
    const state = nodes[job.node];
    if (state === undefined) return { do: 'look', at: 'node', node: job.node };
    if (state === 'gone') {
      const onIt = left.filter(({ node }) => node === job.node);
      const message = `node ${job.node} is gone, and ${listed(onIt)} with it`;
      return requireNew(keeping(known, cleaning, [...cleaned, ...onIt], message));
    }
  }
  const message = cleanupTrouble(pods);
  return (
    (phase === 'Cleaning' ? writeIfNew(build, { phase, reason: 'Cleaning', message }, nowMs) : undefined) ??
    awaitEnd(job, 'to end', JOB_NET_MS)
  );
}

/** What keeps the Pod of a cleanup from starting; empty where nothing does. */
export function cleanupTrouble(pods: readonly Pick<PodView, 'purpose' | 'trouble'>[]): string {
  const texts = pods.flatMap(({ purpose, trouble }) =>
    purpose === 'cleanup' && trouble ? [trouble.text] : [],
  );
  return [...new Set(texts)].sort().join('; ');
}

function awaitEnd({ name }: JobView, end: string, atMostMs: number): Step {
  return { do: 'wait', on: `cleanup Job ${name} ${end}`, atMostMs, next: `see to cleanup Job ${name}` };
}

/** The failed Job stays until it is time, to be looked at, and as the memory of how often it was tried. */
function tryAgain({ known, cleaning, left }: Current, job: JobView): Step {
  const { build, pods } = known;
  const { nowMs, phase } = cleaning;
  if (pods === undefined) return { do: 'look', at: 'pods' };
  const why = failureMessage(job, pods, '');
  const message = `${why} (try ${job.attempt}); ${listed(left)} is still to be removed`;
  const ready = phase === 'Succeeded';
  const change: StatusChange = { phase, reason: 'CleanupFailed', message, stalled: true, ready };
  const event = { reason: 'CleanupFailed', action: 'Clean', note: message, occasion: job.uid };
  const told = writeIfNew(build, change, nowMs, { type: 'Warning', ...event });
  if (told !== undefined) return told;
  const waitMs = retryAtMs(job, nowMs) - nowMs;
  if (waitMs > 0) return awaitEnd(job, `to be tried again: ${why}`, waitMs);
  return { do: 'delete-job', job, propagation: 'Background' };
}

function retryAtMs({ endedAt, attempt }: JobView, nowMs: number): number {
  const pauseMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(attempt - 1, 10), RETRY_MOST_MS);
  const ended = Date.parse(endedAt);
  // Never later than a pause from now, whatever the server's clock says.
  return Math.min(Number.isNaN(ended) ? nowMs : ended, nowMs) + pauseMs;
}

function nextNode(current: Current, finished: readonly JobView[]): Step {
  const { known, cleaning, cleaned, left } = current;
  if (cleaned.length > 0) return requireNew(keeping(known, cleaning, cleaned, ''));
  const [job] = finished;
  if (job === undefined) return createFor(known, cleaning, left);
  if (job.deleting) return awaitEnd(job, 'to go', NET_MS);
  return { do: 'delete-job', job, propagation: 'Background' };
}

/** The status without what is clean. */
function keeping(
  { build }: Known,
  { phase, nowMs }: Cleaning,
  cleaned: readonly Artifact[],
  message: string,
): Decision {
  const artifacts = without(build.status.artifacts ?? [], cleaned);
  const ready = phase === 'Succeeded';
  const reason = ready ? 'Built' : 'Cleaning';
  return writeIfNew(build, { phase, reason, ready, message, artifacts }, nowMs);
}

function requireNew(decision: Decision): Step {
  if (decision === undefined) throw new Error('a status without artifacts that it has is no news');
  return decision;
}

function createFor(known: Known, cleaning: Cleaning, left: readonly Artifact[]): Step {
  const { build } = known;
  const { jobName, phase, nowMs, finish } = cleaning;
  const [first] = left;
  if (first === undefined) return finish([]);
  const binaries = left.filter(({ node }) => node === first.node).map(({ binary }) => binary);
  const attempt = (known.attempts ?? 0) + 1;
  const creation: Step = {
    do: 'create-cleanup',
    build,
    wanted: { jobName, node: first.node, binaries, attempt },
  };
  return (
    takenName(known, jobName, phase, nowMs) ??
    awaitLeftover(known) ??
    reportRefusal(known, phase, nowMs, () => ({
      do: 'wait',
      on: `namespace ${build.namespace} to go, which takes no new Job`,
      atMostMs: NET_MS,
      next: 'look whether the namespace is gone',
    })) ??
    creation
  );
}
