import { APPROVAL_ANNOTATION } from '../../src/api/annotations.ts';
import type { Controller } from '../../src/engine/controller.ts';
import type { ResourceType } from '../../src/api/resource-type.ts';
import type { Stalled, Wait } from '../../src/runs/decision.ts';
import { NAMESPACES } from '../../src/api/kinds.ts';
import type { ServerAnswer, Request, ServedType } from './api-server.ts';
import type { StepActivityWith } from './attempt.ts';
import type { SimulatedCluster, Created } from './cluster.ts';

/** Something that may happen in a cluster: it changes the cluster that it is given. */
export interface Move {
  /** In words, for a trace. */
  readonly what: string;
  readonly change: (cluster: SimulatedCluster) => void;
}

/**
 * The small world in which a controller is explored: what there is, what happens by itself, what others may do, and
 * how all is to be in the end. What the controller does in it is its own code's.
 */
export interface World {
  readonly controller: Controller;
  readonly activity: StepActivityWith;
  /** The namespace of the resource, if there are others. Default: one is all that there is. */
  readonly home?: string;
  /** All that is read or written. */
  readonly types: readonly ServedType[];
  readonly objects: readonly (readonly [type: ResourceType, object: Created])[];
  /** What goes on by itself and comes to an end, such as that a Pod gets ready. */
  happenings?(cluster: SimulatedCluster): readonly Move[];
  /** What others may do, by the name under which a scenario allows it. */
  readonly others: Readonly<Record<string, (cluster: SimulatedCluster) => readonly Move[]>>;
  /** Of an author's controller: what is not in the cluster, and what is asked in the end. */
  readonly outside?: Outside;
  /** Namespaces are watched, so that they can be paused. */
  readonly watchesNamespaces?: true;
  /** Its steps read what the watcher shows. */
  readonly readsView?: boolean;
  /** Whether the write deletes what the resource has to have approved, should it ask for that. */
  needsApproval?(request: Request, cluster: SimulatedCluster): boolean;
  /** Whether that wait ends because its time is over, and not because something changes. */
  isAboutTime?(rest: Wait | Stalled, cluster: SimulatedCluster): boolean;
  /**
   * What a write may not do, should the server accept it; undefined: it is allowed.
   *
   * @param isUndisturbed nobody else has changed anything since a run began with all of it known
   */
  violation?(request: Request, cluster: SimulatedCluster, isUndisturbed: boolean): string | undefined;
  /**
   * What is not as it is to be once nothing happens any more.
   *
   * @param comesBack it is one of several states that come back again and again, as time goes on
   */
  shortcomings(cluster: SimulatedCluster, comesBack?: boolean): readonly string[];
}

/** What an author's controller reaches besides the API server. */
export interface Outside {
  /** Undefined: it is for the API server, and the controller may ask it. @throws Violation */
  serve(request: Request, cluster: SimulatedCluster): ServerAnswer | undefined;
  /** Whether the request would change something now. */
  isWrite(request: Request, cluster: SimulatedCluster): boolean;
  /** Whether anything is decided from the time. */
  readonly readsClock: () => boolean;
  /** It is observed again and again: changes that no watch shows are noticed. */
  readonly polls: boolean;
}

/** What is wrong, of all that may be. */
export function wrongIn(checks: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(checks)
    .filter(([, isWrong]) => isWrong)
    .map(([what]) => what);
}

/** The same world, where people may also pause the Namespace. */
export function withNamespace({ types, objects, ...world }: World): World {
  const isThere = objects.some(([{ plural }]) => plural === NAMESPACES.plural);
  const namespace = [NAMESPACES, { metadata: { name: 'shop', uid: 'uid-of-shop' } }] as const;
  return {
    ...world,
    watchesNamespaces: true,
    types: isThere ? types : [...types, NAMESPACES],
    objects: isThere ? objects : [namespace, ...objects],
  };
}

/** The same world, where the resource requires approval from the beginning. */
export function requiringApproval(world: World): World {
  const { plural } = world.controller.primary.type;
  const objects = world.objects.map(
    ([type, object]) => [type, type.plural === plural ? required(object) : object] as const,
  );
  return { ...world, objects };
}

function required({ metadata, ...object }: Created): Created {
  const annotations = { ...metadata.annotations, [APPROVAL_ANNOTATION]: 'required' };
  return { ...object, metadata: { ...metadata, annotations } };
}

/** The same world, where as much may be deleted as was approved for one moment. */
export function notCounting(world: World): World {
  return { ...world, needsApproval: () => false };
}
