import { gitBuild } from './controllers/git-build/controller.ts';
import { BUILDS } from './controllers/git-build/kind.ts';
import { namespaceRoleBinding } from './controllers/namespace-role-binding/controller.ts';
import { podLabel } from './controllers/pod-label/controller.ts';
import { podSet } from './controllers/pod-set/controller.ts';
import { definedIn, definedWith } from './program/defined.ts';
import type { Program } from './program/program.ts';

export const durableOperator: Program = {
  name: 'durable-operator',
  controllers: [
    definedIn(podLabel, 'durable-operator'),
    definedWith('namespace-role-binding', ({ roleBinding }) => namespaceRoleBinding(roleBinding)),
    definedIn(podSet, 'durable-operator'),
    {
      ...definedWith('git-build', ({ build, reconciliation }) => gitBuild(build, reconciliation.namespaces)),
      definition: BUILDS.manifest,
    },
  ],
};
