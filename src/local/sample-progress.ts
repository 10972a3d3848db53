import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { ChildProjection, Controller } from '../contract/controller.ts';
import type { KubernetesList, KubernetesObject } from '../contract/object.ts';
import { workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { resourcePath } from '../kubernetes/paths.ts';
import type { AppliedSample } from './samples.ts';
import { sampleName } from './samples.ts';
import type { SampleRow } from './table.ts';

/** A sample that a controller is to bring to what is wanted. */
export interface AwaitedSample {
  readonly controller: Controller;
  readonly ref: ResourceRef;
  readonly sample: AppliedSample;
}

/** Who is asked how far the samples are. */
export interface Observers {
  readonly cluster: KubernetesClient;
  readonly temporal: Client;
}

/** Pairs the samples with the controllers that they are for; a sample may only serve to show another. */
export function awaitedSamples(
  samples: readonly AppliedSample[],
  controllers: readonly Controller[],
): AwaitedSample[] {
  return samples.flatMap((sample) =>
    controllers
      .filter(({ primary }) => isSameType(primary, sample.type))
      .map((controller) => ({ controller, sample, ref: refOf(controller, sample.object) })),
  );
}

function isSameType(one: AppliedSample['type'], other: AppliedSample['type']): boolean {
  return one.group === other.group && one.version === other.version && one.plural === other.plural;
}

function refOf(controller: Controller, { metadata }: KubernetesObject): ResourceRef {
  const { name, namespace = name, uid } = metadata;
  return { controller: controller.name, namespace, name, uid };
}

/** How far one sample is. @throws ApiError, ServiceError */
export async function observe(
  awaited: AwaitedSample,
  observers: Observers,
): Promise<Omit<SampleRow, 'elapsedMs'>> {
  // In this order: what converged without a run before it never had one.
  const isConverged = await isAsWanted(awaited, observers.cluster);
  const run = await latestRun(workflowIdFor(awaited.ref), observers.temporal);
  return {
    resource: sampleName(awaited.sample.manifest),
    controller: awaited.controller.name,
    wanted: wantedBy(awaited),
    state: isConverged && run.isClosed ? 'converged' : 'waiting',
    workflow: isConverged && run.words === NO_RUN ? 'not needed: it was so already' : run.words,
  };
}

/** The predicate that the watcher asks, too, on objects that are read afresh. */
async function isAsWanted(
  { controller, sample, ref }: AwaitedSample,
  cluster: KubernetesClient,
): Promise<boolean> {
  const { name, namespace } = sample.manifest.metadata;
  const path = resourcePath(sample.type, { name, namespace });
  const primary = controller.primary.project(
    await cluster.request<KubernetesObject>({ method: 'GET', path }),
  );
  if (primary === undefined) return false;
  const children = await childrenIn(ref.namespace, controller, cluster);
  const own = children.filter(({ belongsTo }) => belongsTo === primary.key);
  return !controller.needsWork(primary, own).needsWork;
}

async function childrenIn(
  namespace: string,
  { children }: Controller,
  cluster: KubernetesClient,
): Promise<ChildProjection[]> {
  const ofEachKind = await Promise.all(
    children.map(async (child) => {
      const path = resourcePath(child, child.namespaced ? { namespace } : {});
      const query = { labelSelector: child.labelSelector, fieldSelector: child.fieldSelector };
      const { items } = await cluster.request<KubernetesList>({ method: 'GET', path, query });
      return (items ?? []).map((item) => child.project(item));
    }),
  );
  return ofEachKind.flat().filter((projection) => projection !== undefined);
}

/** A summary says whose it is and, after a colon, what is wanted. */
function wantedBy({ controller, ref }: AwaitedSample): string {
  const summary = controller.summary(ref);
  return summary.slice(summary.indexOf(': ') + 2);
}

interface LatestRun {
  readonly isClosed: boolean;
  /** For people: what it did, or what it is about. */
  readonly words: string;
}

const NO_RUN = 'not started yet';

async function latestRun(workflowId: string, temporal: Client): Promise<LatestRun> {
  const handle = temporal.workflow.getHandle(workflowId);
  try {
    const { status } = await handle.describe();
    const name = status.name.toLowerCase();
    if (name !== 'completed') return { isClosed: name !== 'running', words: name };
    return { isClosed: true, words: `completed: ${String(await handle.result())}` };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { isClosed: true, words: NO_RUN };
    throw error;
  }
}
