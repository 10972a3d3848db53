import type { Cause } from '../../contract/cause.ts';
import type { Control } from '../../contract/control.ts';
import { converged, stalled, warning, type Decision, type Step } from '../../contract/decision.ts';
import type { ObjectMeta } from '../../contract/object.ts';

/** A Pod asks for its label with this annotation, set to exactly `true`. */
export const POD_NAME_ANNOTATION = 'padok.fr/add-pod-name-label';
/** The label, whose value is the Pod's name. */
export const POD_NAME_LABEL = 'padok.fr/pod-name';
/** Kubernetes, "Labels and Selectors": a label's value has at most 63 characters; a Pod's name may have 253. */
export const LABEL_VALUE_MAX = 63;

/** How a Pod's label compares with its annotation. */
export type LabelState = 'up to date' | 'missing' | 'surplus' | 'name too long' | 'gone';

/** What is kept of each Pod: little, since there may be a hundred thousand of them. */
export interface PodView {
  readonly resourceVersion: string;
  readonly label: LabelState;
  /** `namespace/name`, for people; only where the name is too long. */
  readonly pod?: string;
  /** Only where an annotation asks for something. */
  readonly control?: Control;
}

export interface LabelStep extends Step {
  readonly do: 'addLabel' | 'removeLabel';
  /** Of the Pod that the decision was made from. */
  readonly resourceVersion: string;
}

export function labelState(pod: ObjectMeta): LabelState {
  // A Pod that is being deleted is left alone.
  if (pod.deletionTimestamp !== undefined) return 'gone';
  const wanted = pod.annotations?.[POD_NAME_ANNOTATION] === 'true';
  const labelled = pod.labels?.[POD_NAME_LABEL] === pod.name;
  if (wanted === labelled) return 'up to date';
  if (!wanted) return 'surplus';
  return pod.name.length > LABEL_VALUE_MAX ? 'name too long' : 'missing';
}

export function decidePodLabel({ resourceVersion, label, pod = '' }: PodView): Decision<LabelStep> {
  switch (label) {
    case 'gone':
      return converged('the Pod is gone or finished');
    case 'up to date':
      return converged('no update required');
    case 'missing':
      return { do: 'addLabel', because: 'the annotation asks for the label', resourceVersion };
    case 'surplus':
      return { do: 'removeLabel', because: 'the annotation does not ask for the label', resourceVersion };
    case 'name too long':
      return refuse(pod);
  }
}

function refuse(pod: string): Decision<LabelStep> {
  const [namespace = '', name = ''] = pod.split('/');
  const cause: Cause = {
    code: 'NameTooLong',
    because: `the name of Pod ${pod} has ${name.length} characters, but a label value can have at most ${LABEL_VALUE_MAX}`,
    advice: [
      'remove the annotation, or create the Pod with a shorter name',
      {
        run: `kubectl annotate pod ${name} -n ${namespace} ${POD_NAME_ANNOTATION}-`,
        to: 'stop asking for the label',
      },
    ],
  };
  return stalled(cause, { event: warning(cause, 'AddLabel') });
}

/** What the annotation asks for, which somebody else writes; where the label follows it, no run is open. */
export function annotationIn({ label }: PodView): readonly string[] {
  switch (label) {
    case 'missing':
    case 'name too long':
      return ['the annotation asks for the label'];
    case 'surplus':
      return ['the annotation does not ask for the label'];
    case 'up to date':
    case 'gone':
      return [];
  }
}
