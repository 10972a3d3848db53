import { describe, expect, it } from '@jest/globals';
import {
  ApiError,
  errorFromAnswer,
  errorFromCredentials,
  errorFromFailure,
  errorFromWatchEvent,
  isNamespaceEnding,
  type ApiErrorClass,
} from '../../src/kubernetes/errors.ts';
import { aStatus } from '../support/fake-api-server.ts';

const ASKED = 'PATCH /api/v1/namespaces/default/pods/web';

interface Answered {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: object;
  readonly retryAfter?: string;
}

function errorOf({ code, retryAfter, ...status }: Answered) {
  return errorFromAnswer(ASKED, { status: code, retryAfter, body: JSON.stringify(aStatus(code, status)) });
}

const answering =
  (code: number, reason: string) =>
  (message: string, details?: object): Answered => ({ code, reason, message, ...(details && { details }) });
const forbidden = answering(403, 'Forbidden');
const notFound = answering(404, 'NotFound');
const conflict = answering(409, 'Conflict');
const invalid = answering(422, 'Invalid');
const WEB = { name: 'web', kind: 'pods' };

/** Bodies as a kube-apiserver 1.36 sends them. */
const TABLE: [what: string, expected: ApiErrorClass, answer: Answered][] = [
  ['an object that does not exist', 'not-found', notFound('pods "web" not found', WEB)],
  [
    'a create into a namespace that does not exist',
    'not-found',
    notFound('namespaces "default" not found', { name: 'default', kind: 'namespaces' }),
  ],
  [
    'a create that refers to what does not exist',
    'refused',
    notFound('rolebindings.rbac.authorization.k8s.io "no" not found', {
      name: 'no',
      kind: 'rolebindings',
      group: 'rbac.authorization.k8s.io',
    }),
  ],
  ['an object whose kind is not said', 'not-found', notFound('"web" not found', { name: 'web' })],
  ['a CRD that is missing', 'api-missing', notFound('the server could not find the requested resource', {})],
  [
    'a create of what exists',
    'already-exists',
    {
      code: 409,
      reason: 'AlreadyExists',
      message: 'pods "web" already exists',
      details: { name: 'web', kind: 'pods' },
    },
  ],
  [
    'an outdated resourceVersion',
    'conflict',
    conflict(
      'Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to the latest version and try again',
      WEB,
    ),
  ],
  [
    'a patch with the UID of a predecessor',
    'conflict',
    invalid('Pod "web" is invalid: metadata.uid: Invalid value: "other": field is immutable', {
      name: 'web',
      kind: 'Pod',
      causes: [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: "other": field is immutable',
          field: 'metadata.uid',
        },
      ],
    }),
  ],
  [
    'flow control without Retry-After',
    'unavailable',
    { code: 429, reason: 'TooManyRequests', message: 'busy' },
  ],
  [
    'an overloaded server with Retry-After',
    'retry-after',
    { code: 503, reason: 'ServiceUnavailable', message: 'apiserver is shutting down', retryAfter: '5' },
  ],
  [
    'a server time-out with retryAfterSeconds in its Status alone',
    'retry-after',
    {
      code: 500,
      reason: 'ServerTimeout',
      message: 'The POST operation against pods could not be completed at this time, please try again.',
      details: { name: 'POST', kind: 'pods', retryAfterSeconds: 2 },
    },
  ],
  [
    'an applied object with a field of another type, whatever the status',
    'refused',
    {
      code: 500,
      message:
        'failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.templat: field not declared in schema',
    },
  ],
  [
    'a webhook that does not answer, so that nothing was written',
    'refused',
    {
      code: 500,
      reason: 'InternalError',
      message:
        'Internal error occurred: failed calling webhook "pods.example.com": failed to call webhook: Post "https://policy.shop.svc:443/": connect: connection refused',
    },
  ],
  ['a bad token', 'access-denied', { code: 401, reason: 'Unauthorized', message: 'Unauthorized' }],
  [
    'a verb that no Role grants',
    'access-denied',
    forbidden(
      'pods "web" is forbidden: User "system:serviceaccount:default:op" cannot patch resource "pods" in API group "" in the namespace "default"',
      WEB,
    ),
  ],
  [
    'a path that no Role grants',
    'access-denied',
    forbidden('forbidden: User "system:anonymous" cannot get path "/version"', {}),
  ],
  [
    'a binding beyond what the binder holds',
    'access-denied',
    forbidden(
      'rolebindings.rbac.authorization.k8s.io "x" is forbidden: user "op" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
      { name: 'x', group: 'rbac.authorization.k8s.io', kind: 'rolebindings' },
    ),
  ],
  [
    'an owner whose finalizers may not be set',
    'access-denied',
    forbidden(
      'pods "web" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: , <nil>',
      WEB,
    ),
  ],
  [
    'an eviction that a PodDisruptionBudget does not allow',
    'disruption-budget',
    {
      ...{
        code: 429,
        reason: 'TooManyRequests',
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
      },
      details: {
        causes: [
          {
            reason: 'DisruptionBudget',
            message: 'The disruption budget web needs 1 healthy pods and has 1 currently',
          },
        ],
      },
    },
  ],
  [
    'an apply of a field that is of another manager',
    'refused',
    {
      ...{
        code: 409,
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "kubectl" using v1: .data.a',
      },
      details: {
        causes: [
          { reason: 'FieldManagerConflict', message: 'conflict with "kubectl" using v1', field: '.data.a' },
        ],
      },
    },
  ],
  [
    'a namespace that terminates',
    'namespace-terminating',
    forbidden(
      'pods "web" is forbidden: unable to create new content in namespace team-1 because it is being terminated',
      {
        name: 'web',
        kind: 'pods',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace team-1 is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
    ),
  ],
  [
    'a quota that is used up',
    'refused',
    forbidden(
      'pods "web" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
      WEB,
    ),
  ],
  [
    'an admission webhook, whatever status it chose',
    'refused',
    { code: 400, message: 'admission webhook "x.example.com" denied the request: no' },
  ],
  [
    'an admission webhook that speaks as the authorizer does',
    'refused',
    forbidden('admission webhook "x.example.com" denied the request: forbidden: User "op" cannot do this'),
  ],
  [
    'a field that validation rejects',
    'refused',
    invalid(
      'Pod "web" is invalid: metadata.labels: Invalid value: "-": a valid label must be an empty string',
      {
        name: 'web',
        kind: 'Pod',
        causes: [{ reason: 'FieldValueInvalid', field: 'metadata.labels' }],
      },
    ),
  ],
  [
    'a continue token that is too old',
    'expired',
    { code: 410, reason: 'Expired', message: 'The provided continue parameter is too old' },
  ],
];

describe('errorFromAnswer', () => {
  it.each(TABLE)('classifies %s as %s', (_, classification, answer) => {
    const { code: status, reason, details } = answer;
    expect(errorOf(answer)).toMatchObject({ classification, status, reason, ...(details && { details }) });
  });

  it.each([
    [404, '404 page not found\n', 'api-missing'],
    [403, '<html>proxy</html>', 'access-denied'],
    [502, 'bad gateway', 'unavailable'],
    [404, '{"kind":"Pod","details":{"name":"x"}}', 'api-missing'],
    [407, 'proxy authentication required', 'access-denied'],
    [408, '', 'unavailable'],
    [412, 'precondition failed', 'conflict'],
    [422, '', 'refused'],
    [399, '', 'unavailable'],
  ])('classifies a %d whose body is no Status, %j, as %s', (status, body, classification) => {
    expect(errorFromAnswer(ASKED, { status, body })).toMatchObject({ classification });
  });

  it.each<[what: string, code: number, expected: ApiErrorClass, status: object]>([
    ['details', 404, 'api-missing', { details: 'web' }],
    ['a name', 404, 'api-missing', { details: { name: 7 } }],
    ['a message', 403, 'refused', { message: null }],
    ['causes', 422, 'refused', { details: { causes: 'metadata.uid' } }],
    ['a cause', 422, 'refused', { details: { causes: ['metadata.uid'] } }],
    ['retryAfterSeconds', 503, 'unavailable', { details: { retryAfterSeconds: '2' } }],
  ])('takes %s of the wrong type for absent, and the rest as it is', (_, status, classification, fields) => {
    const body = JSON.stringify({ kind: 'Status', code: 'none', reason: 'Odd', message: 'odd', ...fields });
    const error = errorFromAnswer(ASKED, { status, body });
    expect(error).toMatchObject({ classification, status });
    expect(error.message).toBe('message' in fields ? `${ASKED}: 403` : `${ASKED}: ${status} odd`);
  });

  it('finds the cause that decides among others', () => {
    const other = { reason: 'Other', field: 'spec' };
    const causes = [other, { reason: 'NamespaceTerminating' }, { field: 'metadata.uid' }, other];
    const classOf = (code: number, details: object) => errorOf({ code, message: '', details }).classification;
    expect(classOf(403, { causes })).toBe('namespace-terminating');
    expect(classOf(422, { causes })).toBe('conflict');
    expect([classOf(403, { causes: [other] }), classOf(422, { causes: [other] })]).toEqual([
      'refused',
      'refused',
    ]);
  });

  it('says in one line what was asked and what the server said', () => {
    const error = errorOf({ code: 422, reason: 'Invalid', message: 'Pod "web" is invalid:\n * a\n * b' });
    expect(error.message).toBe(
      'PATCH /api/v1/namespaces/default/pods/web: 422 Pod "web" is invalid: * a * b',
    );
  });

  it('cuts words that go on and on', () => {
    const longest = 'x'.repeat(2000);
    expect(errorOf({ code: 422, message: longest }).message).toBe(`${ASKED}: 422 ${longest}`);
    expect(errorOf({ code: 422, message: `${longest}y` }).message).toBe(`${ASKED}: 422 ${longest}…`);
  });

  it('says only what was asked, and the code, where the server said nothing', () => {
    expect(errorFromAnswer(ASKED, { status: 502, body: '\n' }).message).toBe(`${ASKED}: 502`);
  });

  it('reads Retry-After as a date', () => {
    const retryAfter = new Date(Date.now() + 60_000).toUTCString();
    const { retryAfterMs = 0 } = errorOf({ code: 503, message: '', retryAfter });
    expect(Math.round(retryAfterMs / 10_000)).toBe(6);
  });

  it.each([
    ['0', 0],
    ['1.2345', 1235],
    ['301', 300_000],
    ['Fri, 31 Dec 2999 00:00:00 GMT', 300_000],
    ['Thu, 01 Jan 2026 00:00:00 GMT', 0],
    ['-1', undefined],
    ['soon', undefined],
    ['  ', undefined],
  ])('reads Retry-After %j as %s ms', (retryAfter, expected) => {
    expect(errorOf({ code: 503, message: '', retryAfter }).retryAfterMs).toBe(expected);
  });

  it('caps the retryAfterSeconds of a Status, too', () => {
    const error = errorOf({ code: 429, message: '', details: { retryAfterSeconds: 86_400 } });
    expect(error.retryAfterMs).toBe(300_000);
  });

  it('lets the header win over the Status', () => {
    const error = errorOf({ code: 429, message: '', retryAfter: '3', details: { retryAfterSeconds: 9 } });
    expect(error.retryAfterMs).toBe(3000);
  });
});

describe('other failures', () => {
  it('no answer is an unknown outcome without a status', () => {
    const error = errorFromFailure(ASKED, new Error('read ECONNRESET'));
    expect(error).toMatchObject({ classification: 'unavailable', status: undefined });
    expect(error.message).toBe('PATCH /api/v1/namespaces/default/pods/web: read ECONNRESET');
  });

  it('a connection refused at several addresses says so', () => {
    const cause = new AggregateError([
      new Error('connect ECONNREFUSED ::1'),
      new Error('connect ECONNREFUSED 127.0.0.1'),
    ]);
    expect(errorFromFailure('GET /x', cause).message).toBe(
      'GET /x: connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1',
    );
  });

  it.each<[cause: unknown, says: string]>([
    ['a string', 'a string'],
    [undefined, 'undefined'],
    [{ message: 7, name: 'Odd' }, 'Odd'],
    [new Error(' two\tlines '), 'two lines'],
  ])('says in one line what was thrown, whatever that is: %p', (cause, says) => {
    const error = errorFromFailure('GET /x', cause);
    expect(error.message).toBe(`GET /x: ${says}`);
    expect(error.cause).toBe(cause);
    expect(error.name).toBe('ApiError');
  });

  it('missing credentials deny access', () => {
    expect(errorFromCredentials(ASKED, new Error('ENOENT: /token'))).toMatchObject({
      classification: 'access-denied',
      message: `${ASKED}: cannot get credentials: ENOENT: /token; check the user in the kubeconfig`,
    });
  });

  it('never quotes what holds a token', () => {
    const error = errorFromCredentials(ASKED, new SyntaxError('Unexpected token in "secret"'));
    expect(error.message).toBe(
      `${ASKED}: cannot get credentials: what was read is not JSON; check the user in the kubeconfig`,
    );
    expect(error.cause).toBeUndefined();
  });

  it('an ERROR event that is no Status, or has no code, is an unknown outcome', () => {
    expect(errorFromWatchEvent('WATCH /x', 'nonsense')).toMatchObject({
      classification: 'unavailable',
      status: 500,
      message: 'WATCH /x: 500 the watch ended with an error that is not a Status',
    });
    expect(errorFromWatchEvent('WATCH /x', { kind: 'Status', message: 'odd' })).toMatchObject({
      classification: 'unavailable',
      status: 500,
      message: 'WATCH /x: 500 odd',
    });
  });
});

it('says nothing of credentials in a URL that a webhook quotes', () => {
  const message = 'admission webhook "x" denied the request: https://u:s3cret@h/x?token=s3cret';
  const error = errorOf(forbidden(message));
  expect([error.message, error.words].join()).not.toContain('s3cret');
  expect(error.words).toBe('admission webhook "x" denied the request: https://h/x?[redacted]');
});

describe('a namespace that is ending', () => {
  const failed = (classification: ApiErrorClass, kind: string) =>
    new ApiError('no', { classification, details: { kind, name: 'shop' } });

  it('is one that is being deleted, or gone, and not another object that is missing', () => {
    expect(isNamespaceEnding(failed('namespace-terminating', 'pods'))).toBe(true);
    expect(isNamespaceEnding(failed('not-found', 'namespaces'))).toBe(true);
    expect(isNamespaceEnding(failed('not-found', 'rolebindings'))).toBe(false);
    expect(isNamespaceEnding(failed('refused', 'namespaces'))).toBe(false);
    expect(isNamespaceEnding(new Error('no'))).toBe(false);
  });
});
