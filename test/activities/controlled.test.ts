import { afterEach, describe, expect, it } from '@jest/globals';
import { controlledReconciler } from '../../activities/controlled.ts';
import { podSetReconciler } from '../../activities/pod-set.ts';
import { StepRun } from '../../activities/step-run.ts';
import { APPROVED_ANNOTATION, RECONCILE_REQUESTED_ANNOTATION } from '../../src/contract/control.ts';
import type { PodSetStatus } from '../../src/controllers/pod-set/resource.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { FakePodSetApi } from '../support/fake-pod-set-api.ts';
import { aPodSet, NAMESPACE, NOW_MS, POD_SET_UID } from '../support/pod-sets.ts';

let api: FakePodSetApi;
let client: KubernetesClient;

async function given(annotations: Readonly<Record<string, string>>): Promise<void> {
  api = await FakePodSetApi.start(aPodSet().wanting(0).annotated(annotations));
  client = createKubernetesClient(api.server.kubeConfig());
}

afterEach(async () => {
  await client.close();
  await api.server.stop();
});

/** One step, as its activity performs it, under what the annotations ask. */
function step(name: string) {
  const ref = { controller: 'pod-set', namespace: NAMESPACE, name: 'web', uid: POD_SET_UID };
  const context = { ref, now: () => NOW_MS, superseded: new AbortController().signal };
  const reconciler = controlledReconciler(podSetReconciler(client), { client, options: {} });
  return new StepRun(reconciler, context).perform(name, undefined);
}

const ASKED: readonly [keyof PodSetStatus, Readonly<Record<string, string>>][] = [
  ['lastHandledReconcileAt', { [RECONCILE_REQUESTED_ANNOTATION]: 'now' }],
  ['lastHandledApproval', { [APPROVED_ANNOTATION]: '1-0123abcd' }],
];

describe('what was asked for by an annotation', () => {
  it.each(ASKED)('is acknowledged once, in %s', async (field, annotations) => {
    await given(annotations);
    for (let steps = 0; (await step('updateStatus')).next.do === 'updateStatus'; steps += 1)
      expect(steps).toBeLessThan(3);
    expect(api.podSet?.status?.[field]).toBe(Object.values(annotations)[0]);
    expect((await step('observe')).next.do).toBe('converged');
  });

  it.each(ASKED)(
    'fails, and says to apply the CRDs, where an old one drops %s',
    async (field, annotations) => {
      await given(annotations);
      api.drops = field;
      await expect(
        (async () => {
          for (let steps = 0; steps < 4; steps += 1) await step('updateStatus');
        })(),
      ).rejects.toMatchObject({
        classification: 'api-missing',
        message: `the CustomResourceDefinition podsets.batch.tutorial.kubebuilder.io is of an older version and has no status.${field}; apply the CRDs of this version of the operator`,
      });
    },
  );
});
