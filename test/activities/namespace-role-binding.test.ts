import { describe, expect, it } from '@jest/globals';
import { dryRunning } from '../../activities/dry-run.ts';
import { definedReconciler } from '../../activities/defined-reconciler.ts';
import { StepRun } from '../../activities/step-run.ts';
import type { Refusal } from '../../src/runs/decision.ts';
import { namespaceRoleBinding } from '../../src/controllers/namespace-role-binding/controller.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { answerJson, aStatus, type Handler, type ReceivedRequest } from '../support/fake-api-server.ts';
import { aRoleBinding } from '../support/role-bindings.ts';
import { withValues } from '../../src/engine/bound.ts';

const OPTIONS = {
  roleBindingClusterRole: 'edit',
  roleBindingPrefix: 'ad-kubernetes-',
  namespaceSelector: [],
  excludeNamespaces: [],
};
const REF = { controller: 'namespace-role-binding', namespace: '', name: 'shop', uid: 'uid-1' };

const api = aFakeApi();

/** A namespace with a binding of ours to another role, until it is deleted; creates are answered so, but for dry runs. */
function replacing(created: Handler): Handler {
  const { manifest } = aRoleBinding('shop').to('view');
  const metadata = { ...manifest.metadata, uid: 'uid-2', resourceVersion: '7' };
  const answers: Record<string, Handler> = {
    'GET namespaces/shop': answerJson(200, {
      metadata: { name: 'shop', uid: 'uid-1', resourceVersion: '1' },
    }),
    'GET rolebindings/ad-kubernetes-shop': answerJson(200, { ...manifest, metadata }),
    'DELETE rolebindings/ad-kubernetes-shop': answerJson(200, {}),
  };
  const dryRun = answerJson(409, aStatus(409, { reason: 'AlreadyExists', message: 'it is there' }));
  return (request, response) => {
    const answer = answers[askedIn(request)] ?? (request.url.searchParams.has('dryRun') ? dryRun : created);
    answer(request, response);
  };
}

function askedIn({ method, url }: ReceivedRequest): string {
  return `${method} ${url.pathname.split('/').slice(-2).join('/')}`;
}

describe('the replacement of a binding', () => {
  const replace = () => {
    const context = { ref: REF, now: Date.now, superseded: new AbortController().signal };
    return new StepRun(
      definedReconciler(withValues(namespaceRoleBinding, OPTIONS), api.client),
      context,
    ).perform('replaceRoleBinding', undefined);
  };

  it('waits where the server says when to come back after the delete, and says what it has done', async () => {
    api.server.handle(
      replacing(answerJson(429, aStatus(429, { message: 'too many requests' }), { 'retry-after': '7' })),
    );
    await expect(replace()).rejects.toMatchObject({
      name: 'PartlyDone',
      cause: { retryAfterMs: 7_000 },
      did: [{ did: 'deleted', what: 'RoleBinding ad-kubernetes-shop' }],
    });
  });

  it('is decided on again where the create fails otherwise', async () => {
    api.server.handle(replacing(answerJson(500, aStatus(500, { message: 'etcd leader changed' }))));
    expect(await replace()).toMatchObject({
      did: [{ did: 'deleted', what: 'RoleBinding ad-kubernetes-shop' }],
    });
  });
});

describe('a binding whose subjects something changes', () => {
  it('is written twice, and then only tried', async () => {
    const { manifest } = aRoleBinding('shop').of('others');
    const changed = { ...manifest, metadata: { ...manifest.metadata, uid: 'uid-2', resourceVersion: '7' } };
    const namespace = { metadata: { name: 'shop', uid: 'uid-1', resourceVersion: '1' } };
    let isThere = false;
    api.server.handle((request, response) => {
      isThere ||= request.method === 'POST';
      const asked = askedIn(request);
      if (asked === 'GET namespaces/shop') answerJson(200, namespace)(request, response);
      else if (isThere) answerJson(200, changed)(request, response);
      else
        answerJson(404, aStatus(404, { message: 'not found', details: { name: 'ad-kubernetes-shop' } }))(
          request,
          response,
        );
    });
    const reconciler = definedReconciler(withValues(namespaceRoleBinding, OPTIONS), api.client);
    const rehearsing = definedReconciler(withValues(namespaceRoleBinding, OPTIONS), dryRunning(api.client));
    const rehearse: typeof rehearsing.perform = (...args) => rehearsing.perform(...args);
    const step = (name: string, refusal?: Refusal) => {
      const context = { ref: REF, now: Date.now, superseded: new AbortController().signal, refusal };
      return new StepRun({ ...reconciler, rehearse }, context).perform(name, undefined);
    };
    expect((await step('createRoleBinding')).next.do).toBe('updateRoleBinding');
    const { refusal } = await step('updateRoleBinding');
    expect(refusal).toMatchObject({ because: 'overridden', message: expect.stringContaining('subjects') });
    await expect(step('updateRoleBinding', refusal)).rejects.toMatchObject({ classification: 'overridden' });
    const writes = api.server.requests.filter(({ method }) => method !== 'GET');
    expect(writes.map(({ method, url }) => `${method} ${url.search}`)).toEqual([
      'POST ',
      'PATCH ',
      'PATCH ?dryRun=All',
    ]);
  });
});
