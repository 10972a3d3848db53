import { describe, expect, it } from '@jest/globals';
import { applyCustomResources, CustomResourcesMissing } from '../../local/custom-resources.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { definitionsOf } from '../../src/program/generate/field-schema.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { answerJson, aStatus, type Handler } from '../support/fake-api-server.ts';

const CRD = { name: 'customresourcedefinitions', kind: 'CustomResourceDefinition', namespaced: false };
const KINDS = [
  { version: '/apis/batch.tutorial.kubebuilder.io/v1', name: 'podsets', kind: 'PodSet', namespaced: true },
  { version: '/apis/test.inspur.com/v1alpha1', name: 'xxxes', kind: 'Xxx', namespaced: true },
];
const NOT_FOUND = answerJson(404, aStatus(404, { message: 'page not found', reason: 'NotFound' }));
const DEFINITIONS = definitionsOf(durableOperator);
const FORBIDDEN = answerJson(
  403,
  aStatus(403, { message: 'it is forbidden: User "tester" cannot do this', reason: 'Forbidden' }),
);

const api = aFakeApi();

/** Answers as an API server does, but for the paths that are given. */
function answering(special: (path: string) => Handler | undefined): Handler {
  return (request, response) => {
    const path = request.url.pathname;
    (special(path) ?? usual(path))(request, response);
  };
}

function usual(path: string): Handler {
  if (path === '/apis/apiextensions.k8s.io/v1') return answerJson(200, { resources: [CRD] });
  const kind = KINDS.find(({ version }) => version === path);
  return answerJson(200, kind === undefined ? {} : { resources: [kind] });
}

const isApplied = (path: string) => path.includes('/customresourcedefinitions/');

describe('the CRDs', () => {
  it('are applied', async () => {
    api.server.handle(answering(() => undefined));
    expect(await applyCustomResources(api.client, DEFINITIONS)).toBe('applied');
    const applied = api.server.requests.filter(({ method }) => method === 'PATCH');
    expect(applied.map(({ url }) => url.pathname)).toEqual([
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podsets.batch.tutorial.kubebuilder.io',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/xxxes.test.inspur.com',
    ]);
  });

  it.each([
    ['has their group', KINDS[0]?.version, NOT_FOUND],
    ['names them', KINDS[0]?.version, answerJson(200, { resources: [] })],
    ['answers for them', `${KINDS[0]?.version}/podsets`, NOT_FOUND],
  ])('are waited for until the API server %s', async (_, notYet, answer) => {
    const answers = [answer, answer];
    api.server.handle(answering((path) => (path === notYet ? answers.shift() : undefined)));
    expect(await applyCustomResources(api.client, DEFINITIONS)).toBe('applied');
    expect(answers).toEqual([]);
    expect(api.server.requests.filter(({ url }) => url.pathname === notYet)).toHaveLength(3);
  });

  it('are applied over what others have changed, which is said', async () => {
    const message = 'Apply failed with 1 conflict: conflict with "kubectl": .spec.scope';
    const conflict = answerJson(409, aStatus(409, { message, reason: 'Conflict' }));
    api.server.handle((request, response) => {
      const isTried = isApplied(request.url.pathname) && !request.url.searchParams.has('force');
      (isTried ? conflict : usual(request.url.pathname))(request, response);
    });
    const said: string[] = [];
    await applyCustomResources(api.client, DEFINITIONS.slice(0, 1), { say: (line) => said.push(line) });
    expect(said).toEqual([
      `CustomResourceDefinition podsets.batch.tutorial.kubebuilder.io is again as its file has it: ${message}`,
    ]);
  });

  it('are served where only their resources may not be read', async () => {
    api.server.handle(answering((path) => (path.endsWith('/xxxes') ? FORBIDDEN : undefined)));
    expect(await applyCustomResources(api.client, DEFINITIONS)).toBe('applied');
  });
});

describe('for somebody who may not apply them, the CRDs', () => {
  it('are enough where they are there already', async () => {
    api.server.handle(answering((path) => (isApplied(path) ? FORBIDDEN : undefined)));
    expect(await applyCustomResources(api.client, DEFINITIONS)).toBe('there already');
  });

  it('are missing where one is not, and that one is named', async () => {
    api.server.handle(
      answering((path) => {
        if (isApplied(path)) return FORBIDDEN;
        return path === KINDS[1]?.version ? NOT_FOUND : undefined;
      }),
    );
    const missing = await applyCustomResources(api.client, DEFINITIONS).catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(CustomResourcesMissing);
    expect(missing).toHaveProperty('message', expect.stringContaining('xxxes.test.inspur.com is not on'));
    expect(missing).toHaveProperty('message', expect.stringContaining('kubectl apply -f deploy/crd'));
  });
});

it('an API server that refuses the CRDs for another reason is an error', async () => {
  const invalid = answerJson(422, aStatus(422, { message: 'is invalid', reason: 'Invalid' }));
  api.server.handle(answering((path) => (isApplied(path) ? invalid : undefined)));
  await expect(applyCustomResources(api.client, DEFINITIONS)).rejects.toThrow('is invalid');
});
