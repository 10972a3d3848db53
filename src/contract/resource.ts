/** Names one Kubernetes object for one controller. It is all that a workflow gets to identify its resource. */
export interface ResourceRef {
  /** The controller's name, such as `pod-label`. */
  readonly controller: string;
  /** The namespace the resource lives in; for a Namespace, its own name. */
  readonly namespace: string;
  readonly name: string;
  /** `metadata.uid`: a recreated object of the same name is another resource. */
  readonly uid: string;
}

/** The one workflow id a resource has for its whole life: `<controller>/<namespace>/<name>/<uid>`. */
export function workflowIdFor(ref: ResourceRef): string {
  return `${ref.controller}/${ref.namespace}/${ref.name}/${ref.uid}`;
}

/** The resource behind a workflow id, or undefined where the id is not one of ours. */
export function parseWorkflowId(workflowId: string): ResourceRef | undefined {
  const [controller, namespace, name, uid, ...rest] = workflowId.split('/');
  if (!controller || !namespace || !name || !uid || rest.length > 0) return undefined;
  return { controller, namespace, name, uid };
}

/** What a person calls the resource in a log line or a summary: `default/web`, or `team-1` for a Namespace. */
export function displayName(ref: ResourceRef): string {
  return ref.namespace === ref.name ? ref.name : `${ref.namespace}/${ref.name}`;
}
