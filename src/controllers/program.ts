import { gitBuild } from './git-build/controller.ts';
import { BUILDS } from './git-build/kind.ts';
import { namespaceRoleBinding } from './namespace-role-binding/controller.ts';
import { podLabel } from './pod-label/controller.ts';
import { podSet } from './pod-set/controller.ts';
import { definedIn, definedWith } from '../program/defined.ts';
import type { Program } from '../program/program.ts';

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
