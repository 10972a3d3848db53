import type { KubernetesObject } from '../../contract/object.ts';
import type { Ignored, Words } from '../../contract/words.ts';
import { fieldsOf } from '../fields.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL, type PodView } from './decide.ts';

/** What the commands say about the label of a Pod. */
export const podLabelWords: Words<PodView> = {
  wanted: ({ object }) => (isWanted(object) ? `label ${labelOf(object)}` : `no label ${POD_NAME_LABEL}`),
  there: ({ object: { metadata } }) => {
    const value = metadata.labels?.[POD_NAME_LABEL];
    return value === undefined ? 'no such label' : `label ${POD_NAME_LABEL}=${value}`;
  },
  ignored,
  isListed: ({ metadata: { annotations = {}, labels = {} } }) =>
    annotations[POD_NAME_ANNOTATION] !== undefined || labels[POD_NAME_LABEL] !== undefined,
};

function isWanted({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[POD_NAME_ANNOTATION] === 'true';
}

function labelOf({ metadata: { name } }: KubernetesObject): string {
  return `${POD_NAME_LABEL}=${name}`;
}

/** A Pod whose annotation does not ask for the label may still have to lose it. */
function ignored(pod: KubernetesObject): Ignored | undefined {
  const { metadata } = pod;
  const { phase } = fieldsOf(pod['status']);
  if (phase === 'Succeeded' || phase === 'Failed') {
    return { because: `the Pod has finished (${phase}), and finished Pods are left alone`, advice: [] };
  }
  if (isWanted(pod) || metadata.labels?.[POD_NAME_LABEL] === metadata.name) return undefined;
  return { because: whyNotWanted(metadata.annotations?.[POD_NAME_ANNOTATION]), advice: [annotate(pod)] };
}

function whyNotWanted(annotation: string | undefined): string {
  return annotation === undefined
    ? `the Pod does not have the annotation ${POD_NAME_ANNOTATION}`
    : `the annotation ${POD_NAME_ANNOTATION} is ${JSON.stringify(annotation)}, and only exactly "true" asks for the label`;
}

function annotate({ metadata: { name, namespace = '' } }: KubernetesObject) {
  const run = `kubectl annotate pod ${name} -n ${namespace} --overwrite ${POD_NAME_ANNOTATION}=true`;
  return { run, to: 'ask for the label' };
}
