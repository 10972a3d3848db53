import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Controller } from '../src/engine/controller.ts';
import { isConverged } from '../src/runs/decision.ts';
import type { KubernetesList, KubernetesObject } from '../src/api/object.ts';
import { workflowIdFor, type ResourceRef } from '../src/api/resource-ref.ts';
import { keyOf } from '../src/api/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { unlessNotFound } from '../src/temporal/grpc-status.ts';
import { applyManifest, readManifests, type AppliedManifest, type ManifestDocument } from './manifests.ts';
import type { LiveTable, SampleRow } from './table.ts';

export interface SampleRun {
  /** With their manifests; undefined: there are none. */
  readonly folder: string | undefined;
  readonly cluster: KubernetesClient;
  readonly temporal: Client;
  readonly controllers: readonly Controller[];
  readonly table: LiveTable;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A sample did not converge within three minutes. The message names it, and the status of its workflow. */
export class NotConverged extends Error {
  override readonly name = 'NotConverged';
}

const FIELD_MANAGER = 'durable-operator-samples';
const WITHIN_MS = 180_000;
const INTERVAL_MS = 50;

/**
 * Applies the samples, and shows them until all have converged.
 *
 * @returns one that a controller reconciles, as people name it: `website/sample`
 * @throws NotConverged, ApiError, or the signal's reason
 */
export async function runSamples(run: SampleRun): Promise<string | undefined> {
  const applied: AppliedManifest[] = [];
  if (run.folder === undefined) return undefined;
  for (const manifest of await readManifests(run.folder)) {
    const sample = await applyManifest(run.cluster, manifest, FIELD_MANAGER);
    sayOverwritten(sample, run.say);
    applied.push(sample);
  }
  run.say(`applied ${applied.map(({ manifest }) => sampleName(manifest)).join(', ')} (${run.folder})`);
  const awaited = awaitedSamples(applied, run.controllers);
  await untilConverged(awaited, run);
  const [first] = awaited;
  return first && nameForPeople(first.sample.manifest);
}

/** Somebody else has changed these fields, such as by `kubectl edit`. */
export function sayOverwritten({ manifest, overwrote }: AppliedManifest, say: (line: string) => void): void {
  if (overwrote !== undefined) say(`${sampleName(manifest)} is again as its file has it: ${overwrote}`);
}

function nameForPeople({ kind, metadata: { name, namespace = 'default' } }: ManifestDocument): string {
  return `${kind.toLowerCase()}/${name}${namespace === 'default' ? '' : ` --namespace ${namespace}`}`;
}

/** `Pod default/my-nginx` */
export function sampleName({ kind, metadata: { name, namespace } }: ManifestDocument): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

async function untilConverged(awaited: readonly AwaitedSample[], run: SampleRun): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  let rows: readonly SampleRow[] = [];
  for (;;) {
    rows = await Promise.all(awaited.map((each, index) => rowOf(each, rows[index], run)));
    run.table.show(rows);
    if (rows.every(({ state }) => state === 'converged')) return;
    if (performance.now() > deadline) throw notConverged(rows);
    await pause(INTERVAL_MS, undefined, { signal: run.signal });
  }
}

function notConverged(rows: readonly SampleRow[]): NotConverged {
  const waiting = rows.filter(({ state }) => state === 'waiting');
  const which = waiting.map(({ resource, workflow }) => `${resource} (workflow ${workflow})`);
  return new NotConverged(`not converged within ${WITHIN_MS / 1000} s: ${which.join(', ')}`);
}

/** A sample that a controller reconciles. */
interface AwaitedSample {
  readonly controller: Controller;
  readonly ref: ResourceRef;
  readonly sample: AppliedManifest;
}

/** Pairs the samples with their controllers; the Service has none. */
function awaitedSamples(
  samples: readonly AppliedManifest[],
  controllers: readonly Controller[],
): AwaitedSample[] {
  return samples.flatMap((sample) =>
    controllers
      .filter(({ primary }) => resourcePath(primary.type) === resourcePath(sample.type))
      .map((controller) => ({ controller, sample, ref: refOf(controller, sample.object) })),
  );
}

function refOf(controller: Controller, { metadata }: KubernetesObject): ResourceRef {
  const { name, namespace = name, uid } = metadata;
  return { controller: controller.name, namespace, name, uid };
}

/** The row of a converged sample stays: it says how the sample converged. */
async function rowOf(
  awaited: AwaitedSample,
  before: SampleRow | undefined,
  { cluster, temporal }: SampleRun,
): Promise<SampleRow> {
  if (before?.state === 'converged') return before;
  const { controller, sample, ref } = awaited;
  // In this order: a sample that has converged, and has no run afterwards, never needed one.
  const isConverged = await isInDesiredState(awaited, cluster);
  const run = await latestRun(workflowIdFor(ref), temporal);
  return {
    resource: sampleName(sample.manifest),
    controller: controller.name,
    state: isConverged && run.isClosed ? 'converged' : 'waiting',
    workflow:
      isConverged && run.message === NO_RUN ? 'not needed: already in the desired state' : run.message,
    elapsedMs: performance.now() - sample.appliedAtMs,
  };
}

/** The same decision as the watcher's, on live objects. */
async function isInDesiredState(awaited: AwaitedSample, cluster: KubernetesClient): Promise<boolean> {
  const { controller, sample } = awaited;
  const { name, namespace } = sample.manifest.metadata;
  const path = resourcePath(sample.type, { name, namespace });
  const object = await cluster.request<KubernetesObject>({ method: 'GET', path });
  const primary = controller.primary.view(object);
  if (primary === undefined) return false;
  const children = await childrenOf(awaited, cluster);
  return isConverged(
    controller.decide(controller.observation(primary, children, object.metadata), Date.now()),
  );
}

/** The views of the children of a sample. */
async function childrenOf(
  { controller, sample, ref: { namespace } }: AwaitedSample,
  cluster: KubernetesClient,
): Promise<readonly unknown[]> {
  const key = keyOf(sample.object.metadata);
  const ofEachKind = await Promise.all(
    controller.children.map(async (child) => {
      const { type, labelSelector, fieldSelector } = child;
      const path = resourcePath(type, type.namespaced ? { namespace } : {});
      const query = { labelSelector, fieldSelector };
      const { items } = await cluster.request<KubernetesList>({ method: 'GET', path, query });
      return (items ?? []).filter((item) => child.ownerKey(item) === key).map((item) => child.view(item));
    }),
  );
  return ofEachKind.flat().filter((each) => each !== undefined);
}

interface LatestRun {
  readonly isClosed: boolean;
  /** Its result, or its status. */
  readonly message: string;
}

const NO_RUN = 'not started yet';

async function latestRun(workflowId: string, temporal: Client): Promise<LatestRun> {
  const handle = temporal.workflow.getHandle(workflowId);
  const run = await unlessNotFound(handle.describe());
  if (run === undefined) return { isClosed: true, message: NO_RUN };
  const name = run.status.name.toLowerCase();
  if (name !== 'completed') return { isClosed: name !== 'running', message: name };
  return { isClosed: true, message: `completed: ${String(await handle.result())}` };
}
