import type { KubernetesObject } from '../src/contract/object.ts';
import type { Logger } from '../src/contract/logger.ts';
import { displayName, type ResourceRef } from '../src/contract/resource.ts';
import { converged, stalled, type Outcome } from '../src/contract/run.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import type { PodLabelActivities } from '../src/controllers/pod-label/activities.ts';
import { podLabel } from '../src/controllers/pod-label/controller.ts';
import {
  decidePodLabel,
  LABEL_VALUE_MAX,
  POD_NAME_LABEL,
  type PodLabelStep,
  type SeenPod,
} from '../src/controllers/pod-label/decide.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { atTheEdge } from './edge.ts';
import type { Recorder } from './events.ts';
import { rereadingOnConflict } from './reread.ts';

const PODS = { group: '', version: 'v1', plural: 'pods' };
const POD = { apiVersion: 'v1', kind: 'Pod' };

interface Dependencies {
  readonly client: KubernetesClient;
  readonly recorder: Recorder;
  readonly log: Logger;
}

type LivePod = SeenPod | { readonly step: 'nothing' } | 'gone';

export function podLabelActivities({ client, recorder, log }: Dependencies): PodLabelActivities {
  return {
    labelPod: ({ ref, seen }) =>
      atTheEdge({ log, recorder, regarding: POD }, ref, (runLog) =>
        rereadingOnConflict(
          seen,
          () => readPod(client, ref),
          (pod) => act(ref, pod, runLog),
        ),
      ),
  };

  async function act(ref: ResourceRef, pod: LivePod, runLog: Logger): Promise<Outcome> {
    if (pod === 'gone') return converged('the Pod is gone or finished');
    switch (pod.step) {
      case 'nothing':
        return converged('no update required');
      case 'add':
        return setLabel(ref, pod.resourceVersion, ref.name);
      case 'remove':
        return setLabel(ref, pod.resourceVersion, null);
      case 'refuse':
        return refuse(ref, runLog);
      default:
        return unreachable(pod);
    }
  }

  /** A merge patch with a resourceVersion fails with a conflict where the Pod is not the one that was seen. */
  async function setLabel(ref: ResourceRef, resourceVersion: string, value: string | null): Promise<Outcome> {
    try {
      await client.request({
        method: 'PATCH',
        path: resourcePath(PODS, ref),
        body: { metadata: { resourceVersion, labels: { [POD_NAME_LABEL]: value } } },
        contentType: 'application/merge-patch+json',
        metadataOnly: true,
      });
    } catch (error) {
      if (error instanceof ApiError && error.classification === 'not-found')
        return converged('the Pod is gone');
      throw error;
    }
    return converged(
      value === null ? `removed label ${POD_NAME_LABEL}` : `added label ${POD_NAME_LABEL}=${value}`,
    );
  }

  function refuse(ref: ResourceRef, runLog: Logger): Outcome {
    const note =
      `Pod ${displayName(ref)}: its name has ${ref.name.length} characters, and a label value at most ` +
      `${LABEL_VALUE_MAX}: remove the annotation, or use a shorter name`;
    recorder.record(ref, POD, { type: 'Warning', reason: 'NameTooLong', action: 'AddLabel', note }, runLog);
    return stalled(note);
  }
}

/** Lists by name, since only a list can leave out finished Pods: metadata does not tell. */
async function readPod(client: KubernetesClient, ref: ResourceRef): Promise<LivePod> {
  const { items } = await client.request<{ items: KubernetesObject[] | null }>({
    method: 'GET',
    path: resourcePath(PODS, { namespace: ref.namespace }),
    query: { fieldSelector: `metadata.name=${ref.name},${podLabel.primary.fieldSelector ?? ''}` },
    metadataOnly: 'list',
  });
  const pod = items?.[0]?.metadata;
  if (pod?.uid !== ref.uid) return 'gone';
  const step: PodLabelStep = decidePodLabel(pod);
  return step === 'nothing' ? { step } : { step, resourceVersion: pod.resourceVersion };
}
