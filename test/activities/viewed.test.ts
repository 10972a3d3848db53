import { describe, expect, it } from '@jest/globals';
import { definedReconciler } from '../../activities/defined-reconciler.ts';
import { StepRun } from '../../activities/step-run.ts';
import {
  CONFIG_MAPS,
  defineController,
  PODS,
  SECRETS,
  type Kube,
  type OwnedType,
  type StepDefinition,
  type ViewedObject,
} from '../../src/api/index.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import { noteKeyOf } from '../../src/engine/note.ts';
import type { AnyDefinition } from '../../src/engine/definition.ts';
import { UNDER_WAY } from '../support/bucket.ts';
import { podLabel, POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { errorFromAnswer } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/api/object.ts';

const REF = { controller: 'greeter', namespace: 'shop', name: 'web', uid: 'uid-1' };
const META = { namespace: 'shop', name: 'web', uid: 'uid-1', resourceVersion: '7' };
const GREETING = { ...META, name: 'web-greeting', uid: 'uid-2', resourceVersion: '8' };
const OWNER = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-1', controller: true };

type Owns = OwnedType<string>;
type GreetStep = StepDefinition<ViewedObject<string>, string, undefined, unknown>;

interface Greeter extends Partial<Pick<GreetStep, 'reads' | 'external'>> {
  readonly owns?: Partial<Owns>;
  readonly run?: (kube: Kube, progress: (sentence: string) => void) => Promise<string>;
}

/** Greets each Pod by a ConfigMap. */
function aGreeter({ owns, run = greet, ...step }: Greeter) {
  return defineController({
    name: 'greeter',
    for: PODS,
    view: ({ metadata }) => metadata.labels?.['greet'] ?? '',
    owns: [{ ...CONFIG_MAPS, view: ({ metadata }) => metadata.name, ...owns } satisfies Owns],
    steps: {
      greet: { summary: 'greet', ...step, run: ({ kube, progress }) => run(kube, progress) },
    },
    decide: ({ owned }, next) =>
      owned.length === 0 ? next.do.greet('nobody greets it') : next.converged(`greeted by ${owned.join()}`),
  });
}

async function greet(kube: Kube): Promise<string> {
  await kube.create(CONFIG_MAPS, { metadata: { ...GREETING, ownerReferences: [OWNER] } });
  return 'created a greeting';
}

type Answers = Readonly<Record<string, object>>;

const POD: Answers = {
  'GET pods/web': { metadata: META },
  'GET shop/configmaps': { metadata: {}, items: [] },
};

/** Fails with what has a code. @returns what was asked, too */
function aClient(answers: Answers) {
  const requests: string[] = [];
  const request = ({ method, path, body, query }: RequestOptions): Promise<object> => {
    const asked = `${method} ${path.split('/').slice(-2).join('/')}`;
    requests.push(query === undefined || method === 'GET' ? asked : `${asked} dry run`);
    const answer = answers[asked] ?? (body as object | undefined) ?? {};
    if (!('code' in answer)) return Promise.resolve(answer);
    const failed = { status: Number(answer.code), body: JSON.stringify(answer) };
    return Promise.reject(errorFromAnswer(`${method} ${path}`, failed));
  };
  return { requests, client: { request, fieldManager: 'x' } as unknown as KubernetesClient };
}

function aStatus(code: number, reason: string, details: object): object {
  return { kind: 'Status', code, reason, message: reason, details };
}

/** What the watcher shows of the Pod, with nothing that belongs to it. */
function watched(definition: AnyDefinition, object: KubernetesObject = { metadata: META }) {
  const controller = definedController(definition);
  const view = controller.primary.view(object);
  if (view === undefined) throw new Error('it is of no interest');
  const observation = controller.observation(view, [], object.metadata);
  return { observation, source: 'watch' } as const;
}

function decided(definition: AnyDefinition, object?: KubernetesObject) {
  return definedController(definition).decide(watched(definition, object).observation, 0);
}

async function perform(definition: AnyDefinition, step: string, answers: Answers = POD) {
  const { client, requests } = aClient(answers);
  const context = { ref: REF, now: () => 0, superseded: new AbortController().signal };
  const run = new StepRun(definedReconciler(definition, client), context);
  const seen = definition === podLabel ? watched(definition, ANNOTATED) : watched(definition);
  const end = await run.perform(step, seen).catch((error: unknown) => ({ error }));
  return { requests, end };
}

const ANNOTATED = { metadata: { ...META, annotations: { [POD_NAME_ANNOTATION]: 'true' } } };

describe('what is read before a step', () => {
  const READ = ['GET shop/configmaps', 'GET pods/web'];

  it.each<[rule: string, greeter: Greeter, reads: readonly string[]]>([
    ['is everything', {}, READ],
    ['is everything, where the step says so', { reads: 'all' }, READ],
    ['is the resource alone, where the step says so', { reads: 'resource' }, ['GET pods/web']],
  ])('%s', async (_, greeter, reads) => {
    const { requests } = await perform(aGreeter(greeter), 'greet');
    expect(requests).toEqual([...reads, 'POST shop/configmaps']);
  });

  it('is nothing, where the step says so: a label costs one request', async () => {
    const labels = { [POD_NAME_LABEL]: 'web' };
    const patched = { metadata: { ...ANNOTATED.metadata, labels, resourceVersion: '8' } };
    const { requests, end } = await perform(podLabel, 'addLabel', { 'PATCH pods/web': patched });
    expect(requests).toEqual(['PATCH pods/web']);
    expect(end).toMatchObject({
      did: [{ did: 'added', what: 'label padok.fr/pod-name=web' }],
      next: { do: 'converged', because: 'no update required' },
    });
  });

  it('may only be nothing for a patch of the resource as it was seen', async () => {
    const patchPod = (resourceVersion: string) => async (kube: Kube) => {
      await kube.patch({ ...META, type: PODS }, { metadata: { resourceVersion } });
      return 'patched it';
    };
    const greeter = (run: NonNullable<Greeter['run']>) => aGreeter({ reads: 'cache', run });
    const refused = { error: { message: expect.stringContaining('reads: "cache"') }, requests: [] };
    for (const run of [greet, patchPod('6')]) {
      const { requests, end } = await perform(greeter(run), 'greet');
      expect({ ...end, requests }).toMatchObject(refused);
    }
    expect((await perform(greeter(patchPod('7')), 'greet')).requests[0]).toBe('PATCH pods/web');
  });
});

describe('after a step', () => {
  const writing = (run: Greeter['run']) => perform(aGreeter({ ...(run && { run }) }), 'greet');

  it('the answers count as observed where they are of the resource and of what belongs to it', async () => {
    const { requests, end } = await writing(greet);
    expect(requests.slice(-1)).toEqual(['POST shop/configmaps']);
    expect(end).toMatchObject({ next: { do: 'converged', because: 'greeted by web-greeting' } });
  });

  it('everything is observed where something else was written, too', async () => {
    const { requests } = await writing(async (kube) => {
      await kube.create(SECRETS, { metadata: { namespace: 'shop', name: 'other' } });
      return greet(kube);
    });
    expect(requests.slice(-2)).toEqual(['GET shop/configmaps', 'GET pods/web']);
  });

  it('everything is observed where it changes something outside; and Temporal knows of each attempt', async () => {
    const definition = aGreeter({ external: true });
    const note = JSON.stringify({ version: 1, uid: META.uid, conditions: [UNDER_WAY] });
    const noted = { metadata: { ...META, annotations: { [noteKeyOf(definition)]: note } } };
    const { requests } = await perform(definition, 'greet', { ...POD, 'GET pods/web': noted });
    expect(requests.slice(-3)).toEqual(['POST shop/configmaps', 'GET shop/configmaps', 'GET pods/web']);
    expect(decided(definition, noted)).toMatchObject({ do: 'greet', isDurable: true });
    expect(decided(definition)).toMatchObject({ do: 'updateState' });
    expect(decided(aGreeter({}))).not.toHaveProperty('isDurable');
  });

  it('that failed after a write, the history has what was done until then', async () => {
    const failing = async (kube: Kube, progress: (sentence: string) => void) => {
      await greet(kube);
      progress('created half a greeting');
      await kube.create(SECRETS, { metadata: { namespace: 'shop', name: 'other' } });
      return 'created it all';
    };
    const full = aStatus(403, 'Forbidden', { name: 'other', kind: 'secrets' });
    const { end } = await perform(aGreeter({ run: failing }), 'greet', { ...POD, 'POST shop/secrets': full });
    expect(end).toMatchObject({ did: [{ did: 'created', what: 'half a greeting' }] });
  });
});

describe('a resource', () => {
  it('that is gone by the time of the write is no failure', async () => {
    const gone = aStatus(404, 'NotFound', { name: 'web', kind: 'pods' });
    const { requests, end } = await perform(podLabel, 'addLabel', { 'PATCH pods/web': gone });
    expect(requests).toEqual(['PATCH pods/web']);
    expect(end).toMatchObject({ did: [], next: { do: 'converged', because: 'the Pod is gone or finished' } });
  });

  it('has the objects that belong to it: by owner reference, by a label, or by a function', async () => {
    const others = { ...OWNER, uid: 'another Pod of that name' };
    const items = [
      { metadata: { ...GREETING, name: 'owned', ownerReferences: [OWNER] } },
      { metadata: { ...GREETING, name: 'owned by another', ownerReferences: [others] } },
      { metadata: { ...GREETING, name: 'labelled', labels: { greets: 'web' } } },
      { metadata: { ...GREETING, name: 'web' } },
    ];
    const because = async (owns: Partial<Owns>) => {
      const answers = { ...POD, 'GET shop/configmaps': { metadata: {}, items } };
      const { end } = await perform(aGreeter({ owns }), 'observe', answers);
      return 'next' in end && 'because' in end.next && end.next.because;
    };
    expect(await because({})).toBe('greeted by owned');
    expect(await because({ ownerOf: 'greets' })).toBe('greeted by labelled');
    const byName: Owns['ownerOf'] = ({ metadata }) => ({ namespace: 'shop', name: metadata.name });
    expect(await because({ ownerOf: byName })).toBe('greeted by web');
  });

  it('has the one object that it can have, read by its name', async () => {
    const nameFor: Owns['nameFor'] = ({ name }) => ({ namespace: 'shop', name: `${name}-greeting` });
    const answers = { ...POD, 'GET configmaps/web-greeting': { metadata: GREETING } };
    const { requests } = await perform(aGreeter({ owns: { nameFor } }), 'observe', answers);
    expect(requests).toEqual(['GET configmaps/web-greeting', 'GET pods/web']);
  });
});

describe('a controller of a type that is not of defineKind', () => {
  it.each([
    [
      'has no view',
      { view: undefined },
      'Pod is not of defineKind or defineType, so the controller needs a view of it',
    ],
    ['has an owned type without a view', { owns: [SECRETS] }, 'owns of Secret needs a view'],
    ['has a status', { status: () => ({}) }, 'status cannot be used for Pod'],
    [
      'observes, and selects by labels',
      { for: { ...PODS, labelSelector: 'a=b' }, observe: () => Promise.resolve() },
      'for Pod has a selector, which would hide a resource',
    ],
  ])('that %s is refused at once', (_, wrong, words) => {
    expect(() => defineController({ ...aGreeter({}), ...wrong } as never)).toThrow(words);
  });
});
