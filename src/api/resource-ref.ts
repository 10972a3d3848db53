/** Names one Kubernetes object for one controller. It is all that a workflow gets to identify its resource. */
export interface ResourceRef {
  /** The controller's name, such as `pod-label`. */
  readonly controller: string;
  /** The namespace the resource lives in; of a cluster-scoped resource, its own name. */
  readonly namespace: string;
  readonly name: string;
  /** `metadata.uid`: a recreated object of the same name is another resource. */
  readonly uid: string;
}

/** Where an Event about a cluster-scoped object lives, unless it names a namespace itself. */
export const EVENTS_OF_CLUSTER_SCOPED = 'default';

/** On PostgreSQL and MySQL, Temporal keeps workflow ids in columns of so many characters. */
const WORKFLOW_ID_MAX = 255;
/** Not allowed in the name of any object. */
const CUT_OFF = '~';

/**
 * The one workflow id a resource has for its whole life: `<controller>/<namespace>/<name>/<uid>`. A name for which there is
 * no room is cut off; the UID still makes the id its own.
 */
export function workflowIdFor({ controller, namespace, name, uid }: ResourceRef): string {
  const tooLong = `${controller}/${namespace}/${name}/${uid}`.length - WORKFLOW_ID_MAX;
  const fitting = tooLong > 0 ? name.slice(0, -(tooLong + CUT_OFF.length)) + CUT_OFF : name;
  return `${controller}/${namespace}/${fitting}/${uid}`;
}

/** `<controller>/<namespace>` of a workflow id. */
export function placeOfWorkflow(workflowId: string): string {
  return workflowId.split('/', 2).join('/');
}

/** The controller of a workflow id. */
export function controllerOfWorkflow(workflowId: string): string {
  return workflowId.split('/', 1)[0] ?? '';
}

/** What a person calls the resource in a log line or a summary: `default/web`, or `team-1` for a Namespace. */
export function displayName(ref: ResourceRef): string {
  return ref.namespace === ref.name ? ref.name : `${ref.namespace}/${ref.name}`;
}
