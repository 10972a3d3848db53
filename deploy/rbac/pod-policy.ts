import { PODS } from '../../src/api/kinds.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { labelsFor, podSetReference } from '../../src/controllers/pod-set/pod.ts';
import { lines, policySpec } from '../../src/program/generate/admission-policy.ts';

/*
 * Limits what the operator may change in a Pod. With the verb `patch` alone, it could give any Pod another image. No
 * policy limits the creation and deletion of Pods.
 */
export function podPolicy(): object {
  return policySpec({ requests: [UPDATES_OF_PODS], variables: VARIABLES, validations: VALIDATIONS });
}

/** Kubelets write the status all the time, and roles grant no other subresource. */
const UPDATES_OF_PODS = {
  apiGroups: [PODS.group],
  apiVersions: [PODS.version],
  operations: ['UPDATE'],
  resources: [PODS.plural],
};

const VARIABLES = {
  podLabel: runs('pod-label'),
  podSet: runs('pod-set'),
  labels: 'object.metadata.?labels.orValue({})',
  labelsBefore: 'oldObject.metadata.?labels.orValue({})',
  nameLabel: `variables.labels[?'${POD_NAME_LABEL}']`,
  nameLabelBefore: `variables.labelsBefore[?'${POD_NAME_LABEL}']`,
  isLabelWanted: `object.metadata.?annotations[?'${POD_NAME_ANNOTATION}'].orValue('') == 'true'`,
  followsAnnotation: lines(
    'variables.isLabelWanted ? variables.nameLabel == optional.of(object.metadata.name)',
    ': !variables.nameLabel.hasValue() && variables.nameLabelBefore == optional.of(object.metadata.name)',
  ),
  owners: 'object.metadata.?ownerReferences.orValue([])',
  ownersBefore: 'oldObject.metadata.?ownerReferences.orValue([])',
  // The API server allows only one controller.
  controllers: `variables.owners.filter(owner, ${isController('owner')})`,
  controllersBefore: `variables.ownersBefore.filter(owner, ${isController('owner')})`,
  // A policy cannot look up whether there is a PodSet with that UID.
  isAdoption: lines(
    'variables.controllersBefore.size() == 0 && variables.controllers.size() == 1 && variables.controllers.all(owner,',
    `${isPodSet('owner')} && owner.?blockOwnerDeletion.orValue(false) && ${hasLabelsOf('owner')} &&`,
    'variables.owners == variables.ownersBefore.filter(other, other.uid != owner.uid) + [owner])',
  ),
  isRelease: lines(
    'variables.controllersBefore.size() == 1 && variables.controllersBefore.all(owner,',
    `${isPodSet('owner')} && !(${hasLabelsOf('owner')}) &&`,
    'variables.owners == variables.ownersBefore.filter(other, other.uid != owner.uid))',
  ),
} as const;

const VALIDATIONS = [
  {
    expression: 'object.spec == oldObject.spec',
    message: 'the operator may not change the spec of a Pod',
  },
  {
    expression: lines(
      `variables.labels.all(key, key == '${POD_NAME_LABEL}' ||`,
      'variables.labelsBefore[?key] == optional.of(variables.labels[key])) &&',
      `variables.labelsBefore.all(key, key == '${POD_NAME_LABEL}' || key in variables.labels)`,
    ),
    message: `the operator may change no label of a Pod but ${POD_NAME_LABEL}`,
  },
  {
    expression: lines(
      'variables.nameLabel == variables.nameLabelBefore ||',
      '(variables.podLabel && variables.followsAnnotation)',
    ),
    message: `the operator may change the label ${POD_NAME_LABEL} only to the name of the Pod where the annotation ${POD_NAME_ANNOTATION} asks for it, and remove it only where it does not`,
  },
  {
    expression: lines(
      'variables.owners == variables.ownersBefore ||',
      '(variables.podSet && (variables.isAdoption || variables.isRelease))',
    ),
    message:
      'the operator may only make a PodSet the controller of a Pod that has its labels and no controller, and take it from one that has lost them',
  },
  {
    expression: ['annotations', 'finalizers', 'generateName'].map(isUnchanged).join(' && '),
    message: 'the operator may change nothing else in the metadata of a Pod',
  },
] as const;

function runs(controller: string): string {
  return `{{ has "${controller}" .Values.controllers }}`;
}

function isUnchanged(field: string): string {
  return `object.metadata.?${field} == oldObject.metadata.?${field}`;
}

function isController(owner: string): string {
  return `${owner}.?controller.orValue(false)`;
}

function isPodSet(owner: string): string {
  const { apiVersion, kind } = podSetReference({ name: '', uid: '' });
  return `${owner}.apiVersion == '${apiVersion}' && ${owner}.kind == '${kind}'`;
}

/** Whether the Pod has the labels of the PodSet that an owner reference names. */
function hasLabelsOf(owner: string): string {
  const ITS_NAME = '<name>';
  return Object.entries(labelsFor(ITS_NAME))
    .map(([key, value]) => {
      const wanted = value === ITS_NAME ? `${owner}.name` : `'${value}'`;
      return `variables.labels[?'${key}'].orValue('') == ${wanted}`;
    })
    .join(' && ');
}
