import { describe, expect, it } from '@jest/globals';
import { doStep } from '../../activities/authors-step.ts';
import { ChildrenClient } from '../../activities/objects/children.ts';
import { CONFIG_MAPS } from '../../src/api/built-in.ts';
import { PODS } from '../../src/api/kinds.ts';
import { defineController, type Kube } from '../../src/api/index.ts';
import { sentenceOf, type Action } from '../../src/runs/decision.ts';
import type { ChildStep } from '../../src/engine/children/decide.ts';
import { childView } from '../../src/engine/children/view.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';

/** Steps that are asked to end. */

function anAttempt() {
  const asked = new AbortController();
  const told: string[] = [];
  const progress = (did: readonly Action[]) => told.push(sentenceOf(did));
  const ref = { controller: 'greeter', namespace: 'shop', name: 'front', uid: 'uid-of-front' };
  return { asked, told, context: { ref, now: () => 0, superseded: asked.signal, progress } };
}

describe('a step of an author', () => {
  it('tells what it has done so far, which counts where it ends by its signal', async () => {
    const { asked, told, context } = anAttempt();
    const definition = defineController({
      name: 'greeter',
      for: PODS,
      view: () => '',
      steps: {
        greet: {
          summary: 'greet',
          run: ({ progress, signal }) => {
            progress('greeted Ann');
            progress('greeted Bob');
            asked.abort();
            signal.throwIfAborted();
            return Promise.resolve('greeted everybody');
          },
        },
      },
      decide: (_, next) => next.do.greet('nobody is greeted'),
    });
    const step = { do: 'greet', because: 'nobody is greeted', data: undefined };
    const facts = { resource: undefined, owned: [], references: [], observed: undefined, unknown: [] };
    const kubeFor = () => ({}) as Kube;
    const performed = await doStep({
      ...{ definition, step, facts, context, kubeFor },
      after: () => undefined,
    });
    expect(told).toEqual(['greeted Ann', 'greeted Ann, greeted Bob']);
    expect(sentenceOf(performed.did)).toBe('greeted Ann, greeted Bob');
  });
});

describe('a step on declared objects', () => {
  it('tells how many it has written, and begins no more once it is asked to end', async () => {
    const { asked, told, context } = anAttempt();
    const request = () => {
      if (told.length > 1) asked.abort();
      return Promise.resolve({});
    };
    const client = { request } as unknown as KubernetesClient;
    const metadata = { namespace: 'shop', name: 'front', uid: 'uid-of-front' };
    const children = Array.from({ length: 20 }, (_, i) =>
      childView(CONFIG_MAPS, {
        metadata: { ...metadata, name: `map-${i}`, uid: `uid-${i}`, resourceVersion: '1' },
      }),
    );
    const step: ChildStep = {
      ...{ do: 'deleteConfigMap', because: 'they are no longer declared', writes: 20 },
      ...{ verb: 'delete', children },
    };
    const owner = { controller: 'website', type: CONFIG_MAPS, metadata };
    const end = await new ChildrenClient(client, owner).perform(
      step,
      { wanted: [], there: children },
      context,
    );
    // Batches of one, two and four.
    expect(told.at(0)).toBe('deleted ConfigMap map-0');
    expect(told.at(-1)).toBe('deleted 7 ConfigMaps');
    expect(sentenceOf(end.did)).toBe('deleted 7 ConfigMaps');
  });
});
