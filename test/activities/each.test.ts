import { describe, expect, it } from '@jest/globals';
import { doStep } from '../../activities/authors-step.ts';
import { defineController, PODS, type Kube } from '../../src/api/index.ts';
import { sentenceOf, type Action } from '../../src/runs/decision.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';

/** `each` of a step: many writes. */

interface Story {
  readonly count: number;
  /** Called for each item, before it counts as done. */
  readonly act?: (name: string) => Promise<void> | void;
  readonly gone?: () => ReadonlySet<unknown>;
  readonly isDeleting?: true;
}

function aStep({ count, act, gone, isDeleting }: Story) {
  const items = Array.from({ length: count }, (_, index) => ({ name: `web-${index}` }));
  const asked = new AbortController();
  const told: string[] = [];
  /** How many were acted on at the same time. */
  const batches: number[] = [];
  let inProgress = 0;
  const definition = defineController({
    ...{ name: 'greeter', for: PODS, view: () => '' },
    steps: {
      greet: {
        summary: 'greet',
        run: ({ each }) =>
          each(items, async ({ name }) => {
            inProgress += 1;
            await Promise.resolve();
            if (inProgress > 0) batches.push(inProgress);
            inProgress = 0;
            await act?.(name);
            return `greeted Pod ${name}`;
          }),
      },
    },
    decide: (_, next) => next.do.greet('nobody is greeted'),
  });
  const ref = { controller: 'greeter', namespace: 'shop', name: 'front', uid: 'uid-of-front' };
  const progress = (did: readonly Action[]) => told.push(sentenceOf(did));
  const run = () =>
    doStep({
      definition,
      step: {
        ...{ do: 'greet', because: 'nobody is greeted', data: undefined },
        ...(isDeleting && { deletes: { what: 'Pod', count: 0, objects: () => [] } }),
      },
      facts: { resource: undefined, owned: [], references: [], observed: undefined, unknown: [] },
      context: { ref, now: () => 0, superseded: asked.signal, progress },
      kubeFor: () => ({}) as Kube,
      ...(gone && { goneNow: gone }),
      after: () => undefined,
    });
  return { items, asked, told, batches, run };
}

describe('each', () => {
  it('acts in batches that double, tells what is done meanwhile, and adds it up', async () => {
    const { run, batches, told } = aStep({ count: 40 });
    const { did } = await run();
    expect(batches).toEqual([1, 2, 4, 8, 16, 9]);
    expect(sentenceOf(did)).toBe('greeted 40 Pods');
    expect(told[0]).toBe('greeted Pod web-0');
    expect(told.at(-1)).toBe('greeted 40 Pods');
    expect(sentenceOf([...did, ...did])).toBe('greeted 80 Pods');
  });

  it('begins with as many as it acts on at a time where the step deletes: that is not refused for being too much', async () => {
    const { run, batches } = aStep({ count: 40, isDeleting: true });
    await run();
    expect(batches).toEqual([16, 16, 8]);
  });

  it('stops after a batch in which one is refused; what is done is kept', async () => {
    const refuse = (name: string) => {
      if (name === 'web-3') throw new ApiError('no', { classification: 'refused' });
    };
    const { run, batches } = aStep({ count: 40, act: refuse });
    const end = await run();
    expect(batches).toEqual([1, 2, 4]);
    expect(sentenceOf(end.did)).toBe('greeted 6 Pods');
  });

  it('fails where the first is refused', async () => {
    const refused = new ApiError('no', { classification: 'refused' });
    await expect(aStep({ count: 40, act: () => Promise.reject(refused) }).run()).rejects.toBe(refused);
  });

  it('begins no more once something else is to be done', async () => {
    const { run, asked, batches } = aStep({ count: 40, act: () => asked.abort() });
    expect(sentenceOf((await run()).did)).toBe('greeted Pod web-0');
    expect(batches).toEqual([1]);
  });

  it('skips what the watch shows as gone by then, and has done nothing where all is', async () => {
    const some = aStep({ count: 3, gone: () => new Set(some.items.slice(1, 2)) });
    expect(sentenceOf((await some.run()).did)).toBe('greeted 2 Pods web-0, web-2');
    const all = aStep({ count: 3, gone: () => new Set(all.items) });
    expect((await all.run()).did).toEqual([]);
  });
});
