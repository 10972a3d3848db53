import type { DecisionEvent, Action, Refusal } from '../src/contract/decision.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import { podSet as controller } from '../src/controllers/pod-set/controller.ts';
import {
  type AdoptPods,
  type CreatePods,
  type DeletePods,
  isAvailable,
  type Look,
  type Observation,
  type PodSetStep,
  type ReleasePods,
  type UpdateStatus,
} from '../src/controllers/pod-set/decide.ts';
import { podsInWords, type PodView } from '../src/controllers/pod-set/pod.ts';
import { podsToDelete } from '../src/controllers/pod-set/ranking.ts';
import { hasTooLongName } from '../src/controllers/pod-set/resource.ts';
import {
  isRefusalReported,
  NAMED_MAX,
  STEPS_ON_PODS,
  type StepFailure,
} from '../src/controllers/pod-set/status.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError, isNamespaceEnding, isOf } from '../src/kubernetes/errors.ts';
import { AT_ONCE, inBatches, SLOWLY, type Batching } from './batches.ts';
import { FreshPods } from './fresh-pods.ts';
import { podNames } from './pod-names.ts';
import { PodSetObjects, type Written } from './pod-set-objects.ts';
import { PartlyDone, type Performed, type Reconciler, type AttemptContext } from './reconciler.ts';

/** A step makes no more writes than these, and begins none later than that; the next one goes on. */
const WRITES_MAX = 150;
const TIME_MS = 2_000;
/** A step of so few writes is tried as a local activity first, which has a second for all it does. */
const FEW_WRITES = 10;
const TIME_FOR_FEW_MS = 500;
/** How many names of Pods a result or an Event holds. */
const TOLD_MAX = 5;

/** How a PodSet and its Pods are read and written. */
export function podSetReconciler(client: KubernetesClient): Reconciler<Observation, PodSetStep, Look> {
  return { controller, observe, look, confirm, withRefusal, perform };

  /** The Pods first: a PodSet that is not being deleted after they were listed has not orphaned them just so. */
  async function observe({ ref, now }: AttemptContext): Promise<Observation> {
    const objects = new PodSetObjects(client, ref);
    const asOfMs = now();
    // A selector with too long a value is refused, and no Pod has such a label.
    const pods = hasTooLongName(ref) ? [] : await objects.listPods();
    return { podSet: await objects.readPodSet(), pods, lookedFor: [], asOfMs };
  }

  async function look(asked: Look, before: Observation, { ref }: AttemptContext): Promise<Observation> {
    const { names, node } = asked;
    const objects = new PodSetObjects(client, ref);
    if (node !== undefined)
      return { ...before, nodes: [...(before.nodes ?? []), await objects.readNode(node)] };
    const found = await objects.readPods(names);
    return { ...withChanged(before, found), lookedFor: [...before.lookedFor, ...names] };
  }

  /**
   * A status is written to the very PodSet that the view has, or not at all. Pods that the view lacks have the names that
   * are given to new ones as long as the status does not name them: to create one again meets AlreadyExists. A status with
   * all the names that it may have promises neither.
   */
  async function confirm(step: PodSetStep, view: Observation, { ref }: AttemptContext) {
    if (step.do === 'updateStatus') return view;
    if (step.do !== 'createPods' || view.podSet === 'gone') return undefined;
    if (view.podSet.status.podNames.length >= NAMED_MAX) return undefined;
    const podSet = await new PodSetObjects(client, ref).readPodSet();
    const isSame = podSet !== 'gone' && podSet.resourceVersion === view.podSet.resourceVersion;
    return isSame ? { ...view } : undefined;
  }

  /** What the status says already is left as it is: in other words, it would be written before each attempt. */
  function withRefusal(observation: Observation, refusal: Refusal): Observation {
    const { podSet } = observation;
    if (podSet === 'gone') return observation;
    const isOverridden = refusal.because === 'overridden';
    if (isRefusalReported(podSet, isOverridden)) return observation;
    const step = STEPS_ON_PODS.find((each) => each === (refusal.step ?? 'createPods'));
    if (step === undefined) return observation;
    return { ...observation, failure: { step, refusal: refusal.message, isOverridden } };
  }

  function perform(
    step: PodSetStep,
    before: Observation,
    context: AttemptContext<Observation>,
  ): Promise<Performed<Observation>> {
    // Whether it fails is found out anew.
    const { podSet, pods, lookedFor, nodes, asOfMs } = before;
    const tried = { podSet, pods, lookedFor, ...(nodes && { nodes }), asOfMs };
    const about = { ...context, objects: new PodSetObjects(client, context.ref), before: tried };
    switch (step.do) {
      case 'createPods':
        return createPods(step, about);
      case 'deletePods':
        return deletePods(step, about);
      case 'adoptPods':
        return adoptPods(step, about);
      case 'releasePods':
        return releasePods(step, about);
      case 'updateStatus':
        return updateStatus(step, { ...about, before });
      default:
        return unreachable(step);
    }
  }
}

/** A step, and what it is performed with. */
interface About extends AttemptContext<Observation> {
  readonly objects: PodSetObjects;
  readonly before: Observation;
}

async function createPods(step: CreatePods, about: About): Promise<Performed<Observation>> {
  const { count, replicas } = step;
  const { podSet, pods } = about.before;
  if (podSet === 'gone') return { observation: about.before, did: [] };
  const names = podNames(podSet, new Set(pods.map(({ name }) => name)));
  const places = Array.from({ length: Math.min(count, WRITES_MAX) });
  const counts = ({ pod }: Written) => pod.controllerUid === podSet.uid && isAvailable(pod);
  const create = () => about.objects.create(names);
  const told = actionsOf('created', 'Pod');
  const end = await write(places, create, { ...about, firstSize: SLOWLY, counts, told });
  const { observation, failure } = end;
  const did = told(end.done);
  if (isNamespaceEnding(failure?.error)) return { observation: { ...observation, podSet: 'gone' }, did };
  const note = `created ${podsInWords(end.done.length)}, as spec.replicas is ${replicas}`;
  return performed(step.do, end, { did, event: { reason: 'Created', action: 'Create', note } });
}

async function deletePods(step: DeletePods, about: About): Promise<Performed<Observation>> {
  const { count, replicas, what } = step;
  const pods = podsToDelete(step.pods, Math.min(count, WRITES_MAX), about.now());
  const fresh = new FreshPods(about);
  const act = async (pod: PodView) => {
    const written = await about.objects.delete(pod, fresh.latest(pod));
    fresh.note(written);
    return written;
  };
  const prepare = () => fresh.refresh();
  const told = actionsOf('deleted', what);
  const written = await write(pods, act, { ...about, firstSize: AT_ONCE, prepare, told });
  const end = { ...written, observation: fresh.observation };
  const note = `deleted ${podsInWords(end.done.length)}, as spec.replicas is ${replicas ?? 0}`;
  const event = { reason: 'Deleted', action: 'Delete', note };
  return performed(step.do, end, { did: told(end.done), event: replicas === undefined ? undefined : event });
}

async function adoptPods({ do: step, pods }: AdoptPods, about: About): Promise<Performed<Observation>> {
  const adopt = (pod: PodView) => about.objects.adopt(pod);
  const told = actionsOf('adopted', 'Pod');
  const end = await write(pods.slice(0, WRITES_MAX), adopt, { ...about, firstSize: AT_ONCE, told });
  const note = `adopted ${namesOf(end.done)}: their labels match, and they had no controller`;
  const event = { reason: 'Adopted', action: 'Adopt', note };
  return performed(step, end, { did: told(end.done), event });
}

async function releasePods({ do: step, pods }: ReleasePods, about: About): Promise<Performed<Observation>> {
  const release = (pod: PodView) => about.objects.release(pod);
  const told = actionsOf('released', 'Pod');
  const end = await write(pods.slice(0, WRITES_MAX), release, { ...about, firstSize: AT_ONCE, told });
  const note = `released ${namesOf(end.done)}: their labels no longer match`;
  const event = { reason: 'Released', action: 'Release', note };
  return performed(step, end, { did: told(end.done), event });
}

async function updateStatus(
  { status }: UpdateStatus,
  { before, objects }: About,
): Promise<Performed<Observation>> {
  if (before.podSet === 'gone') return { observation: before, did: [] };
  const patched = await objects.patchStatus(before.podSet, status);
  if (patched === undefined) return { observation: { ...before, podSet: 'gone' }, did: [] };
  const did = [{ did: 'updated', what: 'the status' }];
  return { observation: { ...before, podSet: patched.podSet }, did, changed: patched.changed };
}

/** How writes to Pods ended. */
interface WriteEnd {
  /** With the Pods as the writes left them. */
  readonly observation: Observation;
  /** How many are now as they should be, whoever has brought that about. */
  readonly written: number;
  readonly done: readonly PodView[];
  /** Why no more was written; undefined: nothing failed. */
  readonly failure: { readonly error: unknown } | undefined;
  /** What something changed in the last write on its way. */
  readonly changed: string | undefined;
}

interface Writing extends About, Pick<Batching, 'firstSize' | 'prepare'> {
  /** Whether a Pod is as it was to be after this write. Something may have changed the write. Default: it is. */
  readonly counts?: (written: Written) => boolean;
  /** What was done, in words. */
  readonly told: (pods: readonly PodView[]) => readonly Action[];
}

/** Writes in batches until one fails or is in vain, the time is up, or a newer step waits for the end of this one. */
async function write<T>(
  items: readonly T[],
  act: (item: T) => Promise<Written>,
  { now, superseded, progress, before, firstSize, prepare, counts = () => true, told }: Writing,
): Promise<WriteEnd> {
  const untilMs = now() + (items.length > FEW_WRITES ? TIME_MS : TIME_FOR_FEW_MS);
  const inVain: Written[] = [];
  const soFar: PodView[] = [];
  const actAndCheck = async (item: T) => {
    const written = await act(item);
    if (written.isDone) soFar.push(written.pod);
    progress?.(told(soFar));
    if (written.isDone && !counts(written)) inVain.push(written);
    return written;
  };
  const isTimeUp = () => superseded.aborted || now() >= untilMs || inVain.length > 0;
  const { done, failure } = await inBatches(items, actAndCheck, { firstSize, isTimeUp, prepare });
  const asWanted = done.filter((written) => !inVain.includes(written));
  return {
    observation: withChanged(
      before,
      asWanted.map(({ pod }) => pod),
    ),
    written: asWanted.length,
    done: done.filter(({ isDone }) => isDone).map(({ pod }) => pod),
    failure,
    changed: (inVain.at(-1) ?? done.at(-1))?.changed,
  };
}

/** For people. */
interface Reported {
  readonly did: readonly Action[];
  readonly event: Pick<DecisionEvent, 'reason' | 'action' | 'note'> | undefined;
}

/**
 * What was done counts even though something failed in the end: the next step meets the failure again, if it lasts.
 *
 * @throws PartlyDone where the server says when to come back; and what is no answer of the server
 */
function performed(
  step: StepFailure['step'],
  { observation, done, failure, changed }: WriteEnd,
  { did, event }: Reported,
): Performed<Observation> {
  const [first] = done;
  const error = failure?.error;
  if (isOf(error, 'refused', 'access-denied'))
    return {
      observation: { ...observation, failure: { step, refusal: error.message } },
      did,
      refusal: error,
    };
  if (isOf(error, 'retry-after') && first !== undefined) throw new PartlyDone(error, did);
  if (failure !== undefined && first === undefined) {
    if (!(error instanceof ApiError)) throw error;
    return { observation: { ...observation, failure: { step } }, did, refusal: error };
  }
  if (event === undefined || first === undefined) return { observation, did, changed };
  // The note may repeat that of an earlier Event; the Pod distinguishes them.
  return { observation, did, changed, event: { type: 'Normal', ...event, occasion: first.uid } };
}

function actionsOf(did: string, what: string): Writing['told'] {
  return (pods) => {
    if (pods.length === 0) return [];
    return [{ did, what, count: pods.length, names: pods.slice(0, TOLD_MAX).map(({ name }) => name) }];
  };
}

function namesOf(pods: readonly PodView[]): string {
  const names = pods.slice(0, TOLD_MAX).map(({ name }) => name);
  const more = pods.length > TOLD_MAX ? ` and ${pods.length - TOLD_MAX} more` : '';
  return `${pods.length === 1 ? 'Pod' : 'Pods'} ${names.join(', ')}${more}`;
}

function withChanged(before: Observation, changed: readonly PodView[]): Observation {
  const byName = new Map([...before.pods, ...changed].map((pod) => [pod.name, pod]));
  return { ...before, pods: [...byName.values()] };
}
