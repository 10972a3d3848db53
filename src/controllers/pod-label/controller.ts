import { allow, defineController, PODS } from '../../api/index.ts';
import type { Cause, Identity, Ignored, Kube, KubernetesObject } from '../../api/index.ts';

/** A Pod asks for its label with this annotation, set to exactly `true`. */
export const POD_NAME_ANNOTATION = 'padok.fr/add-pod-name-label';
/** The label, whose value is the Pod's name. */
export const POD_NAME_LABEL = 'padok.fr/pod-name';
/** Kubernetes, "Labels and Selectors": a label's value has at most 63 characters; a Pod's name may have 253. */
export const LABEL_VALUE_MAX = 63;

/** How a Pod's label compares with its annotation. */
export type LabelState = 'up to date' | 'missing' | 'surplus' | 'name too long' | 'gone';

const ASKS = 'the annotation asks for the label';
const ASKS_NOT = 'the annotation does not ask for the label';
const GONE = 'the Pod is gone or finished';

/** Keeps a label on the Pods whose annotation asks for it, so that a Service can select one Pod of a ReplicaSet. */
export const podLabel = defineController({
  name: 'pod-label',
  summary: `label ${POD_NAME_LABEL} follows its annotation`,
  // Metadata does not contain the phase, so the server is asked to leave out finished Pods.
  for: { ...PODS, metadataOnly: true, fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' },
  view: labelState,
  steps: {
    addLabel: {
      summary: 'add the label with the name of the Pod',
      reads: 'cache',
      run: ({ kube, resource: { metadata } }) => setLabel(kube, metadata, metadata.name),
    },
    removeLabel: {
      summary: 'remove the label with the name of the Pod',
      reads: 'cache',
      run: ({ kube, resource: { metadata } }) => setLabel(kube, metadata, null),
    },
  },
  decide({ resource: { metadata, view } }, next) {
    switch (view) {
      case 'gone':
        return next.converged(GONE);
      case 'up to date':
        return next.converged('no update required');
      case 'missing':
        return next.do.addLabel(ASKS);
      case 'surplus':
        return next.do.removeLabel(ASKS_NOT);
      case 'name too long':
        return next.stalled(nameTooLong(metadata), { action: 'AddLabel' });
    }
  },
  interruptOn: ({ resource: { view } }) => {
    if (view === 'gone' || view === 'up to date') return [];
    return [view === 'surplus' ? ASKS_NOT : ASKS];
  },
  messages: {
    desired: ({ object }) =>
      isWanted(object) ? `label ${POD_NAME_LABEL}=${object.metadata.name}` : `no label ${POD_NAME_LABEL}`,
    current: ({ object: { metadata } }) => {
      const value = metadata.labels?.[POD_NAME_LABEL];
      return value === undefined ? 'no such label' : `label ${POD_NAME_LABEL}=${value}`;
    },
    ignored,
    isListed: ({ metadata: { annotations = {}, labels = {} } }) =>
      annotations[POD_NAME_ANNOTATION] !== undefined || labels[POD_NAME_LABEL] !== undefined,
    gone: GONE,
  },
  permissions: [allow(PODS, ['patch'])],
});

/** @param value null: it is removed */
async function setLabel(kube: Kube, pod: Identity, value: string | null): Promise<string> {
  const metadata = { resourceVersion: pod.resourceVersion, labels: { [POD_NAME_LABEL]: value } };
  await kube.patch({ ...pod, type: PODS }, { metadata });
  return value === null ? `removed label ${POD_NAME_LABEL}` : `added label ${POD_NAME_LABEL}=${value}`;
}

function labelState(pod: KubernetesObject): LabelState {
  const { deletionTimestamp, name, labels } = pod.metadata;
  // A Pod that is being deleted is left alone.
  if (deletionTimestamp !== undefined) return 'gone';
  const isLabelled = labels?.[POD_NAME_LABEL] === name;
  if (isWanted(pod) === isLabelled) return 'up to date';
  if (isLabelled) return 'surplus';
  return name.length > LABEL_VALUE_MAX ? 'name too long' : 'missing';
}

function isWanted({ metadata: { annotations } }: KubernetesObject): boolean {
  return annotations?.[POD_NAME_ANNOTATION] === 'true';
}

function nameTooLong({ namespace = '', name }: Identity): Cause {
  const run = `kubectl annotate pod ${name} -n ${namespace} ${POD_NAME_ANNOTATION}-`;
  return {
    reason: 'NameTooLong',
    message: `the name of Pod ${namespace}/${name} has ${name.length} characters, but a label value can have at most ${LABEL_VALUE_MAX}`,
    advice: [
      'remove the annotation, or create the Pod with a shorter name',
      { run, to: 'stop asking for the label' },
    ],
  };
}

/** A Pod whose annotation does not ask for the label may still have to lose it. */
function ignored(pod: KubernetesObject): Ignored | undefined {
  const { phase } = (pod['status'] ?? {}) as { readonly phase?: string };
  if (phase === 'Succeeded' || phase === 'Failed')
    return { message: `the Pod has finished (${phase}), and finished Pods are left alone`, advice: [] };
  const { name, namespace = '', labels, annotations } = pod.metadata;
  if (isWanted(pod) || labels?.[POD_NAME_LABEL] === name) return undefined;
  const value = annotations?.[POD_NAME_ANNOTATION];
  const run = `kubectl annotate pod ${name} -n ${namespace} --overwrite ${POD_NAME_ANNOTATION}=true`;
  return {
    message:
      value === undefined
        ? `the Pod does not have the annotation ${POD_NAME_ANNOTATION}`
        : `the annotation ${POD_NAME_ANNOTATION} is ${JSON.stringify(value)}, and only exactly "true" asks for the label`,
    advice: [{ run, to: 'ask for the label' }],
  };
}
