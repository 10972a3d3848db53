import { gitBuild } from './git-build/controller.ts';
import { namespaceRoleBinding } from './namespace-role-binding/controller.ts';
import { podLabel } from './pod-label/controller.ts';
import { podSet } from './pod-set/controller.ts';

/** Our own operator, as an author lists theirs; src/main.ts starts it. */
export const durableOperator = {
  name: 'durable-operator',
  controllers: [podLabel, namespaceRoleBinding, podSet, gitBuild],
};
