import { inOneLine, type DecidedEvent } from '../../api/index.ts';
import { listed, without } from './artifacts.ts';
import { showLogs, jobTroubleIn, wayOut, type BuildCause } from './causes.ts';
import { withStatus, type Facts } from './facts.ts';
import { failureOf } from './failure.ts';
import {
  createWhenPossible,
  deletionOf,
  RECHECK_MS,
  RETIRING,
  stallWith,
  toldRefusal,
  type Meanwhile,
} from './job-rules.ts';
import { BINARIES_MAX, type Artifact } from './kind.ts';
import { nodeState } from './node.ts';
import type { BuildReason } from './reasons.ts';
import { awaitEnd } from './running-job.ts';
import { sharedEvent, sharedIn } from './sharing.ts';
import { leftMs, recording, type StatusChange, type BuildVerdict } from './verdict.ts';
import type { JobView, PodView } from './views.ts';

/** What to remove from nodes, one node after the other, by Jobs of one name. */
export interface Cleaning {
  readonly artifacts: readonly Artifact[];
  readonly jobName: string;
  /** What the status says meanwhile. */
  readonly phase: 'Cleaning' | 'Succeeded';
  /** What to do once all are removed. */
  readonly finish: (cleaned: readonly Artifact[]) => BuildVerdict;
  /** In a namespace that accepts no new Jobs. */
  readonly otherwise: () => BuildVerdict;
}

/** A cleanup that takes longer may be on a node that is not ready. */
const SLOW_MS = 20_000;
const RETRY_FIRST_MS = 10_000;
const RETRY_MOST_MS = 300_000;

/**
 * The next step towards nodes without these artifacts. A cleanup Job that has succeeded proves that its node is clean. Its
 * artifacts leave the status before the Job is deleted, so that none is cleaned twice or forgotten.
 */
export function cleanAway(facts: Facts, cleaning: Cleaning): BuildVerdict {
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
function attend(progress: Progress, job: JobView): BuildVerdict {
  const { left, cleaning } = progress;
  if (job.deleting) return waitToGo(cleaning, job);
  const isActive = job.state === 'active';
  if (!left.some((each) => covers(job, each)))
    return remove(cleaning, job, {
      propagation: isActive ? 'Foreground' : 'Background',
      because: 'there is nothing left for it to remove',
    });
  return isActive ? follow(progress, job) : tryAgain(progress, job);
}

function meanwhile({ phase }: Pick<Cleaning, 'phase'>, more: Partial<StatusChange> = {}): Meanwhile {
  return { status: { phase, ...more }, reason: reasonDuring(phase) };
}

function reasonDuring(phase: Cleaning['phase']): BuildReason {
  return phase === 'Succeeded' ? 'Built' : 'Cleaning';
}

interface Removal {
  readonly propagation: 'Foreground' | 'Background';
  readonly because: string;
}

function remove(cleaning: Cleaning, job: JobView, { propagation, because }: Removal): BuildVerdict {
  return { ...meanwhile(cleaning), then: (next) => next.do.deleteJob(because, deletionOf(job, propagation)) };
}

function waitToGo(cleaning: Cleaning, { name }: JobView): BuildVerdict {
  const what = `cleanup Job ${name} to be deleted`;
  return { ...meanwhile(cleaning), then: (next) => next.wait(what, { recheckAfter: RETIRING }) };
}

/** If no node takes the Pod, its node may be gone, with all that was on it. */
function follow({ facts, cleaning, cleaned, left }: Progress, job: JobView): BuildVerdict {
  const { pods, build, lookups, nowMs } = facts;
  const unfinished = pods.filter(({ purpose, phase }) => purpose === 'cleanup' && phase === 'unfinished');
  const isUnscheduled = unfinished.some(({ trouble }) => trouble?.code === 'Unschedulable');
  const untilSlowMs = leftMs(job.createdAt, SLOW_MS, nowMs);
  const isSlow = untilSlowMs <= 0 && unfinished.length > 0;
  const node = isUnscheduled || isSlow ? nodeState(lookups.node(job.node)) : 'there';
  if (typeof node === 'object') return stuck(facts, cleaning, { job, why: node.notReady });
  if (isUnscheduled && node === 'gone') {
    const onIt = left.filter((artifact) => artifact.node === job.node);
    const message = `node ${job.node} is gone, and ${listed(onIt)} with it`;
    const rest = { cleaned: [...cleaned, ...onIt], left: without(left, onIt), message };
    return keepRest(facts, cleaning, rest);
  }
  const trouble = jobTroubleIn(job, pods, build.namespace);
  return awaitEnd(facts, job, {
    ...meanwhile(cleaning),
    action: 'Clean',
    trouble: trouble && { ...trouble, advice: [...trouble.advice, ...wayOut(build)] },
    // Nobody watches nodes.
    recheckMs: untilSlowMs > 0 ? untilSlowMs : RECHECK_MS,
  });
}

interface Stuck {
  readonly job: JobView;
  readonly why: string;
}

/** Its Pod tolerates every taint, so it is bound to the node, and waits there for a kubelet. */
function stuck({ build }: Facts, cleaning: Cleaning, { job, why }: Stuck): BuildVerdict {
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
  return stallWith(meanwhile(cleaning), { cause, action: 'Clean', recheckMs: RECHECK_MS });
}

/** The failed Job stays until the next attempt, so that people can read its logs. */
function tryAgain({ facts, cleaning, left }: Progress, job: JobView): BuildVerdict {
  const { build, pods, nowMs } = facts;
  const cause: BuildCause = {
    reason: 'CleanupFailed',
    message: `${failureOf(job, pods)}; still to be removed: ${listed(left)}`,
    advice: [showLogs(job.name, build.namespace, 'cleanup'), ...wayOut(build)],
  };
  const recheckMs = retryAtMs(job, facts) - nowMs;
  if (recheckMs > 0) return stallWith(meanwhile(cleaning), { cause, action: 'Clean', recheckMs });
  return {
    ...meanwhile(cleaning, { message: inOneLine(cause) }),
    then: (next) =>
      next.do.deleteJob('the cleanup is due for another attempt', deletionOf(job, 'Background')),
  };
}

/** Each pause is as long as the cleanup had lasted before this attempt, so pauses double. */
function retryAtMs({ createdAt, endedAt }: JobView, { build, nowMs }: Facts): number {
  const since = build.deleting ? build.deletedAt : (build.status.completionTime ?? '');
  const lastedMs = Date.parse(createdAt) - Date.parse(since) || 0;
  const pauseMs = Math.min(Math.max(lastedMs, RETRY_FIRST_MS), RETRY_MOST_MS);
  // At most a pause from now, even if the server's clock is ahead.
  return Math.min(Date.parse(endedAt) || nowMs, nowMs) + pauseMs;
}

function nextNode({ facts, cleaning, cleaned, left }: Progress, finished: readonly JobView[]): BuildVerdict {
  const [job] = finished;
  // Take what is clean off the status first.
  if (cleaned.length > 0) return keepRest(facts, cleaning, { cleaned, left });
  if (job === undefined) return createCleanup(facts, cleaning, left);
  if (job.deleting) return waitToGo(cleaning, job);
  const because = 'the cleanup Job of the next node needs the same name';
  return remove(cleaning, job, { propagation: 'Background', because });
}

interface Rest {
  readonly cleaned: readonly Artifact[];
  readonly left: readonly Artifact[];
  readonly message?: string;
  readonly event?: DecidedEvent;
}

/** What is clean leaves the status before anything else is done. */
function keepRest(facts: Facts, cleaning: Cleaning, { cleaned, left, ...more }: Rest): BuildVerdict {
  const artifacts = without(facts.build.status.artifacts ?? [], cleaned);
  const after = withStatus(facts, { artifacts });
  return recording(cleanAway(after, { ...cleaning, artifacts: left }), { artifacts }, more);
}

function createCleanup(facts: Facts, cleaning: Cleaning, left: readonly Artifact[]): BuildVerdict {
  const { jobName, finish, otherwise } = cleaning;
  const [first] = left;
  if (first === undefined) return finish([]);
  const { build, lookups } = facts;
  const sharers = lookups.sharers ?? [];
  const shared = sharedIn(left, sharers);
  // The file of another resource stays, and is no longer that of this one.
  if (shared.length > 0)
    return keepRest(facts, cleaning, {
      cleaned: shared,
      left: without(left, shared),
      event: sharedEvent(build, shared, sharers),
    });
  const { node } = first;
  const onIt = left.filter((artifact) => artifact.node === node).slice(0, BINARIES_MAX);
  const binaries = onIt.map(({ binary }) => binary);
  return createWhenPossible(facts, {
    ...{ ...meanwhile(cleaning), jobName, holder: 'cleanupHolder', otherwise },
    create: () => ({
      ...meanwhile(cleaning, toldRefusal(facts, 'createCleanupJob')),
      then: (next) =>
        next.do.createCleanupJob(`${listed(onIt)} has to be removed`, { jobName, node, binaries, left }),
    }),
  });
}
