import { z } from 'zod';
import { defineController, defineKind, operator } from '../../src/index.ts';

/** Runs errands of an outside system that may hang, whatever they are asked. */
export const Errand = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Errand', description: 'An errand.' },
  spec: z.object({ how: z.enum(['quick', 'hangs-soon', 'hangs-long', 'unseen']) }),
});

/** In this process. */
const isStuck = process.env['ERRANDS'] !== 'go';
const done = new Set<string>();
const never = () => new Promise<never>(() => undefined);

const errand = defineController({
  name: 'errand',
  for: Errand,
  observe: ({ resource: { metadata, spec } }) =>
    spec.how === 'unseen' && isStuck ? never() : Promise.resolve(done.has(metadata.uid)),
  steps: {
    runSoon: {
      summary: 'run the errand',
      external: true,
      timeout: '10s',
      run: (context) => run(context.resource),
    },
    runLong: {
      summary: 'run the errand',
      external: true,
      timeout: '15m',
      run: (context) => run(context.resource),
    },
  },
  decide({ resource: { spec }, observed }, next) {
    if (observed) return next.converged('it is done');
    return spec.how === 'hangs-long'
      ? next.do.runLong('it has to be run')
      : next.do.runSoon('it has to be run');
  },
});

function run({ metadata, spec }: { metadata: { uid: string }; spec: { how: string } }): Promise<string> {
  if (spec.how !== 'quick' && isStuck) return never();
  done.add(metadata.uid);
  return Promise.resolve('ran the errand');
}

if (import.meta.main) await operator({ name: 'errand-operator', controllers: [errand] }).main();
