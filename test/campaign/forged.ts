import type { ForgedAnswer, Journalled } from '../../testing/stack/api-proxy.ts';

/** `409` is a conflict; `403` is the authorizer's; `422` is an admission webhook's, which quotes what it was sent. */
const REASONS = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
} as const;

export type Answered = keyof typeof REASONS;

/** In the words of the real servers, where the operator goes by them. */
export function forged(status: Answered, { about, body }: Journalled): ForgedAnswer {
  // The mux of the API server, which knows no such group.
  if (status === 404) return { status, body: '404 page not found\n' };
  const text = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: REASONS[status],
    message: messageOf(status, about.resource, body),
    code: status,
  });
  return { status, body: text, ...(status === 429 && { retryAfter: '1' }) };
}

function messageOf(status: Answered, resource: string, body: unknown): string {
  if (status === 403)
    return `${resource} is forbidden: User "the-operator" cannot ask for resource "${resource}"`;
  if (status === 422)
    return `admission webhook "campaign.example.com" denied the request: ${JSON.stringify(body)}`;
  return `${REASONS[status]}: the campaign says so`;
}
