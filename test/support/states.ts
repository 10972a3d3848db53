import { ApiError } from '../../src/api/api-error.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { causeOfOverride } from '../../src/api/refusal.ts';
import { conditionsAfter, type Condition, type Finding } from '../../src/engine/condition.ts';
import { BUILD_KIND } from '../../src/controllers/git-build/kind.ts';
import { causeOfError } from '../../src/kubernetes/causes.ts';
import { decide, updated } from './build-decisions.ts';
import { SAMPLE } from './build-samples.ts';
import { aBuildView, aCleanupView, aJobView, aPodView, type BuildSeen } from './build-views.ts';
import {
  aPodOf,
  aPodSet,
  lookedFor,
  NAMESPACE,
  refusedBecause,
  statusWrite,
  type Known,
  type OwnedPodBuilder,
  type PodSetBuilder,
} from './pod-sets.ts';

/*
 * A PodSet and an Xxx in every state that their status tells of, as the operator's own functions write it; and what
 * tools that know nothing of us are to make of it.
 */

export interface State {
  readonly name: string;
  readonly object: KubernetesObject;
  /** Source: kubernetes-sigs/cli-utils, pkg/kstatus/status. */
  readonly kstatus: 'InProgress' | 'Current' | 'Failed' | 'Terminating';
  /** Of Argo CD. */
  readonly health: 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended';
}

type Verdict = Pick<State, 'kstatus' | 'health'>;

const PROGRESSING: Verdict = { kstatus: 'InProgress', health: 'Progressing' };
const READY: Verdict = { kstatus: 'Current', health: 'Healthy' };
const STALLED: Verdict = { kstatus: 'Failed', health: 'Degraded' };
/** To kstatus, what is not Ready is in progress, also if nobody works on it. */
const NOT_READY: Verdict = { kstatus: 'InProgress', health: 'Degraded' };
/** kstatus knows no pause. */
const HELD: Verdict = { kstatus: 'InProgress', health: 'Suspended' };
/** Argo CD never asks a script about an object that is being deleted. */
const DELETING: Verdict = { kstatus: 'Terminating', health: 'Progressing' };

const BEFORE: object = { observedGeneration: -1 };

const PAUSED: Finding = {
  type: 'Paused',
  status: 'True',
  reason: 'Paused',
  message: 'createPods is paused',
};
const AWAITING: Finding = {
  type: 'AwaitingApproval',
  status: 'True',
  reason: 'ApprovalRequired',
  message: 'would delete 290 Pods',
};

function withFindings(conditions: readonly Condition[] = [], ...findings: readonly Finding[]) {
  const others = conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message }));
  return conditionsAfter(conditions, [...others, ...findings], {
    generation: 1,
    now: '2026-01-01T12:00:00Z',
  });
}

function* podSetStates(): Iterable<State> {
  const set = aPodSet().wanting(2);
  const [a, b] = [aPodOf(set, 'web-pod-a'), aPodOf(set, 'web-pod-b')];
  const naming = set.withStatus({ podNames: ['web-pod-b'] });
  const failed = [a.failed().createdAgo(1), b.failed().createdAgo(1)];
  const state = (name: string, verdict: Verdict, podSet: PodSetBuilder): State => ({
    name: `a PodSet ${name}`,
    object: podSet.object,
    ...verdict,
  });
  yield state('before the first reconcile', PROGRESSING, set.withStatus({ observedGeneration: -1 }));
  yield state('whose Pods are Ready', READY, reported(set, [a, b]));
  yield state('without Pods, as desired', READY, reported(set.wanting(0), []));
  yield state('whose spec has changed since', PROGRESSING, reported(set, [a, b]).ofGeneration(2));
  yield state('whose Pods are being created', PROGRESSING, reported(set.wanting(999), manyPods(set)));
  yield state('whose Pods are being deleted', PROGRESSING, reported(set.wanting(1), manyPods(set)));
  yield state('whose Pods are not Ready yet', PROGRESSING, reported(set, [a, b.unreadyFor(59)]));
  yield state('whose Pods are not known', PROGRESSING, reported(naming, [a], lookedFor([])));
  const unready = (why: string, pod: OwnedPodBuilder, node?: object) =>
    state(
      `of which a Pod ${why}`,
      NOT_READY,
      reported(set, [a, pod.on('n1')], { lookups: { 'node n1': node } }),
    );
  const waiting = (reason: string) => b.withContainer({ state: { waiting: { reason } } });
  yield unready('was not Ready for a minute', b.unreadyFor(60));
  yield unready('is on a node that is not ready', b.unreadyFor(60), {
    metadata: { name: 'n1' },
    status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
  });
  yield unready('waits for a gate', b.gated('example.com/quota'));
  yield unready('fits on no node', b.unschedulable('0/1 nodes are available: 1 Insufficient cpu.'));
  yield unready('has an image that is missing', waiting('ErrImagePull'));
  yield unready('has a container that cannot start', waiting('CreateContainerError'));
  yield unready('has a container that ends again and again', waiting('CrashLoopBackOff'));
  yield state('whose Pods failed', PROGRESSING, reported(set, failed));
  const refused = (why: string, known: Known, podSet = set, ...pods: readonly OwnedPodBuilder[]) =>
    state(`of which ${why}`, STALLED, reported(podSet, pods, known));
  for (const words of ['exceeded quota', 'violates PodSecurity', 'failed calling webhook "w"', 'denied'])
    yield refused(`new Pods are refused: ${words}`, refusedBecause(words), set, a);
  const overridden = { refused: { step: 'createPods', cause: causeOfOverride('a policy changed a label') } };
  yield refused('new Pods are changed by a policy', overridden, set, a);
  const forbidden = new ApiError('no', { classification: 'access-denied' });
  const WHERE = { resource: 'podset/web', namespace: NAMESPACE };
  const undeleted = { refused: { step: 'deletePods', cause: causeOfError(forbidden, WHERE) } };
  yield refused('no Pods may be deleted', undeleted, set.wanting(1), a, b);
  yield refused('Pods may not be adopted', refusedBecause('denied', 'adoptPods'), set, a, b.orphaned());
  const lost = lookedFor(['web-pod-b'], b.relabelled());
  yield refused(
    'Pods may not be released',
    { ...refusedBecause('denied', 'releasePods'), ...lost },
    naming,
    a,
  );
  yield state('with an invalid spec', STALLED, reported(set.wanting(-1), [a]));
  yield state('that is being deleted', DELETING, reported(set.wanting(999), manyPods(set)).beingDeleted());
  const surplus = reported(set.wanting(1), manyPods(set));
  const held = (finding: Finding) =>
    surplus.withStatus({ conditions: withFindings(surplus.object.status?.conditions, finding) });
  yield state('that is paused', HELD, held(PAUSED));
  const fresh = set.withStatus({ observedGeneration: -1, conditions: withFindings([], PAUSED) });
  yield state('that is paused before it was ever reconciled', HELD, fresh);
  yield state('that awaits approval', HELD, held(AWAITING));
}

/** Enough for a status before the work is done. */
function manyPods(set: PodSetBuilder): OwnedPodBuilder[] {
  return Array.from({ length: 100 }, (_, index) => aPodOf(set, `web-pod-${index}`));
}

/** With the status that is to be written for these Pods. */
function reported(podSet: PodSetBuilder, pods: readonly OwnedPodBuilder[], known: Known = {}): PodSetBuilder {
  return podSet.withStatus(statusWrite(podSet, pods, known).status);
}

const ENDED = '2026-11-21T12:00:00Z';
const OLD = { node: 'node-1', binary: 'old' };
const ARTIFACTS = [{ node: 'node-1', binary: 'helloworld' }];
const DELETED = { deleting: true, deletedAt: '2026-11-21T11:30:00Z' };
const OVER: object = {
  phase: 'Succeeded',
  observedGeneration: 1,
  completionTime: ENDED,
  artifacts: ARTIFACTS,
};

const REFUSALS = ['QuotaExceeded', 'PodSecurity', 'WebhookUnavailable', 'Refused', 'NamespaceTerminating'];

function* buildStates(): Iterable<State> {
  const failure = { state: 'failed', endedAt: ENDED, failureMessage: 'too often' } as const;
  const invalid = { ...SAMPLE, gitUrl: 'ext::sh' };
  const rebuilt = aBuildView({ ...OVER, artifacts: [OLD, ...ARTIFACTS] });
  const deleting = aBuildView(OVER, DELETED);
  yield { name: 'an Xxx before the first reconcile', object: buildWith(BEFORE), ...PROGRESSING };
  const state = (name: string, verdict: Verdict, seen: Partial<BuildSeen>): State => ({
    name: `an Xxx ${name}`,
    object: reportedBuild({ build: aBuildView(BEFORE), ...seen }),
    ...verdict,
  });
  yield state('whose old Job is being deleted', PROGRESSING, {
    jobs: [aJobView({ hash: 'old', deleting: true })],
  });
  yield state('whose Job is running', PROGRESSING, { jobs: [aJobView()], pods: [aPodView()] });
  for (const code of [
    'ImageNotPulled',
    'ContainerCannotStart',
    'Unschedulable',
    'SchedulingGated',
  ] as const) {
    const trouble = { code, text: 'cannot start' };
    const pods = [aPodView({ started: false, trouble }), aPodView({ purpose: 'cleanup', trouble })];
    const nodes = { 'node-1': 'there' } as const;
    yield state(`whose Pod cannot start: ${code}`, PROGRESSING, { jobs: [aJobView()], pods });
    const jobs = [aCleanupView({ binaries: ['old'] })];
    yield state(`whose cleanup cannot start: ${code}`, READY, { build: rebuilt, jobs, pods, nodes });
  }
  yield state('whose Job is suspended', PROGRESSING, { jobs: [aJobView({ suspendedBy: 'Kueue' })] });
  yield state('whose cleanup is suspended', READY, {
    build: rebuilt,
    jobs: [aCleanupView({ binaries: ['old'], suspendedBy: '' })],
  });
  yield state('whose Pod still runs another container', PROGRESSING, {
    jobs: [aJobView()],
    pods: [aPodView({ exitCode: 0, running: ['proxy'], endedAt: '2026-01-01T00:00:00Z' })],
  });
  yield state('whose old Pod still runs', PROGRESSING, { pods: [aPodView({ hash: 'old' })] });
  const stuck = {
    pods: [aPodView({ purpose: 'cleanup' })],
    nodes: { 'node-1': { notReady: 'Ready=Unknown' } },
  };
  yield state('whose old binary stays on a node that is not ready', STALLED, {
    ...{ ...stuck, build: rebuilt, jobs: [aCleanupView({ binaries: ['old'] })] },
  });
  yield state(
    'whose cleanup is on a node that is not ready',
    { ...DELETING, health: 'Degraded' },
    { ...stuck, build: aBuildView({ ...OVER, phase: 'Cleaning' }, DELETED), jobs: [aCleanupView()] },
  );
  const built = state('that is built', READY, {
    jobs: [aJobView({ state: 'succeeded', endedAt: ENDED })],
    pods: [aPodView({ phase: 'succeeded', endedAt: ENDED })],
  });
  yield built;
  yield { ...built, ...PROGRESSING, name: 'an Xxx whose spec has changed since', object: changed(built) };
  yield state('whose Job failed', STALLED, {
    jobs: [aJobView(failure)],
    pods: [aPodView({ phase: 'failed' })],
  });
  yield state('with an invalid spec', STALLED, { build: aBuildView(BEFORE, { spec: invalid }) });
  yield state('whose Job name is taken', STALLED, { names: { [SAMPLE.jobName]: 'foreign' } });
  yield state('whose Job was changed by a policy', STALLED, { names: { [SAMPLE.jobName]: 'altered' } });
  yield state('whose old binary cannot be removed', STALLED, {
    build: rebuilt,
    jobs: [aCleanupView({ ...failure, binaries: ['old'] })],
  });
  const cleanup = `${SAMPLE.jobName}-delete`;
  yield state('whose old binary stays since a Job name is taken', STALLED, {
    build: rebuilt,
    names: { [cleanup]: 'foreign' },
  });
  yield state('whose old binary stays since a policy changed a Job', STALLED, {
    build: rebuilt,
    names: { [cleanup]: 'altered' },
  });
  for (const reason of REFUSALS) {
    const refusal = { reason, message: 'denied', advice: [] };
    const of = (step: string) => ({ step, cause: refusal });
    yield state(`whose Job is refused: ${reason}`, STALLED, { refused: of('createJob') });
    yield state(`whose old binary stays since a Job is refused: ${reason}`, STALLED, {
      build: rebuilt,
      refused: of('createCleanupJob'),
    });
  }
  const podsRefused = { reason: 'Refused', message: 'denied', advice: [] };
  yield state('whose Pods are refused', STALLED, {
    jobs: [aJobView()],
    refusedPods: { 'job-1': podsRefused },
  });
  yield state('whose old binary stays since the Pods of its cleanup are refused', STALLED, {
    build: rebuilt,
    jobs: [aCleanupView({ binaries: ['old'] })],
    refusedPods: { 'cleanup-1': podsRefused },
  });
  yield state('whose cleanup is running', DELETING, { build: deleting, jobs: [aJobView()] });
  yield state(
    'whose cleanup failed',
    { ...DELETING, health: 'Degraded' },
    {
      build: aBuildView({ ...OVER, phase: 'Cleaning' }, DELETED),
      jobs: [aCleanupView(failure)],
    },
  );
  const retiring = reportedBuild({ build: aBuildView(), jobs: [aJobView({ hash: 'old' })] });
  const held = (finding: Finding): KubernetesObject => {
    const status = statusOf(retiring);
    return { ...retiring, status: { ...status, conditions: withFindings(status.conditions, finding) } };
  };
  yield { name: 'an Xxx that is paused', object: held(PAUSED), ...HELD };
  yield { name: 'an Xxx that awaits approval', object: held(AWAITING), ...HELD };
}

function buildWith(status: object, { generation = 1, deletedAt = '' } = {}): KubernetesObject {
  return {
    ...BUILD_KIND,
    metadata: {
      name: 'sample',
      namespace: 'shop',
      uid: 'uid-1',
      resourceVersion: '7',
      generation,
      ...(deletedAt !== '' && { deletionTimestamp: deletedAt }),
    },
    spec: SAMPLE,
    status,
  };
}

function changed({ object }: State): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, generation: 2 } };
}

/** With the status that is to be written for what was seen. */
function reportedBuild(seen: Partial<BuildSeen> & Pick<BuildSeen, 'build'>): KubernetesObject {
  return buildWith(updated(seen.build.status, decide(seen)), seen.build);
}

function statusOf(object: KubernetesObject): { readonly conditions?: readonly Condition[] } {
  const { status } = object;
  return typeof status === 'object' && status !== null ? status : {};
}

export const STATES: readonly State[] = [...podSetStates(), ...buildStates()];
