import type { ResourceRef } from '../src/contract/resource.ts';
import { POD_NAME_LABEL, type LabelStep, type PodView } from '../src/controllers/pod-label/decide.ts';
import { podLabel, podView } from '../src/controllers/pod-label/controller.ts';
import { PODS } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import type { KubernetesList } from '../src/contract/object.ts';
import { found } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { changeOf } from './overridden.ts';
import type { Performed, Reconciler } from './reconciler.ts';

/** How the label of a Pod is read and written. */
export function podLabelReconciler(client: KubernetesClient): Reconciler<PodView, LabelStep> {
  return {
    controller: podLabel,
    observe: ({ ref }) => readPod(ref),
    // Both steps are conditional on the resourceVersion that they were decided from.
    confirm: (_, view) => Promise.resolve(view),
    perform: (step, _, { ref }) => setLabel(ref, step),
  };

  /** Lists by name, since only a list can leave out finished Pods: metadata does not contain the phase. */
  async function readPod(ref: ResourceRef): Promise<PodView> {
    const { items } = await client.request<KubernetesList>({
      method: 'GET',
      path: resourcePath(PODS, { namespace: ref.namespace }),
      query: { fieldSelector: `metadata.name=${ref.name},${podLabel.primary.fieldSelector ?? ''}` },
      metadataOnly: 'list',
    });
    const pod = items?.[0];
    return pod?.metadata.uid === ref.uid ? podView(pod) : GONE;
  }

  /** A merge patch with a resourceVersion fails with a conflict where the Pod is not the one that was observed. */
  async function setLabel(ref: ResourceRef, step: LabelStep): Promise<Performed<PodView>> {
    const value = step.do === 'addLabel' ? ref.name : null;
    const sent = { metadata: { resourceVersion: step.resourceVersion, labels: { [POD_NAME_LABEL]: value } } };
    const patched = await found(kubeOf(client).patch({ ...ref, type: PODS }, sent, { metadataOnly: true }));
    if (patched === undefined) return { observation: GONE, did: [] };
    const action =
      value === null
        ? { did: 'removed', what: `label ${POD_NAME_LABEL}` }
        : { did: 'added', what: `label ${POD_NAME_LABEL}=${value}` };
    return { observation: podView(patched), did: [action], changed: changeOf(sent, patched) };
  }
}

const GONE: PodView = { resourceVersion: '', label: 'gone' };
