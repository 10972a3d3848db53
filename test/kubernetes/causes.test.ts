import { describe, expect, it } from '@jest/globals';
import { causeOfRefusal } from '../../src/api/refusal.ts';
import { causeOfError } from '../../src/kubernetes/causes.ts';
import { errorFromAnswer, type FailedAnswer } from '../../src/kubernetes/errors.ts';

const ABOUT = { resource: 'podset/web -n shop', namespace: 'shop' };

/** The cause of an answer with a Status of this reason and message. */
function causeOf(status: number, reason: string, message: string, more: object = {}) {
  const body = JSON.stringify({ kind: 'Status', code: status, reason, message, ...more });
  const answer: FailedAnswer = { status, body };
  return causeOfError(errorFromAnswer('PATCH /api/v1/namespaces/shop/pods/web', answer), ABOUT);
}

const runsOf = (cause: ReturnType<typeof causeOf>) =>
  cause.advice.flatMap((each) => (typeof each === 'string' ? [] : [each.run]));

describe('the cause of an error', () => {
  it('has the words of the server, without the request', () => {
    const words =
      'pods "web" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3';
    expect(causeOf(403, 'Forbidden', words)).toMatchObject({ reason: 'QuotaExceeded', message: words });
  });

  it('of a quota names the namespace that was asked, which is not always that of the resource', () => {
    const answer = { status: 403, body: JSON.stringify({ kind: 'Status', message: 'exceeded quota: few' }) };
    const at = (path: string) => causeOfError(errorFromAnswer(`PATCH ${path}`, answer), ABOUT).advice;
    expect(at('/apis/apps/v1/namespaces/team-a/deployments/web')).toEqual([
      'raise the quota of namespace team-a, or ask for less',
      { run: 'kubectl describe quota -n team-a', to: 'show the quota' },
    ]);
    expect(at('/apis/example.com/v1/fleets/web')).toContain(
      'raise the quota of namespace shop, or ask for less',
    );
  });

  it('of a missing permission asks for just that permission, as the user who lacks it', () => {
    const user = 'system:serviceaccount:ops:durable-operator';
    const words = `pods "web" is forbidden: User "${user}" cannot patch resource "pods" in API group "" in the namespace "shop"`;
    const cause = causeOf(403, 'Forbidden', words);
    expect(cause.reason).toBe('AccessDenied');
    expect(runsOf(cause)).toEqual([`kubectl auth can-i patch pods -n shop --as ${user}`]);
  });

  it('names a subresource, a group, and no namespace where the permission has none', () => {
    const of = (resource: string) =>
      `x is forbidden: User "op" cannot patch resource ${resource} at the cluster scope`;
    expect(runsOf(causeOf(403, 'Forbidden', of('"xxxes/status" in API group "example.com"')))).toEqual([
      'kubectl auth can-i patch xxxes.example.com --subresource status --as op',
    ]);
  });

  it('of a role that the operator may not grant asks whether it may bind roles', () => {
    const words =
      'rolebindings "x" is forbidden: user "op" (groups=["a"]) is attempting to grant RBAC permissions not currently held: {…}';
    const cause = causeOf(403, 'Forbidden', words);
    expect(cause.reason).toBe('AccessDenied');
    expect(runsOf(cause)).toEqual(['kubectl auth can-i bind clusterroles --as op']);
  });

  it('of a write that somebody else changed first shows who owns the fields', () => {
    const cause = causeOf(409, 'Conflict', 'the object has been modified');
    expect(cause.reason).toBe('Conflict');
    expect(runsOf(cause)).toEqual(['kubectl get podset/web -n shop -o yaml --show-managed-fields']);
  });

  it.each([
    [503, 'ServiceUnavailable', 'Unavailable'],
    [404, 'NotFound', 'ApiMissing'],
    [422, 'Invalid', 'Refused'],
  ])('of status %i is %s: %s', (status, reason, code) => {
    expect(causeOf(status, reason, 'no')).toMatchObject({ reason: code, message: 'no' });
  });
});

describe('the cause of a refusal', () => {
  it('of an apply of a field that is of another manager says who can let go of it', () => {
    const words = 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.a';
    const details = { causes: [{ reason: 'FieldManagerConflict', field: '.data.a' }] };
    expect(causeOf(409, 'Conflict', words, { details })).toEqual({
      ...{ reason: 'Refused', message: words },
      advice: ['have the other manager let go of the field, or let the controller apply it with force'],
    });
  });

  it('of a field that the type does not have asks the author to correct it', () => {
    const field = '.spec.templat: field not declared in schema';
    const words = `failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): ${field}`;
    expect(causeOfRefusal(words, ABOUT)).toMatchObject({
      reason: 'Refused',
      message: words,
      advice: [expect.stringContaining('.spec.templat')],
    });
  });

  it('of a webhook that does not answer names it', () => {
    const words =
      'Internal error occurred: failed calling webhook "pods.example.com": connect: connection refused';
    const cause = causeOfRefusal(words, { namespace: 'shop' });
    expect(cause).toMatchObject({ reason: 'WebhookUnavailable', message: words });
    expect(cause.advice[0]).toContain('have the webhook pods.example.com answer again');
  });

  it('by PodSecurity names the label of the namespace', () => {
    const cause = causeOfRefusal('pods "x" is forbidden: violates PodSecurity "restricted:latest": …', ABOUT);
    expect(cause.reason).toBe('PodSecurity');
    expect(cause.advice[0]).toContain('pod-security.kubernetes.io/enforce of namespace shop');
  });

  it.each([
    ['admission webhook "no.example.com" denied the request: no', 'no.example.com refuses'],
    ["ValidatingAdmissionPolicy 'no-pods' with binding 'all' denied request: no", 'no-pods -o yaml'],
  ])('names who refuses: %s', (words, named) => {
    const cause = causeOfRefusal(words, ABOUT);
    expect(cause.reason).toBe('Refused');
    expect(JSON.stringify(cause.advice)).toContain(named);
  });
});
