/** The one list of workflows: the bundle exports these, and nothing else runs. */
export { namespaceRoleBinding } from './namespace-role-binding.ts';
export { podLabel } from './pod-label.ts';
