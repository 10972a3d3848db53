import { waitFor, type Deletion } from '../../contract/decision.ts';
import { unreachable } from '../../contract/unreachable.ts';
import { failureOf } from './failure.ts';
import {
  createWhenPossible,
  deleteJob,
  during,
  RECHECK_MS,
  RETIRING_MS,
  showsEndOf,
  troubleOf,
} from './job-rules.ts';
import { knownOf, requireLiveChildren, type BuildDecision, type Facts } from './observation.ts';
import { BINARIES_MAX, type Artifact } from './resource.ts';
import { listed, report, reportIfNew, without } from './status.ts';
import type { JobView } from './views.ts';

/** What is to be removed from nodes, one node after the other, by Jobs of one name. */
export interface Cleaning {
  readonly artifacts: readonly Artifact[];
  readonly jobName: string;
  /** What the status says meanwhile. */
  readonly phase: 'Cleaning' | 'Succeeded';
  /** What to do once all are removed. */
  readonly finish: (cleaned: readonly Artifact[]) => BuildDecision;
}

/** The watcher shows the end of a Job; this is for when it does not. */
const JOB_RECHECK_MS = 300_000;
const RETRY_FIRST_MS = 10_000;
const RETRY_MOST_MS = 300_000;

/**
 * The next step towards nodes without these artifacts. A cleanup Job proves its node clean once it has succeeded;
 * what it has cleaned is taken off the status before the Job goes, so that nothing is cleaned twice or forgotten.
 */
export function cleanAway(facts: Facts, cleaning: Cleaning): BuildDecision {
  const { artifacts, finish } = cleaning;
  const cleanups = facts.jobs.filter(({ purpose }) => purpose === 'cleanup');
  const cleaned = artifacts.filter((each) => cleanups.some((job) => proves(job, each)));
  const left = without(artifacts, cleaned);
  const progress: Progress = { facts, cleaning, cleaned, left };
  const unfinished = cleanups.find(({ state }) => state !== 'succeeded');
  if (unfinished !== undefined) return attend(progress, unfinished);
  if (left.length === 0) return finish(cleaned);
  return nextNode(progress, cleanups);
}

interface Progress {
  readonly facts: Facts;
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
function attend(progress: Progress, job: JobView): BuildDecision {
  const { facts, left } = progress;
  if (job.deleting) return waitToGo(job);
  if (!left.some((each) => covers(job, each))) {
    const propagation = job.state === 'active' ? 'Foreground' : 'Background';
    return deleteJob(facts, job, { propagation, because: 'there is nothing left for it to remove' });
  }
  switch (job.state) {
    case 'active':
      return follow(progress, job);
    case 'failed':
      return tryAgain(progress, job);
    case 'succeeded':
      throw new Error(`cleanup Job ${job.name} has succeeded`);
    default:
      return unreachable(job.state);
  }
}

function waitToGo({ name }: JobView): BuildDecision {
  return waitFor(`cleanup Job ${name} to be deleted`, RETIRING_MS);
}

/** Where its Pod finds no node, the node may be gone, and with it what was there. */
function follow({ facts, cleaning, cleaned, left }: Progress, job: JobView): BuildDecision {
  const { pods, nodes } = facts;
  const isUnscheduled = pods.some(
    ({ purpose, trouble }) => purpose === 'cleanup' && trouble?.kind === 'unschedulable',
  );
  const node = knownOf(nodes, job.node);
  if (isUnscheduled && node === undefined) {
    return { do: 'observe', because: 'the cleanup Pod cannot be scheduled', what: 'node', node: job.node };
  }
  if (isUnscheduled && node === 'gone') {
    const onIt = left.filter((artifact) => artifact.node === job.node);
    return keepRest(facts, cleaning, {
      cleaned: [...cleaned, ...onIt],
      message: `node ${job.node} is gone, and ${listed(onIt)} with it`,
    });
  }
  const message = troubleOf(pods, 'cleanup');
  const because = 'the cleanup is running';
  return (
    reportIfNew(facts, { ...inProgress(cleaning), message, because }) ??
    // Nobody watches nodes.
    waitFor(`cleanup Job ${job.name} to end`, isUnscheduled ? RECHECK_MS : JOB_RECHECK_MS)
  );
}

/** The failed Job stays until the next try, for people, and as the memory of how often it was tried. */
function tryAgain({ facts, cleaning, left }: Progress, job: JobView): BuildDecision {
  const { pods, nowMs } = facts;
  const { phase } = cleaning;
  const failure = failureOf(job, pods);
  const message = `${failure.message} (attempt ${job.attempt}); still to be removed: ${listed(left)}`;
  const event = { reason: 'CleanupFailed', action: 'Clean', note: message, occasion: job.uid };
  const waitMs = retryAtMs(job, nowMs) - nowMs;
  return (
    (showsEndOf(pods, job) ? undefined : requireLiveChildren(facts, `cleanup Job ${job.name} has failed`)) ??
    reportIfNew(facts, {
      ...during(phase),
      reason: 'CleanupFailed',
      message,
      stalled: true,
      because: 'the cleanup has failed',
      event: { type: 'Warning', ...event },
    }) ??
    (waitMs > 0
      ? waitFor(`the next attempt of cleanup Job ${job.name}: ${failure.reason}`, waitMs)
      : deleteJob(facts, job, {
          propagation: 'Background',
          because: 'the cleanup is due for another attempt',
        }))
  );
}

function retryAtMs({ endedAt, attempt }: JobView, nowMs: number): number {
  const pauseMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(attempt - 1, 10), RETRY_MOST_MS);
  const ended = Date.parse(endedAt);
  // Never later than a pause from now, whatever the server's clock says.
  return Math.min(Number.isNaN(ended) ? nowMs : ended, nowMs) + pauseMs;
}

function nextNode({ facts, cleaning, cleaned, left }: Progress, finished: readonly JobView[]): BuildDecision {
  if (cleaned.length > 0) return keepRest(facts, cleaning, { cleaned, message: '' });
  const [job] = finished;
  if (job === undefined) return createCleanup(facts, cleaning, left);
  if (job.deleting) return waitToGo(job);
  return deleteJob(facts, job, {
    propagation: 'Background',
    because: 'the cleanup Job of the next node needs the same name',
  });
}

interface Rest {
  readonly cleaned: readonly Artifact[];
  readonly message: string;
}

/** The status without what is clean. */
function keepRest(facts: Facts, cleaning: Cleaning, { cleaned, message }: Rest): BuildDecision {
  return report(facts, {
    ...inProgress(cleaning),
    message,
    artifacts: without(facts.build.status.artifacts ?? [], cleaned),
    because: `${listed(cleaned)} is removed`,
  });
}

function inProgress({ phase }: Cleaning) {
  return { ...during(phase), reason: phase === 'Succeeded' ? 'Built' : 'Cleaning' } as const;
}

function createCleanup(facts: Facts, cleaning: Cleaning, left: readonly Artifact[]): BuildDecision {
  const { jobName, phase, finish } = cleaning;
  const [first] = left;
  if (first === undefined) return finish([]);
  const { node } = first;
  const onIt = left.filter((artifact) => artifact.node === node).slice(0, BINARIES_MAX);
  const binaries = onIt.map(({ binary }) => binary);
  const cleanup = { jobName, node, binaries, attempt: (facts.attempts ?? 0) + 1 };
  return createWhenPossible(facts, {
    jobName,
    phase,
    create: () => ({
      do: 'createCleanupJob',
      because: `${listed(onIt)} has to be removed`,
      cleanup,
      deletes: deletionOf(facts, left),
    }),
  });
}

/** Of all nodes: one approval is enough. */
function deletionOf({ build }: Facts, left: readonly Artifact[]): Deletion {
  return {
    what: 'file',
    count: left.length,
    names: () => left.map(({ node, binary }) => `${binary} on ${node}`),
    of: build.deleting ? 'the resource is being deleted' : `generation ${build.generation}`,
  };
}
