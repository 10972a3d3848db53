import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { KubernetesList, KubernetesObject } from '../../src/contract/object.ts';
import { workflowIdFor } from '../../src/contract/resource.ts';
import { PODS, QUOTAS } from '../../src/controllers/kinds.ts';
import { selectorFor } from '../../src/controllers/pod-set/pod.ts';
import { POD_SET_KIND, POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { applyManifest } from '../manifests.ts';

/** The namespace in which the demonstration takes place. */
export const SHOP = 'shop';
const QUOTA = 'compute';

const FIELD_MANAGER = 'demo';

/** A step that Temporal tries again. */
export interface PendingStep {
  readonly step: string;
  /** That is in progress, or that comes next. */
  readonly attempt: number;
  /** Milliseconds since the epoch; undefined: it is in progress. */
  readonly dueAtMs: number | undefined;
}

/** A create of a Pod, as the API server's audit log has it. */
export interface PodCreate {
  readonly pod: string;
  readonly code: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

interface ShopServers {
  readonly cluster: KubernetesClient;
  readonly temporal: Client;
  readonly auditLog: string;
}

/** What a person does in the namespace, and what the servers say of it: never what the operator says. */
export class Shop {
  readonly #servers: ShopServers;

  constructor(servers: ShopServers) {
    this.#servers = servers;
  }

  async open(): Promise<void> {
    await this.#apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SHOP } });
  }

  async allowPods(pods: number): Promise<void> {
    await this.#apply({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: QUOTA, namespace: SHOP },
      spec: { hard: { pods: String(pods) } },
    });
  }

  /** Until then, the API server refuses every Pod. */
  async isQuotaInForce(): Promise<boolean> {
    const path = resourcePath(QUOTAS, { namespace: SHOP, name: QUOTA });
    return (
      Quota.parse(await this.#servers.cluster.request({ method: 'GET', path })).status.hard !== undefined
    );
  }

  async scale(name: string, replicas: number): Promise<void> {
    await this.#apply({ ...POD_SET_KIND, metadata: { name, namespace: SHOP }, spec: { replicas } });
  }

  podSet(name: string): Promise<PodSet> {
    return this.#servers.cluster.request<PodSet>({ method: 'GET', path: this.#pathOf(name) });
  }

  async isTrue(name: string, condition: string): Promise<boolean> {
    const { metadata, status } = await this.podSet(name);
    const found = status?.conditions?.find(({ type }) => type === condition);
    return found?.status === 'True' && found.observedGeneration === metadata.generation;
  }

  async podsOf(name: string): Promise<number> {
    const { items } = await this.#servers.cluster.request<KubernetesList>({
      method: 'GET',
      path: resourcePath(PODS, { namespace: SHOP }),
      // From the API server's cache: it is asked often.
      query: { labelSelector: selectorFor(name), resourceVersion: '0' },
      metadataOnly: 'list',
    });
    return items?.length ?? 0;
  }

  async pendingStepOf(name: string): Promise<PendingStep | undefined> {
    const { uid } = (await this.podSet(name)).metadata;
    const id = workflowIdFor({ controller: 'pod-set', namespace: SHOP, name, uid });
    const [pending] = await this.#pendingActivitiesOf(id);
    if (pending === undefined) return undefined;
    const { activityType, attempt, scheduledTime, lastStartedTime } = pending;
    const scheduledAtMs = msOf(scheduledTime);
    const isInProgress = msOf(lastStartedTime) >= scheduledAtMs;
    return {
      step: activityType?.name ?? '',
      attempt: attempt ?? 1,
      dueAtMs: isInProgress ? undefined : scheduledAtMs,
    };
  }

  /** Everybody's creates of the Pods of a PodSet that were answered, the oldest first. */
  async createsOf(podSet: string): Promise<PodCreate[]> {
    const lines = (await readFile(this.#servers.auditLog, 'utf8')).split('\n').slice(0, -1);
    return lines
      .filter((line) => CREATES_OF_PODS.test(line))
      .map((line) => AuditLine.parse(JSON.parse(line)))
      .filter(({ objectRef: of }) => of.namespace === SHOP && of.name.startsWith(`${podSet}-pod-`))
      .filter(({ objectRef: of, stage }) => of.subresource === undefined && stage === 'ResponseComplete')
      .map(({ objectRef, responseStatus, requestReceivedTimestamp }) => ({
        pod: objectRef.name,
        code: responseStatus.code,
        atMs: Date.parse(requestReceivedTimestamp),
      }));
  }

  /** None where no run was started yet. */
  async #pendingActivitiesOf(workflowId: string) {
    try {
      const { raw } = await this.#servers.temporal.workflow.getHandle(workflowId).describe();
      return raw.pendingActivities ?? [];
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return [];
      throw error;
    }
  }

  #pathOf(name: string): string {
    return resourcePath(POD_SETS, { namespace: SHOP, name });
  }

  async #apply(manifest: Parameters<typeof applyManifest>[1]): Promise<KubernetesObject> {
    return (await applyManifest(this.#servers.cluster, manifest, FIELD_MANAGER)).object;
  }
}

const Quota = z.object({
  status: z.object({ hard: z.record(z.string(), z.string()).optional() }).default({}),
});

/** Cheaper than to parse every line. */
const CREATES_OF_PODS = /"verb":"create".*"resource":"pods"/;

const AuditLine = z.object({
  stage: z.string(),
  objectRef: z.object({
    namespace: z.string().default(''),
    name: z.string().default(''),
    subresource: z.string().optional(),
  }),
  responseStatus: z.object({ code: z.number() }),
  requestReceivedTimestamp: z.string(),
});

/** A time of Temporal's API. */
function msOf(time: { seconds?: unknown; nanos?: number | null } | null | undefined): number {
  if (!time) return 0;
  return Number(time.seconds ?? 0) * 1000 + (time.nanos ?? 0) / 1e6;
}
