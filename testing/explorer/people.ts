import {
  APPROVAL_ANNOTATION,
  APPROVED_ANNOTATION,
  isPaused,
  PAUSED_ANNOTATION,
  RECONCILE_REQUESTED_ANNOTATION,
  REJECTED_ANNOTATION,
} from '../../src/api/annotations.ts';
import type { Held } from '../../src/runs/decision.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { NAMESPACES } from '../../src/api/kinds.ts';
import { objectKey, type SimulatedCluster } from './cluster.ts';
import type { Move } from './world.ts';

/** What people ask by annotations of any resource, and of its Namespace. */
export const PEOPLE = [
  'pause',
  'resume',
  'pauseNamespace',
  'resumeNamespace',
  'request',
  'requireApproval',
  /** The plan that the run shows: it may be outdated when it is approved. */
  'approve',
  'reject',
] as const;
export type PersonsAct = (typeof PEOPLE)[number];

/** What they ask it of. */
export interface Concerned {
  readonly cluster: SimulatedCluster;
  /** Of the resource. */
  readonly key: string;
  /** What keeps its run from its next step. */
  readonly held: Held | undefined;
}

/** A plan that the move approves. */
export interface PeoplesMove extends Move {
  readonly approves?: string;
}

const NAMESPACE = objectKey(NAMESPACES, 'shop');

export function movesOfPeople(asked: PersonsAct, { cluster, key, held }: Concerned): readonly PeoplesMove[] {
  switch (asked) {
    case 'pause':
      return ifThere(cluster, key, (object) => (isPaused(object) ? [] : [pause(key)]));
    case 'resume':
      return ifThere(cluster, key, (object) => (isPaused(object) ? [resume(key)] : []));
    case 'pauseNamespace':
      return ifThere(cluster, NAMESPACE, (object) => (isPaused(object) ? [] : [pause(NAMESPACE)]));
    case 'resumeNamespace':
      return ifThere(cluster, NAMESPACE, (object) => (isPaused(object) ? [resume(NAMESPACE)] : []));
    case 'request':
      return ifThere(cluster, key, (object) => [request(key, object)]);
    case 'requireApproval':
      return ifThere(cluster, key, (object) =>
        annotationsOf(object)[APPROVAL_ANNOTATION] === 'required' ? [] : [requireApproval(key)],
      );
    case 'approve':
      return ifThere(cluster, key, (object) => answers(key, object, held).filter(({ approves }) => approves));
    case 'reject':
      return ifThere(cluster, key, (object) =>
        answers(key, object, held).filter(({ approves }) => !approves),
      );
  }
}

/** In the end they lift every pause, but for what is being deleted, which must not need that; and approve every plan. */
export function atTheEnd(concerned: Concerned): readonly PeoplesMove[] {
  const object = concerned.cluster.get(concerned.key);
  const isGoing = object === undefined || object.metadata.deletionTimestamp !== undefined;
  const lifted: readonly PersonsAct[] = isGoing ? [] : ['resume', 'resumeNamespace'];
  return [...lifted, 'approve' as const].flatMap((asked) => movesOfPeople(asked, concerned));
}

/** Whether a run that looked again would find what it has found before. */
export function isStillHeld(
  held: Held,
  { cluster, key, isNamespacePaused }: Omit<Concerned, 'held'> & { readonly isNamespacePaused: boolean },
): boolean {
  const object = cluster.get(key);
  if (object === undefined) return false;
  const annotations = annotationsOf(object);
  if (held.by === 'pause') return isPaused(object) || isNamespacePaused;
  const isApproved = annotations[APPROVED_ANNOTATION] === held.plan && !isHandled(object, held.plan);
  const isRejected = annotations[REJECTED_ANNOTATION] === held.plan;
  return annotations[APPROVAL_ANNOTATION] === 'required' && (isRejected || !isApproved);
}

/** As many as the ID of a plan says. */
export function countIn(plan: string): number {
  return Number(plan.split('-')[0]);
}

function isHandled(object: KubernetesObject, plan: string | undefined): boolean {
  const { lastHandledApproval } = (object['status'] ?? {}) as { readonly lastHandledApproval?: string };
  return lastHandledApproval === plan;
}

function annotationsOf({
  metadata: { annotations = {} },
}: KubernetesObject): Readonly<Record<string, string>> {
  return annotations;
}

function ifThere(
  cluster: SimulatedCluster,
  key: string,
  moves: (object: KubernetesObject) => readonly PeoplesMove[],
): readonly PeoplesMove[] {
  const object = cluster.get(key);
  return object === undefined ? [] : moves(object);
}

function pause(key: string): Move {
  return annotate(key, `${key} is paused`, { [PAUSED_ANNOTATION]: 'true' });
}

function resume(key: string): Move {
  return annotate(key, `the pause of ${key} is lifted`, { [PAUSED_ANNOTATION]: undefined });
}

function request(key: string, object: KubernetesObject): Move {
  const [, last = '0'] = /(\d+)$/.exec(annotationsOf(object)[RECONCILE_REQUESTED_ANNOTATION] ?? '') ?? [];
  const value = `request ${Number(last) + 1}`;
  return annotate(key, `a reconcile of ${key} is requested`, { [RECONCILE_REQUESTED_ANNOTATION]: value });
}

function requireApproval(key: string): Move {
  return annotate(key, `${key} requires approval`, { [APPROVAL_ANNOTATION]: 'required' });
}

function answers(key: string, object: KubernetesObject, held: Held | undefined): readonly PeoplesMove[] {
  const { plan } = held ?? {};
  if (plan === undefined) return [];
  const annotations = annotationsOf(object);
  const [approved, rejected] = [annotations[APPROVED_ANNOTATION], annotations[REJECTED_ANNOTATION]];
  const approve = annotate(key, `plan ${plan} is approved`, {
    [APPROVED_ANNOTATION]: plan,
    [REJECTED_ANNOTATION]: undefined,
  });
  const reject = annotate(key, `plan ${plan} is rejected`, { [REJECTED_ANNOTATION]: plan });
  return [
    ...(approved === plan && rejected === undefined ? [] : [{ ...approve, approves: plan }]),
    ...(rejected === plan ? [] : [reject]),
  ];
}

/** As JSON has it, what is undefined is not there. */
function annotate(
  key: string,
  what: string,
  annotations: Readonly<Record<string, string | undefined>>,
): Move {
  const change = (cluster: SimulatedCluster) =>
    cluster.changeMetadata(key, (metadata) => {
      const all = Object.entries({ ...metadata.annotations, ...annotations });
      return {
        annotations: Object.fromEntries(
          all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
        ),
      };
    });
  return { what, change };
}
