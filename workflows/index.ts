/** The one list of workflows: the bundle exports these, and nothing else runs. */
export { build } from './build.ts';
export { namespaceRoleBinding } from './namespace-role-binding.ts';
export { podLabel } from './pod-label.ts';
export { podSet } from './pod-set.ts';
