import { describe, expect, it } from '@jest/globals';
import { definedReconciler } from '../../activities/defined-reconciler.ts';
import { StepRun } from '../../activities/step-run.ts';
import { APPROVED_ANNOTATION, RECONCILE_REQUESTED_ANNOTATION } from '../../src/api/annotations.ts';
import { podSet } from '../../src/controllers/pod-set/controller.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { aPodSet, NAMESPACE, NOW_MS, POD_SET_UID, type PodSetStatus } from '../support/pod-sets.ts';

/** An API server with one PodSet. @param drops a field of the status that the CRD does not have */
function given(annotations: Readonly<Record<string, string>>, drops?: keyof PodSetStatus) {
  let object = aPodSet().wanting(0).annotated(annotations).object;
  const answer = ({ method, path, body }: RequestOptions) => {
    if (path.endsWith('/pods')) return { metadata: {}, items: [] };
    if (method === 'PATCH') {
      const status = { ...object.status, ...fieldsOf(fieldsOf(body)['status']) };
      object = { ...object, status: { ...status, ...(drops && { [drops]: undefined }) } };
    }
    return object;
  };
  const client: KubernetesClient = {
    server: 'the fake',
    fieldManager: 'durable-operator',
    watch: () => {
      throw new Error('steps do not watch');
    },
    close: () => Promise.resolve(),
    request: <T>(options: RequestOptions) => Promise.resolve(answer(options) as T),
  };
  const reconciler = definedReconciler(podSet, client);
  const ref = { controller: 'pod-set', namespace: NAMESPACE, name: 'web', uid: POD_SET_UID };
  const context = { ref, now: () => NOW_MS, superseded: new AbortController().signal };
  return {
    status: () => object.status,
    /** One step, as its activity performs it, under what the annotations ask. */
    step: (name: string) => new StepRun(reconciler, context).perform(name, undefined),
  };
}

const ASKED: readonly [keyof PodSetStatus, Readonly<Record<string, string>>][] = [
  ['lastHandledReconcileAt', { [RECONCILE_REQUESTED_ANNOTATION]: 'now' }],
  ['lastHandledApproval', { [APPROVED_ANNOTATION]: '1-0123abcd' }],
];

describe('what was asked for by an annotation', () => {
  it.each(ASKED)('is acknowledged once, in %s', async (field, annotations) => {
    const { step, status } = given(annotations);
    for (let steps = 0; (await step('updateStatus')).next.do === 'updateStatus'; steps += 1)
      expect(steps).toBeLessThan(3);
    expect(status()?.[field]).toBe(Object.values(annotations)[0]);
    expect((await step('observe')).next.do).toBe('converged');
  });

  it.each(ASKED)(
    'fails, and says to apply the CRDs, where an old one drops %s',
    async (field, annotations) => {
      const { step } = given(annotations, field);
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
