import { z } from 'zod';
import {
  child,
  CONFIG_MAPS,
  defineController,
  defineKind,
  DEPLOYMENTS,
  JOBS,
  operator,
  PODS,
  SERVICES,
  STATEFUL_SETS,
  type ChildManifest,
} from '../../src/index.ts';

/** It declares whatever its spec says. */
export const Bundle = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Bundle' },
  description: 'A bundle of objects.',
  spec: z.object({ objects: z.string().meta({ description: 'A list of manifests, as JSON.' }) }),
});

const bundle = defineController({
  name: 'bundle',
  for: Bundle,
  owns: [CONFIG_MAPS, SERVICES, DEPLOYMENTS, STATEFUL_SETS, PODS, JOBS],
  children: ({ resource: { spec } }) =>
    (JSON.parse(spec.objects) as readonly ChildManifest[]).map((each) =>
      each.kind === 'Job' ? child(each, { createOnly: true }) : each,
    ),
});

if (import.meta.main) await operator({ name: 'bundle-operator', controllers: [bundle] }).main();
