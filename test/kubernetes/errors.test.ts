import { describe, expect, it } from '@jest/globals';
import {
  ApiError,
  errorFromAnswer,
  errorFromCredentials,
  errorFromFailure,
  errorFromWatchEvent,
  isNamespaceEnding,
  isOf,
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
    'a UID precondition that fails',
    'conflict',
    conflict(
      'Operation cannot be fulfilled on Pod "web": the UID in the precondition (x) does not match the UID in record (y). The object might have been deleted and then recreated',
      { name: 'web', kind: 'Pod' },
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
    'a field owned by another manager',
    'conflict',
    conflict('Apply failed with 1 conflict: conflict with "kubectl": .data.a', {
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "kubectl"', field: '.data.a' }],
    }),
  ],
  [
    'flow control with Retry-After',
    'retry-after',
    { code: 429, reason: 'TooManyRequests', message: 'too many requests', retryAfter: '1' },
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
    'an overloaded server',
    'unavailable',
    { code: 503, reason: 'ServiceUnavailable', message: 'apiserver not ready' },
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
    'a webhook that cannot be reached',
    'unavailable',
    {
      code: 500,
      reason: 'InternalError',
      message:
        'Internal error occurred: failed calling webhook "x.example.com": failed to call webhook: Post "https://x.svc:443/?timeout=10s": dial tcp: connection refused',
      details: { causes: [{ message: 'failed calling webhook' }] },
    },
  ],
  [
    'a request that took the server too long',
    'unavailable',
    {
      code: 504,
      reason: 'Timeout',
      message: 'Timeout: request did not complete within requested timeout',
      details: {},
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
    'PodSecurity',
    'refused',
    forbidden(
      'pods "web" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)',
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
    'an admission policy',
    'refused',
    invalid(
      "pods \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression",
      { name: 'web', kind: 'pods', causes: [{ message: 'failed expression' }] },
    ),
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
    'a body that does not fit the schema',
    'refused',
    {
      code: 400,
      reason: 'BadRequest',
      message: 'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal',
    },
  ],
  [
    'a body that is too large',
    'refused',
    { code: 413, reason: 'RequestEntityTooLarge', message: 'limit is 3145728' },
  ],
  [
    'a continue token that is too old',
    'expired',
    { code: 410, reason: 'Expired', message: 'The provided continue parameter is too old' },
  ],
];

describe('errorFromAnswer', () => {
  it.each(TABLE)('classifies %s as %s', (_, classification, answer) => {
    expect(errorOf(answer)).toMatchObject({ classification, status: answer.code, reason: answer.reason });
  });

  it.each([
    [404, '404 page not found\n', 'api-missing'],
    [403, '<html>proxy</html>', 'access-denied'],
    [502, 'bad gateway', 'unavailable'],
    [404, '{"kind":"Pod","details":{"name":"x"}}', 'api-missing'],
    [404, '{"kind":"Stat', 'api-missing'],
    [407, 'proxy authentication required', 'access-denied'],
    [408, '', 'unavailable'],
    [409, '', 'conflict'],
    [412, 'precondition failed', 'conflict'],
    [422, '', 'refused'],
    [400, '', 'refused'],
    [399, '', 'unavailable'],
    [500, '', 'unavailable'],
  ])('classifies a %d whose body is no Status, %j, as %s', (status, body, classification) => {
    expect(errorFromAnswer(ASKED, { status, body })).toMatchObject({ classification });
  });

  it.each<[what: string, code: number, expected: ApiErrorClass, status: object]>([
    ['details', 404, 'api-missing', { details: 'web' }],
    ['a name', 404, 'api-missing', { details: { name: 7 } }],
    ['a reason', 409, 'conflict', { reason: ['AlreadyExists'] }],
    ['a message', 403, 'refused', { message: null }],
    ['causes', 422, 'refused', { details: { causes: 'metadata.uid' } }],
    ['a cause', 422, 'refused', { details: { causes: ['metadata.uid'] } }],
    ['a field', 422, 'refused', { details: { causes: [{ field: ['metadata.uid'] }] } }],
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

  it('hands on the details, so that a missing namespace can be told from a missing object', () => {
    const details = { name: 'no', kind: 'namespaces' };
    const error = errorOf({ code: 404, reason: 'NotFound', message: 'namespaces "no" not found', details });
    expect(error.details).toEqual(details);
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

  it('reads Retry-After in seconds and as a date', () => {
    expect(errorOf({ code: 503, message: '', retryAfter: '7' }).retryAfterMs).toBe(7000);
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    const retryAfterMs = errorOf({ code: 503, message: '', retryAfter: inAMinute }).retryAfterMs ?? 0;
    expect(Math.round(retryAfterMs / 10_000)).toBe(6);
    expect(errorOf({ code: 503, message: '', retryAfter: 'soon' }).retryAfterMs).toBeUndefined();
  });

  it.each([
    ['0', 0],
    ['1.2345', 1235],
    ['300', 300_000],
    ['301', 300_000],
    ['86400', 300_000],
    ['1e300', 300_000],
    ['Fri, 31 Dec 2999 00:00:00 GMT', 300_000],
    ['Thu, 01 Jan 2026 00:00:00 GMT', 0],
    ['-1', undefined],
    ['', undefined],
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
    [null, 'null'],
    [undefined, 'undefined'],
    [new RangeError(''), 'RangeError'],
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

  it('never quotes what an exec plugin printed: it holds the token', () => {
    const error = errorFromCredentials(ASKED, new SyntaxError('Unexpected token in "secret"'));
    expect(error.message).toBe(
      `${ASKED}: cannot get credentials: the exec plugin did not print JSON; check the user in the kubeconfig`,
    );
    expect(String(error.cause)).toBe('Error: the exec plugin did not print JSON');
  });

  it('an ERROR event is classified by its Status', () => {
    const status = aStatus(410, { reason: 'Expired', message: 'too old resource version: 1 (2)' });
    expect(errorFromWatchEvent('WATCH /x', status)).toMatchObject({ classification: 'expired', status: 410 });
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

describe('isOf', () => {
  const conflict = errorOf({ code: 409, message: '' });

  it('is true of an error of the API server that has one of the classes', () => {
    expect(isOf(conflict, 'not-found', 'conflict')).toBe(true);
    expect(isOf(conflict, 'not-found')).toBe(false);
    expect(isOf({ classification: 'conflict' }, 'conflict')).toBe(false);
  });
});

describe('a 404 of a create', () => {
  const answered = (kind: string) => {
    const status = { reason: 'NotFound', message: 'not found', details: { name: 'shop', kind } };
    return errorFromAnswer('POST /apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings', {
      status: 404,
      body: JSON.stringify(aStatus(404, status)),
    });
  };

  it('says that the namespace is gone where it names that alone', () => {
    expect(answered('namespaces').classification).toBe('not-found');
    expect(answered('clusterroles').classification).toBe('refused');
    expect(answered('rolebindings').classification).toBe('refused');
  });
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
