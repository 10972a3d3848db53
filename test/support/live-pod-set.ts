import { expect } from '@jest/globals';
import type { Condition } from '../../src/api/condition.ts';
import { selectorFor, type Pod } from '../../src/controllers/pod-set/pod.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet } from './pod-sets.ts';
import { planIn } from './causes.ts';
import { PODS, type At, type TestCluster } from './cluster.ts';
import { eventually } from '../../testing/eventually.ts';

/** Hundreds of Pods, on a machine that is three times as slow as usual. */
const WITHIN_MS = 180_000;

/** One PodSet on a real control plane, as a person with kubectl sees it. */
export class LivePodSet {
  readonly at: At & { readonly namespace: string };
  readonly #cluster: TestCluster;

  constructor(cluster: TestCluster, namespace: string, name = 'web') {
    this.at = { type: PodSetKind, namespace, name };
    this.#cluster = cluster;
  }

  get(): Promise<PodSet | undefined> {
    return this.#cluster.get<PodSet>(this.at);
  }

  /** Also to what the schema refuses. */
  scaleTo(replicas: unknown): Promise<PodSet> {
    return this.#cluster.patch<PodSet>(this.at, { spec: { replicas } });
  }

  /** Those with its labels that are not being deleted. */
  async pods(): Promise<readonly Pod[]> {
    const { namespace, name } = this.at;
    const pods = await this.#cluster.list<Pod>(PODS, { namespace, labelSelector: selectorFor(name) });
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async podNames(): Promise<readonly string[]> {
    return (await this.pods()).map(({ metadata }) => metadata.name).sort();
  }

  /** Resolves once its status says that so many are there, all of them Ready; and these are all there are. */
  isReady(replicas: number): Promise<PodSet> {
    return eventually(async () => {
      const podSet = await this.get();
      expect(podSet?.status).toMatchObject({
        readyReplicas: replicas,
        observedGeneration: podSet?.metadata.generation,
      });
      expect(conditionOf(podSet, 'Ready')?.status).toBe('True');
      expect(podSet?.status?.podNames).toEqual(await this.podNames());
      return podSet;
    }, WITHIN_MS);
  }

  /** Resolves once its status says that so many are available, and no other number is wanted. */
  hasPods(replicas: number): Promise<PodSet> {
    return eventually(async () => {
      const podSet = await this.get();
      const { observedGeneration, readyReplicas } = podSet?.status ?? {};
      return observedGeneration === podSet?.metadata.generation && readyReplicas === replicas && podSet;
    }, WITHIN_MS);
  }

  /** Resolves once its status says of the latest spec that it is held. */
  isHeld(type: 'Paused' | 'AwaitingApproval'): Promise<PodSet> {
    return eventually(async () => {
      const podSet = await this.get();
      expect(conditionOf(podSet, type)).toMatchObject({
        status: 'True',
        observedGeneration: podSet?.metadata.generation,
      });
      return podSet;
    }, WITHIN_MS);
  }

  /** The id of the plan that waits for approval, once one does. */
  async awaitedPlan(): Promise<string> {
    const { message = '' } = conditionOf(await this.isHeld('AwaitingApproval'), 'AwaitingApproval') ?? {};
    const plan = planIn(message);
    if (plan === undefined) throw new Error(`no plan in ${message}`);
    return plan;
  }
}

export function conditionOf(podSet: PodSet | undefined, type: string): Condition | undefined {
  return podSet?.status?.conditions?.find((condition) => condition.type === type);
}
