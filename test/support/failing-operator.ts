import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { z } from 'zod';
import { CONFIG_MAPS, allow, defineController, defineKind, operator, StepError } from '../../src/index.ts';

/** What goes wrong with a resource is in its spec. */
export const Trial = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Trial', description: 'A trial.' },
  spec: z.object({ what: z.enum(['a mistake', 'never', 'other words', 'a mistake half way']) }),
});

/** @param attempts the path of a file that gets a line for each attempt of a step */
function trialsIn(attempts: string) {
  return defineController({
    name: 'trial',
    for: Trial,
    permissions: [allow(CONFIG_MAPS, ['get', 'create'])],
    observe: ({ resource: { metadata }, kube }) =>
      kube.get({ type: CONFIG_MAPS, name: metadata.name, namespace: metadata.namespace ?? '' }),
    steps: {
      act: {
        summary: 'act',
        external: false,
        run: async ({ resource: { spec, metadata }, kube, progress }) => {
          appendFileSync(attempts, `${metadata.name} ${Date.now()}\n`);
          if (spec.what === 'never') throw new StepError('never', 'there is no such region');
          if (spec.what === 'other words') throw new StepError('refused', `no room, request ${randomUUID()}`);
          const { name, namespace } = metadata;
          await kube.create(CONFIG_MAPS, { metadata: { name, ...(namespace && { namespace }) } });
          progress('made the first half');
          throw new TypeError('the other half is undefined');
        },
      },
    },
    decide({ resource: { spec }, observed }, next) {
      if (spec.what === 'a mistake' && !existsSync(`${attempts}.corrected`))
        throw new TypeError('x is undefined');
      return observed || spec.what === 'a mistake' ? next.converged('it is done') : next.do.act('it has to');
    },
  });
}

if (import.meta.main) {
  const { ATTEMPTS = '' } = process.env;
  await operator({ name: 'failing-operator', controllers: [trialsIn(ATTEMPTS)] }).main();
}
