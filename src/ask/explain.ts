import type { KubernetesObject } from '../contract/object.ts';
import { displayName } from '../contract/resource.ts';
import type { Advice, Trouble } from '../contract/words.ts';
import { unreachable } from '../contract/unreachable.ts';
import { ApiError } from '../kubernetes/errors.ts';
import type { Explanation, Fact } from './explanation.ts';
import type { Asked, Findings, Found } from './findings.ts';
import { adviceOn, idleWords } from './general-advice.ts';
import { durationText } from './output.ts';
import { commandFor, nameOfKind } from './resource-name.ts';
import { ENCRYPTED_WORDS, type SignalEntry, type StepEntry } from './run-story.ts';
import { decisionText, lastStepOf, serversWords, shown } from './sentences.ts';
import type { Run } from './runs.ts';
import { conditionsIn, stateByDecision, stateByStatus, stateOfRun, type State } from './state.ts';
import { whyNobodyWorks, type Idle } from './workers.ts';

/** Why a resource is as it is, and what a person can do. Pure. */
export function explain(findings: Findings): Explanation {
  const { found, asked } = findings;
  if (asked.is === 'away') return withoutTemporal(findings, asked.problem);
  switch (found.is) {
    case 'unreadable':
      return unreadable(findings, found.error);
    case 'gone':
      return gone(findings, asked);
    case 'there': {
      const there = { ...findings, found, asked };
      return asked.run?.isOpen === true ? inProgress({ ...there, run: asked.run }) : atRest(there);
    }
    default:
      return unreachable(found);
  }
}

type Reached = Extract<Asked, { is: 'reached' }>;

/** Both the cluster and Temporal have answered, and the resource is there. */
interface Known extends Findings {
  readonly found: Extract<Found, { is: 'there' }>;
  readonly asked: Reached;
}

interface Open extends Known {
  readonly run: Run;
}

function nameOf({ controller, place }: Pick<Findings, 'controller' | 'place'>): string {
  return `${controller.primary.type.kind} ${displayName({ ...place, uid: '' })}`;
}

function command(name: string, to: string, { place, controller }: Findings): Advice {
  return { run: commandFor(name, place, controller), to };
}

function withoutTemporal(findings: Findings, problem: string): Explanation {
  return {
    resource: nameOf(findings),
    state: undefined,
    headline: 'cannot be explained: Temporal cannot be asked',
    facts: [
      { label: 'because', text: problem },
      ...wantedAndThere(findings),
      ...nextFact(findings, 'with the default options'),
    ],
    advice: ['start Temporal, or correct the address; the operator keeps changes until then, and loses none'],
    exit: 2,
  };
}

function unreadable(findings: Findings, error: ApiError): Explanation {
  const { type } = findings.controller.primary;
  if (error.classification !== 'api-missing') {
    return {
      resource: nameOf(findings),
      state: undefined,
      headline: 'cannot be read',
      facts: [{ label: 'because', text: serversWords(error.message) }],
      advice: [`ask for the right to get ${type.plural}${inGroup(type.group)}`],
      exit: 2,
    };
  }
  return {
    resource: nameOf(findings),
    state: undefined,
    headline: `cannot exist: the cluster does not know the kind ${type.kind}`,
    facts: [
      {
        label: 'because',
        text: `the custom resource definition ${type.plural}.${type.group} is not installed`,
      },
      {
        label: 'meanwhile',
        text: 'the operator looks for it again and again; its other controllers run',
      },
    ],
    advice: ['install the custom resource definitions, with the chart or from deploy/crd'],
    exit: 1,
  };
}

function inGroup(group: string): string {
  return group === '' ? '' : `.${group}`;
}

function gone(findings: Findings, { run, story, workers, taskQueue }: Reached): Explanation {
  const { controller, place, nowMs, link } = findings;
  const resource = nameOf(findings);
  const { kind, namespaced } = controller.primary.type;
  if (run === undefined) {
    const where = namespaced ? ` -n ${place.namespace}` : '';
    const list = `kubectl durable get ${nameOfKind(controller)}${where}`;
    return {
      resource,
      state: undefined,
      headline: 'does not exist',
      facts: [
        {
          label: 'because',
          text: `the cluster has no such ${kind}, and Temporal has no run of one of that name, as far back as it keeps them`,
        },
      ],
      advice: [{ run: list, to: 'list those that exist' }],
      exit: 1,
    };
  }
  const history = command('history', 'what happened to it', findings);
  if (run.isOpen) {
    const idle = run.task && whyNobodyWorks(workers, run);
    return {
      resource,
      state: undefined,
      headline: 'is gone, but its run is still open',
      facts: [
        { label: 'run', text: `open for ${since(run.startedAtMs, nowMs)}` },
        {
          label: 'because',
          text: idle
            ? idleWords(idle, { taskQueue }).because
            : 'the operator ends it once it sees that the resource is gone',
        },
      ],
      advice: [...(idle ? idleWords(idle, { taskQueue }).advice : []), history],
      link,
      exit: 1,
    };
  }
  return {
    resource,
    state: undefined,
    headline: 'is gone: it was deleted',
    facts: lastRun({ run, story, nowMs }),
    advice: [history],
    link,
    exit: 1,
  };
}

/** A run is open for the resource. */
function inProgress(open: Open): Explanation {
  const { run, asked } = open;
  const idle = run.task === undefined ? undefined : whyNobodyWorks(asked.workers, run);
  if (idle !== undefined && run.pending.length === 0) return idling(open, idle);
  const state = stateOfRun(run);
  switch (state) {
    case 'Retrying':
      return retrying(open);
    case 'Stalled':
      return stalled(open);
    case 'Paused':
    case 'AwaitingApproval':
      return held(open, state);
    case 'Waiting':
      return waiting(open);
    case 'Reconciling':
    case 'UpToDate':
    case 'Ignored':
      return reconciling(open);
    default:
      return unreachable(state);
  }
}

function idling(open: Open, idle: Idle): Explanation {
  const { because, advice } = idleWords(idle, open.asked);
  return openRun(open, {
    state: 'Waiting',
    headline: 'is waiting for a worker',
    facts: [{ label: 'because', text: because }],
    advice,
  });
}

function retrying(open: Open): Explanation {
  const { run, found, controller, nowMs } = open;
  const pending = run.pending.find(({ failure }) => failure !== undefined) ?? run.pending[0];
  const { step = '', attempt = 1, nextTryAtMs, failure } = pending ?? {};
  const message = shown(failure?.message ?? '');
  const type = failure?.type ?? '';
  const next =
    nextTryAtMs === undefined || nextTryAtMs <= nowMs
      ? 'in progress'
      : `next in ${durationText(nextTryAtMs - nowMs)}`;
  const trouble: Trouble = { is: 'failing', step, failure: type, message: serversWords(message) };
  return openRun(open, {
    state: 'Retrying',
    headline: 'is retrying',
    facts: [
      { label: 'step', text: `${step}, attempt ${attempt}, ${next}` },
      { label: 'because', text: serversWords(message) },
    ],
    advice: [
      ...(controller.words?.advice?.(trouble, found.object) ?? adviceOn(trouble)),
      command('retry', 'try again now', open),
    ],
  });
}

function stalled(open: Open): Explanation {
  const { found, controller } = open;
  const because = restOf(open, 'stalled') ?? '';
  const trouble: Trouble = { is: 'stalled', because };
  const says = statusMessage(open);
  return openRun(open, {
    state: 'Stalled',
    headline: 'is stalled',
    facts: [
      { label: 'because', text: because },
      ...(says === '' || because.includes(says) ? [] : [{ label: 'status', text: says }]),
      { label: 'until', text: 'somebody changes it: waiting does not help, and nothing is retried' },
    ],
    advice: controller.words?.advice?.(trouble, found.object) ?? adviceOn(trouble),
  });
}

function held(open: Open, state: 'Paused' | 'AwaitingApproval'): Explanation {
  const because = restOf(open, 'held') ?? (state === 'Paused' ? 'it is paused' : 'a person has to approve');
  const would = wouldOf(open);
  return openRun(open, {
    state,
    headline: state === 'Paused' ? 'is paused' : 'is awaiting approval',
    facts: [
      { label: 'because', text: because },
      ...(would === undefined ? [] : [{ label: 'held', text: would }]),
    ],
    advice:
      state === 'Paused'
        ? [resumption(because, open), command('plan', 'what it would do', open)]
        : [
            command('plan', 'what it would delete', open),
            command('approve', 'let it', open),
            command('reject', 'keep what it would delete', open),
          ],
  });
}

/** Who has paused the Namespace has paused all in it. */
function resumption(because: string, open: Open): Advice {
  if (!because.endsWith('of its Namespace')) return command('resume', 'go on', open);
  return { run: `kubectl durable resume namespace/${open.place.namespace}`, to: 'go on with all in it' };
}

/** What its status says is wrong; empty where nothing is, or it is of a kind that has none. */
function statusMessage({ controller, found }: Known): string {
  // The conditions of a Pod are not the operator's.
  if (controller.primary.metadataOnly === true) return '';
  const conditions = conditionsIn(found.object['status']);
  const stalled = conditions.find(({ type, status }) => type === 'Stalled' && status === 'True');
  const notReady = conditions.find(({ type, status }) => type === 'Ready' && status !== 'True');
  return (stalled ?? notReady)?.message ?? '';
}

/** What is held back, in the decision's own words. */
function wouldOf({ live }: Known): string | undefined {
  if (live === undefined || live instanceof ApiError) return undefined;
  return live.next.do === 'held' && 'would' in live.next ? live.next.would : undefined;
}

function waiting(open: Open): Explanation {
  const { found, controller, asked, nowMs } = open;
  const what = (restOf(open, 'wait') ?? '').replace(/^waiting for /, '');
  const timer = asked.story?.entries.findLast((entry) => entry.kind === 'wait');
  const againMs =
    timer?.kind === 'wait' && timer.end.how === 'in progress' ? timer.atMs + timer.atMostMs : undefined;
  const isRetryAfter = timer?.kind === 'wait' && timer.summary.startsWith('Retry-After');
  const trouble: Trouble = { is: 'waiting', for: what };
  const says = statusMessage(open);
  const again = againMs === undefined || againMs <= nowMs ? '' : `, or in ${durationText(againMs - nowMs)}`;
  return openRun(open, {
    state: 'Waiting',
    headline: 'is waiting',
    facts: [
      { label: 'for', text: isRetryAfter ? 'as long as the API server asked for (Retry-After)' : what },
      ...(says === '' || what.includes(says) ? [] : [{ label: 'status', text: says }]),
      { label: 'next', text: `looks again as soon as that happens${again}` },
    ],
    advice: controller.words?.advice?.(trouble, found.object) ?? [],
  });
}

function reconciling(open: Open): Explanation {
  const { run, asked, nowMs } = open;
  const [pending] = run.pending;
  const last = lastStepOf(asked.story);
  const current = asked.story?.entries.findLast(
    (entry): entry is StepEntry => entry.kind === 'step' && entry.end.how === 'in progress',
  );
  const step = pending?.step ?? (last?.end.how === 'done' ? last.end.next?.do : undefined);
  return openRun(open, {
    state: 'Reconciling',
    headline: 'is being reconciled',
    facts: [
      ...(step === undefined
        ? []
        : [{ label: 'step', text: pending === undefined ? step : `${step}, attempt ${pending.attempt}` }]),
      ...(current?.summary === undefined ? [] : [{ label: 'because', text: shown(current.summary) }]),
      { label: 'since', text: `${since(run.startedAtMs, nowMs)}: ${shown(asked.story?.reason ?? '')}` },
    ],
    advice: [],
  });
}

interface OpenRunParts {
  readonly state: State;
  readonly headline: string;
  readonly facts: readonly Fact[];
  readonly advice: readonly Advice[];
}

/** What all explanations of open runs have in common. */
function openRun(open: Open, { state, headline, facts, advice }: OpenRunParts): Explanation {
  const { run, nowMs, link } = open;
  const progress = progressOf(open);
  const duration = `for ${since(run.startedAtMs, nowMs)}`;
  return {
    resource: nameOf(open),
    state,
    headline: progress === undefined ? `${headline}, ${duration}` : `${headline}: ${progress}, ${duration}`,
    facts: [...deletion(open), ...wantedAndThere(open), ...facts, ...lastWake(open)],
    advice: [...advice, command('history', 'what happened before', open)],
    link,
    exit: 1,
  };
}

function deletion({ found, nowMs }: Known): Fact[] {
  const { deletionTimestamp, finalizers = [] } = found.object.metadata;
  if (deletionTimestamp === undefined) return [];
  const held = finalizers.length === 0 ? '' : `; held by ${finalizers.join(', ')}`;
  return [
    { label: 'deleted', text: `${since(Date.parse(deletionTimestamp), nowMs)} ago${held}` },
    ...remaining(found.object).map((text) => ({ label: 'left', text })),
  ];
}

/** What a Namespace still waits for. Source: kubernetes/api/core/v1, `NamespaceContentRemaining` and the like. */
function remaining({ status }: KubernetesObject): string[] {
  return conditionsIn(status)
    .filter(({ type, status: is }) => /^Namespace.*Remaining$/.test(type) && is === 'True')
    .map(({ message }) => message);
}

/** What ended the last wait of an open run. */
function lastWake({ asked, nowMs }: Known): Fact[] {
  const signal = asked.story?.entries.findLast((entry): entry is SignalEntry => entry.kind === 'signal');
  if (signal === undefined) return [];
  return [{ label: 'woken', text: `${since(signal.atMs, nowMs)} ago: ${shown(signal.reason)}` }];
}

/** Why a run rests: as it says itself, or, where that takes a key, as the controller decides now. */
function restOf({ asked, live }: Known, kind: string): string | undefined {
  const last = lastStepOf(asked.story);
  const next = last?.end.how === 'done' ? last.end.next : undefined;
  if (next?.do === kind && next.because !== ENCRYPTED_WORDS) return next.because;
  if (live === undefined || live instanceof ApiError) return next?.because;
  const { next: now } = live;
  return now.do === kind ? decisionText(now) : next?.because;
}

/** No run is open for the resource. */
function atRest(known: Known): Explanation {
  return (
    leftOut(known) ??
    withoutOperator(known) ??
    unknownDecision(known) ??
    nothingToDo(known) ??
    notStarted(known)
  );
}

/** What the operator's options, or the resource itself, keep it from doing anything for. */
function leftOut(known: Known): Explanation | undefined {
  const { controller, place, asked, found, live } = known;
  const { settings } = asked;
  const alone = (because: string, advice: readonly Advice[]): Explanation => ({
    resource: nameOf(known),
    state: 'Ignored',
    headline: 'is left alone by the operator',
    facts: [{ label: 'because', text: because }, ...lastRunOf(known)],
    advice,
    exit: 0,
  });
  if (settings !== undefined) {
    const { controllers, namespaces } = settings.options.reconciliation;
    const running: readonly string[] = controllers;
    if (!running.includes(controller.name)) {
      return alone(
        `the operator runs without the controller ${controller.name}; it runs ${controllers.join(', ')} (--controllers)`,
        [`add ${controller.name} to --controllers, and start the operator anew`],
      );
    }
    if (namespaces.length > 0 && !namespaces.includes(place.namespace)) {
      return alone(
        `the operator watches only the namespaces ${namespaces.join(', ')} (--namespaces), and not ${place.namespace}`,
        [`add ${place.namespace} to --namespaces, and start the operator anew`],
      );
    }
  }
  const isTerminating = found.namespace?.metadata.deletionTimestamp !== undefined;
  if (isTerminating && controller.endsWithNamespace === true) {
    return alone(`its namespace ${place.namespace} is being deleted, and accepts nothing new`, []);
  }
  const ignored = controller.words?.ignored?.(found.object);
  const hasWork = live !== undefined && !(live instanceof ApiError) && live.next.do !== 'converged';
  return ignored === undefined || hasWork ? undefined : alone(ignored.because, ignored.advice);
}

/** Nobody has said which options the operator has: maybe there is none. */
function withoutOperator(known: Known): Explanation | undefined {
  const { asked } = known;
  if (asked.settings !== undefined) return undefined;
  const { taskQueue, otherTaskQueues } = asked;
  const others = otherTaskQueues.slice(0, OTHERS_MAX).map((each) => ({
    run: `${commandFor('why', known.place, known.controller)} --task-queue ${each}`,
    to: `ask about the operator of task queue ${each}`,
  }));
  return {
    resource: nameOf(known),
    state: undefined,
    headline: 'may not be looked after: no operator is known',
    facts: [
      ...wantedAndThere(known),
      {
        label: 'because',
        text:
          otherTaskQueues.length === 0
            ? `no operator has published its settings in Temporal for the task queue ${taskQueue}`
            : `no operator has the task queue ${taskQueue}; there are operators of ${listed(otherTaskQueues)}`,
      },
      ...nextFact(known, 'with the default options'),
      ...lastRunOf(known),
    ],
    advice: [
      ...others,
      ...(others.length === 0
        ? ['start the operator, or name its task queue with --task-queue', ...WHERE_OPERATORS_ARE]
        : []),
    ],
    exit: 1,
  };
}

/** Of what may be many. */
const OTHERS_MAX = 3;

function listed(names: readonly string[]): string {
  const more = names.length > OTHERS_MAX ? ` and ${names.length - OTHERS_MAX} more` : '';
  return names.slice(0, OTHERS_MAX).join(', ') + more;
}

const WHERE_OPERATORS_ARE: readonly Advice[] = [
  { run: 'kubectl get pods -A -l control-plane=controller-manager', to: 'show the operator in the cluster' },
];

/** Whoever asks may not read all that the decision needs. */
function unknownDecision(known: Known): Explanation | undefined {
  const { live, found } = known;
  if (!(live instanceof ApiError)) return undefined;
  const { state, message } = stateByStatus(found.object);
  return {
    resource: nameOf(known),
    state,
    headline: `has no open run: ${state === 'UpToDate' ? 'nothing seems to be needed' : message}`,
    facts: [
      { label: 'unclear', text: `you may not see all of it: ${serversWords(live.message)}` },
      ...lastRunOf(known),
    ],
    advice: [],
    exit: state === 'UpToDate' ? 0 : 1,
  };
}

function nothingToDo(known: Known): Explanation | undefined {
  const { live, found, asked, link } = known;
  if (live === undefined || live instanceof ApiError || live.next.do !== 'converged') return undefined;
  const progress = progressOf(known);
  const isDeleted = found.object.metadata.deletionTimestamp !== undefined;
  const { finalizers = [] } = found.object.metadata;
  const idle = whyNobodyWorks(asked.workers, { taskQueue: asked.taskQueue, version: undefined });
  return {
    resource: nameOf(known),
    state: 'UpToDate',
    headline: isDeleted
      ? 'is being deleted, and the operator has nothing left to do'
      : `is up to date${progress === undefined ? '' : `: ${progress}`}`,
    facts: [
      ...deletion(known),
      ...wantedAndThere(known),
      { label: 'found', text: decisionText(live.next) },
      ...lastRunOf(known),
      ...(idle === undefined
        ? []
        : [{ label: 'but', text: `${idleWords(idle, asked).because}: a change would have to wait` }]),
    ],
    advice:
      isDeleted && finalizers.length > 0
        ? ["ask whoever put the finalizers there; none of them is the operator's"]
        : asked.run === undefined
          ? []
          : [command('history', 'what happened before', known)],
    ...(asked.run !== undefined && { link }),
    exit: 0,
  };
}

/** There is something to do, and no run does it. */
function notStarted(known: Known): Explanation {
  const { live, asked } = known;
  const idle = whyNobodyWorks(asked.workers, { taskQueue: asked.taskQueue, version: undefined });
  const state = live === undefined || live instanceof ApiError ? 'Waiting' : stateByDecision(live.next);
  return {
    resource: nameOf(known),
    state: state === 'UpToDate' ? 'Waiting' : state,
    headline: 'needs a reconcile, and no run is open for it',
    facts: [
      ...deletion(known),
      ...wantedAndThere(known),
      ...nextFact(known, undefined),
      {
        label: 'because',
        text:
          idle === undefined
            ? 'the operator has not started one: it has not seen the change yet, or does not watch'
            : idleWords(idle, asked).because,
      },
      ...lastRunOf(known),
    ],
    advice: idle === undefined ? [...WHERE_OPERATORS_ARE] : idleWords(idle, asked).advice,
    exit: 1,
  };
}

function wantedAndThere(findings: Findings): Fact[] {
  const { controller, found, live } = findings;
  if (found.is !== 'there' || live === undefined) return [];
  if (live instanceof ApiError) {
    return [{ label: 'there', text: `unknown: you may not read it (${serversWords(live.message)})` }];
  }
  const { words } = controller;
  if (words === undefined) return [];
  const subject = { object: found.object, observation: live.observation };
  return [
    { label: 'wanted', text: words.wanted(subject) + setBy(findings) },
    { label: 'there', text: words.there(subject) },
  ];
}

function progressOf({ controller, found, live }: Findings): string | undefined {
  if (found.is !== 'there' || live === undefined || live instanceof ApiError) return undefined;
  return controller.words?.progress?.({ object: found.object, observation: live.observation });
}

function nextFact({ live }: Findings, how: string | undefined): Fact[] {
  if (live === undefined || live instanceof ApiError) return [];
  const { next } = live;
  const text = next.do === 'converged' ? 'nothing' : next.do;
  return [{ label: 'next', text: `${text}: ${decisionText(next)}${how === undefined ? '' : ` (${how})`}` }];
}

/** ` (generation 3, set 4m12s ago by kubectl-edit)`; empty where what is wanted is not in a spec. */
function setBy({ controller, found, nowMs }: Findings): string {
  if (controller.primary.metadataOnly === true || found.is !== 'there') return '';
  const { metadata } = found.object;
  const last = lastWriterOfSpec(metadata);
  const by = last && `, set ${since(Date.parse(last.time), nowMs)} ago by ${last.manager}`;
  return ` (generation ${metadata.generation ?? 0}${by ?? ''})`;
}

/** Source: apimachinery, `metav1.ManagedFieldsEntry`. */
function lastWriterOfSpec(metadata: object): { readonly manager: string; readonly time: string } | undefined {
  const entries: unknown = 'managedFields' in metadata ? metadata.managedFields : undefined;
  if (!Array.isArray(entries)) return undefined;
  return entries
    .flatMap((entry: unknown) => writerIn(entry) ?? [])
    .toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time))
    .at(-1);
}

function writerIn(entry: unknown): { readonly manager: string; readonly time: string } | undefined {
  if (!isRecord(entry) || !isRecord(entry['fieldsV1']) || !('f:spec' in entry['fieldsV1'])) return undefined;
  const { manager, time } = entry;
  return typeof manager === 'string' && typeof time === 'string' ? { manager, time } : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function lastRunOf({ asked, nowMs }: Known): Fact[] {
  const { run, story, earlier } = asked;
  if (run?.isOpen === false) return lastRun({ run, story, nowMs });
  if (earlier === undefined) return [{ label: 'last run', text: 'none, as far back as Temporal keeps them' }];
  return [
    {
      label: 'last run',
      text: `none of this one; an earlier one of its name had one ${since(earlier.startedAtMs, nowMs)} ago`,
    },
  ];
}

function lastRun({
  run,
  story,
  nowMs,
}: Pick<Reached, 'story'> & { readonly run: Run; readonly nowMs: number }): Fact[] {
  const ended = since(run.endedAtMs ?? run.startedAtMs, nowMs);
  const words = shown(story?.end?.words ?? '');
  const how = story?.end?.how ?? run.status.toLowerCase();
  const text = how === 'completed' ? words : `${how}${words === '' ? '' : `: ${words}`}`;
  const reason = shown(story?.reason ?? '');
  return [
    { label: 'last run', text: `ended ${ended} ago: ${text}` },
    ...(reason === '' ? [] : [{ label: 'reason', text: reason }]),
  ];
}

function since(ms: number, nowMs: number): string {
  return durationText(nowMs - ms);
}
