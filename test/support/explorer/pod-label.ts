import { definedReconciler } from '../../../activities/defined-reconciler.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';
import {
  podLabel,
  POD_NAME_ANNOTATION,
  POD_NAME_LABEL,
} from '../../../src/controllers/pod-label/controller.ts';
import { PODS } from '../../../src/api/kinds.ts';
import { activityOf } from '../../../testing/explorer/attempt.ts';
import { objectKey, type SimulatedCluster, type Created } from '../../../testing/explorer/cluster.ts';
import { wrongIn, type Move, type World } from '../../../testing/explorer/world.ts';

const POD = objectKey(PODS, 'web');

/** One Pod that asks for its label. */
export const POD_LABEL_WORLD: World = {
  controller: definedController(podLabel),
  activity: activityOf((client) => definedReconciler(podLabel, client)),
  types: [PODS],
  objects: [[PODS, aPod()]],
  others: {
    annotate: ifThere((pod) =>
      ['true', 'True']
        .filter((value) => pod.metadata.annotations?.[POD_NAME_ANNOTATION] !== value)
        .map((value) => {
          const annotations = { ...pod.metadata.annotations, [POD_NAME_ANNOTATION]: value };
          return edit(`the annotation becomes ${value}`, { annotations });
        }),
    ),
    label: ifThere(() => [
      edit('somebody sets the label', { labels: { [POD_NAME_LABEL]: 'web' } }),
      edit('somebody sets the label to another value', { labels: { [POD_NAME_LABEL]: 'other' } }),
      edit('somebody removes the label', { labels: {} }),
    ]),
    finish: ifThere(() => [
      {
        what: 'the Pod finishes',
        change: (cluster) => cluster.change(POD, (pod) => ({ ...pod, status: { phase: 'Succeeded' } })),
      },
    ]),
    remove: ifThere(() => [
      { what: 'the Pod is deleted', change: (cluster) => cluster.markDeleted(POD, ['kubelet']) },
      {
        what: 'the Pod is deleted by force, and another one gets its name',
        change: (cluster) => {
          cluster.remove(POD);
          cluster.create(PODS, aPod());
        },
      },
    ]),
  },
  happenings: (cluster) => {
    const isGoing = cluster.get(POD)?.metadata.deletionTimestamp !== undefined;
    return isGoing ? [{ what: 'the Pod is gone', change: (it) => it.remove(POD) }] : [];
  },
  violation: ({ body }, cluster) => {
    const pod = cluster.get(POD);
    const { labels = {} } = (body as Partial<KubernetesObject>).metadata ?? {};
    if (pod === undefined || isAsked(pod) === (labels[POD_NAME_LABEL] === 'web')) return undefined;
    return 'a label is written that the annotation does not ask for';
  },
  shortcomings: (cluster) => {
    const pod = cluster.get(POD);
    if (pod === undefined || isFinished(pod)) return [];
    const { labels = {} } = pod.metadata;
    const isLabelled = labels[POD_NAME_LABEL] === 'web';
    return wrongIn({
      'the label is missing': isAsked(pod) && !isLabelled,
      'the label is still there': !isAsked(pod) && isLabelled,
    });
  },
};

function aPod(): Created {
  return {
    metadata: { name: 'web', namespace: 'shop', labels: {}, annotations: { [POD_NAME_ANNOTATION]: 'true' } },
    status: { phase: 'Running' },
  };
}

function ifThere(
  moves: (pod: KubernetesObject) => readonly Move[],
): (cluster: SimulatedCluster) => readonly Move[] {
  return (cluster) => {
    const pod = cluster.get(POD);
    return pod === undefined ? [] : moves(pod);
  };
}

function edit(what: string, metadata: Partial<ObjectMeta>): Move {
  return { what, change: (cluster) => cluster.changeMetadata(POD, () => metadata) };
}

function isAsked({ metadata: { annotations = {} } }: KubernetesObject): boolean {
  return annotations[POD_NAME_ANNOTATION] === 'true';
}

function isFinished({ status }: KubernetesObject): boolean {
  return JSON.stringify(status) === JSON.stringify({ phase: 'Succeeded' });
}
