import { waitFor, warning, type Deletion } from '../../contract/decision.ts';
import { unreachable } from '../../contract/unreachable.ts';
import { showLogs, troubleIn, wayOut, type BuildCause } from './causes.ts';
import { failureOf } from './failure.ts';
import { createWhenPossible, deleteJob, RECHECK_MS, RETIRING_MS, stallWith } from './job-rules.ts';
import { knownOf, type BuildDecision, type Facts } from './observation.ts';
import { BINARIES_MAX, type Artifact } from './resource.ts';
import { awaitEnd } from './running-job.ts';
import { sharedEvent, sharedIn } from './sharing.ts';
import { listed, report, without } from './status.ts';
import type { JobView, PodView } from './views.ts';

/** What to remove from nodes, one node after the other, by Jobs of one name. */
export interface Cleaning {
  readonly artifacts: readonly Artifact[];
  readonly jobName: string;
  /** What the status says meanwhile. */
  readonly phase: 'Cleaning' | 'Succeeded';
  /** What to do once all are removed. */
  readonly finish: (cleaned: readonly Artifact[]) => BuildDecision;
}

/** A cleanup that takes longer may be on a node that is not ready. */
const SLOW_MS = 20_000;
const RETRY_FIRST_MS = 10_000;
const RETRY_MOST_MS = 300_000;

/**
 * The next step towards nodes without these artifacts. A cleanup Job that has succeeded proves that its node is clean. Its
 * artifacts leave the status before the Job is deleted, so that none is cleaned twice or forgotten.
 */
export function cleanAway(facts: Facts, cleaning: Cleaning): BuildDecision {
  const { artifacts, finish } = cleaning;
  const cleanups = facts.jobs
    .filter(({ purpose }) => purpose === 'cleanup')
    .map((job) => (hasCleaned(job, facts.pods) ? { ...job, state: 'succeeded' as const } : job));
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

/** What its container says counts: others that were added to its Pod may run on, or fail. */
function hasCleaned({ uid }: JobView, pods: readonly PodView[]): boolean {
  return pods.some(({ jobUid, exitCode }) => jobUid === uid && exitCode === 0);
}

function covers(job: JobView, { node, binary }: Artifact): boolean {
  return job.node === node && job.binaries.includes(binary);
}

function proves(job: JobView, artifact: Artifact): boolean {
  return job.state === 'succeeded' && covers(job, artifact);
}

/** A cleanup that has not succeeded. */
function attend(progress: Progress, job: JobView): BuildDecision {
  const { left } = progress;
  if (job.deleting) return waitToGo(job);
  if (!left.some((each) => covers(job, each))) {
    const propagation = job.state === 'active' ? 'Foreground' : 'Background';
    return deleteJob(job, { propagation, because: 'there is nothing left for it to remove' });
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

/** If no node takes the Pod, its node may be gone, with all that was on it. */
function follow({ facts, cleaning, cleaned, left }: Progress, job: JobView): BuildDecision {
  const { pods, nodes } = facts;
  const unfinished = pods.filter(({ purpose, phase }) => purpose === 'cleanup' && phase === 'unfinished');
  const isUnscheduled = unfinished.some(({ trouble }) => trouble?.code === 'Unschedulable');
  // At most so long, even if the server's clock is ahead.
  const leftMs = Math.min(Date.parse(job.createdAt) + SLOW_MS - facts.nowMs, SLOW_MS);
  const isSlow = !(leftMs > 0) && unfinished.length > 0;
  const node = knownOf(nodes, job.node);
  if ((isUnscheduled || isSlow) && node === undefined) {
    const because = isUnscheduled ? 'the cleanup Pod cannot be scheduled' : 'the cleanup Pod does not end';
    return { do: 'observe', because, what: 'node', node: job.node };
  }
  if (typeof node === 'object') return stuck(facts, cleaning, { job, why: node.notReady });
  if (isUnscheduled && node === 'gone') {
    const onIt = left.filter((artifact) => artifact.node === job.node);
    return keepRest(facts, cleaning, {
      cleaned: [...cleaned, ...onIt],
      message: `node ${job.node} is gone, and ${listed(onIt)} with it`,
    });
  }
  const { build } = facts;
  const trouble = troubleIn(job, pods, build.namespace);
  return awaitEnd(facts, job, {
    action: 'Clean',
    meanwhile: { phase: cleaning.phase },
    otherwise: reasonDuring(cleaning),
    trouble: trouble && { ...trouble, advice: [...trouble.advice, ...wayOut(build)] },
    because: 'the cleanup is running',
    // Nobody watches nodes.
    recheckMs: leftMs > 0 ? leftMs : RECHECK_MS,
  });
}

interface Stuck {
  readonly job: JobView;
  readonly why: string;
}

/** Its Pod tolerates every taint, so it is bound to the node, and waits there for a kubelet. */
function stuck(facts: Facts, { phase }: Cleaning, { job, why }: Stuck): BuildDecision {
  const { build } = facts;
  const cause: BuildCause = {
    reason: 'CleanupStuck',
    message: `cleanup Job ${job.name} cannot run: node ${job.node} is ${why}`,
    advice: [
      'bring the node back, or delete the Node if the machine is gone for good',
      { run: `kubectl describe node ${job.node}`, to: 'see how the node is' },
      { run: `kubectl delete node ${job.node}`, to: 'say that the machine is gone for good' },
      ...wayOut(build),
    ],
  };
  return stallWith(facts, {
    cause,
    phase,
    because: 'the node of the cleanup is not ready',
    event: warning(cause, 'Clean', job.uid),
    recheckMs: RECHECK_MS,
  });
}

/** The failed Job stays until the next attempt, so that people can read its logs. */
function tryAgain({ facts, cleaning, left }: Progress, job: JobView): BuildDecision {
  const { build, pods, nowMs } = facts;
  const cause: BuildCause = {
    reason: 'CleanupFailed',
    message: `${failureOf(job, pods)}; still to be removed: ${listed(left)}`,
    advice: [showLogs(job.name, build.namespace, 'cleanup'), ...wayOut(build)],
  };
  const waitMs = retryAtMs(job, facts) - nowMs;
  const decision = stallWith(facts, {
    cause,
    phase: cleaning.phase,
    because: 'the cleanup has failed',
    event: warning(cause, 'Clean', job.uid),
    recheckMs: waitMs,
  });
  return decision.do === 'stalled' && waitMs <= 0
    ? deleteJob(job, { propagation: 'Background', because: 'the cleanup is due for another attempt' })
    : decision;
}

/** Each pause is as long as the cleanup had lasted before this attempt, so pauses double. */
function retryAtMs({ createdAt, endedAt }: JobView, { build, nowMs }: Facts): number {
  const since = build.deleting ? build.deletedAt : (build.status.completionTime ?? '');
  const lastedMs = Date.parse(createdAt) - Date.parse(since) || 0;
  const pauseMs = Math.min(Math.max(lastedMs, RETRY_FIRST_MS), RETRY_MOST_MS);
  // At most a pause from now, even if the server's clock is ahead.
  return Math.min(Date.parse(endedAt) || nowMs, nowMs) + pauseMs;
}

function nextNode({ facts, cleaning, cleaned, left }: Progress, finished: readonly JobView[]): BuildDecision {
  if (cleaned.length > 0) return keepRest(facts, cleaning, { cleaned, message: '' });
  const [job] = finished;
  if (job === undefined) return createCleanup(facts, cleaning, left);
  if (job.deleting) return waitToGo(job);
  return deleteJob(job, {
    propagation: 'Background',
    because: 'the cleanup Job of the next node needs the same name',
  });
}

interface Rest {
  readonly cleaned: readonly Artifact[];
  readonly message: string;
}

/** Take what is clean off the status. */
function keepRest(facts: Facts, cleaning: Cleaning, { cleaned, message }: Rest): BuildDecision {
  return report(facts, {
    phase: cleaning.phase,
    reason: reasonDuring(cleaning),
    message,
    artifacts: without(facts.build.status.artifacts ?? [], cleaned),
    because: `${listed(cleaned)} is removed`,
  });
}

function reasonDuring({ phase }: Cleaning) {
  return phase === 'Succeeded' ? 'Built' : 'Cleaning';
}

/** The file of another resource stays, and is no longer that of this one. */
function leave(facts: Facts, cleaning: Cleaning, shared: readonly Artifact[]): BuildDecision {
  const { build, sharers = [] } = facts;
  return report(facts, {
    phase: cleaning.phase,
    reason: reasonDuring(cleaning),
    artifacts: without(build.status.artifacts ?? [], shared),
    because: `${listed(shared)} is also the file of another resource`,
    event: sharedEvent(build, shared, sharers),
  });
}

function createCleanup(facts: Facts, cleaning: Cleaning, left: readonly Artifact[]): BuildDecision {
  const { jobName, phase, finish } = cleaning;
  const [first] = left;
  if (first === undefined) return finish([]);
  const { sharers } = facts;
  if (sharers === undefined) {
    const because = 'another resource may have the same file';
    return { do: 'observe', because, what: 'sharers', artifacts: left };
  }
  const shared = sharedIn(left, sharers);
  if (shared.length > 0) return leave(facts, cleaning, shared);
  const { node } = first;
  const onIt = left.filter((artifact) => artifact.node === node).slice(0, BINARIES_MAX);
  const binaries = onIt.map(({ binary }) => binary);
  return createWhenPossible(facts, {
    jobName,
    phase,
    create: () => ({
      do: 'createCleanupJob',
      because: `${listed(onIt)} has to be removed`,
      cleanup: { jobName, node, binaries },
      deletes: deletionOf(facts, left),
    }),
  });
}

/** One approval covers all nodes. */
function deletionOf({ build }: Facts, left: readonly Artifact[]): Deletion {
  return {
    what: 'file',
    count: left.length,
    objects: () =>
      left.map(({ node, binary }) => ({ name: `${binary} on ${node}`, uid: `${node} ${binary}` })),
    interchangeable: build.deleting ? 'the resource is being deleted' : `generation ${build.generation}`,
  };
}
