import { z } from 'zod';
import { defineController, defineKind, operator } from '../../src/index.ts';

export const Shelf = defineKind({
  ...{ group: 'shop.io', version: 'v1', plural: 'shelves', kind: 'Shelf', description: 'A shelf.' },
  spec: z.object({}),
});

const shelf = defineController({
  name: 'shelf',
  for: Shelf,
  decide: (_, next) => next.converged('it stands'),
});

/** An operator of somebody else, with a controller of their own. */
export const shopOperator = { name: 'shop-operator', controllers: [shelf] };

if (import.meta.main) await operator(shopOperator).main();
