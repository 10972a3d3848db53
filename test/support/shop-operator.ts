import type { Controller } from '../../src/engine/controller.ts';
import { converged } from '../../src/runs/decision.ts';
import { operatorProgram } from '../../src/program/operator.ts';
import type { Program } from '../../src/program/program.ts';

export const SHELVES = {
  ...{ group: 'shop.io', version: 'v1', plural: 'shelves', kind: 'Shelf', namespaced: true },
};

const shelf: Controller = {
  name: 'shelf',
  workflowType: 'shelf',
  summary: ({ name }) => `Shelf ${name}`,
  steps: {},
  primary: { type: SHELVES, view: (object) => object },
  children: [],
  observation: (view) => view,
  decide: () => converged('it stands'),
  permissions: [],
};

/** An operator of somebody else, with a controller of their own. */
export const shopOperator: Program = {
  name: 'shop-operator',
  controllers: [
    {
      name: 'shelf',
      controller: () => shelf,
      reconciler: () => ({
        controller: shelf,
        observe: () => Promise.resolve({}),
        perform: () => Promise.reject(new Error('it has no steps')),
      }),
    },
  ],
};

if (import.meta.main) await operatorProgram(shopOperator).main();
