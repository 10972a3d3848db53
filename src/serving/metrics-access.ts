import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Logger } from '../contract/logger.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { resourcePath } from '../kubernetes/paths.ts';

export type Admission = { readonly may: 'read' } | Refusal;

export interface Refusal {
  readonly may: 'not-read';
  readonly because:
    /** No token, or one of nobody. */
    | 'unknown'
    | 'not-allowed'
    /** The API server does not answer, or not to us. */
    | 'nobody-can-say';
}

/** Who presents this token, and may they get `/metrics`? Never throws. */
export type MetricsAccess = (token: string | undefined) => Promise<Admission>;

export interface MetricsAccessOptions {
  readonly client: Pick<KubernetesClient, 'request'>;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** As long as kube-apiserver's own and controller-runtime's filters keep an authentication. */
const KEPT_MS = 60_000;
/** Whoever reaches the port can make us ask, with a new token each time: only so often at once. */
const MOST_REVIEWS_UNDER_WAY = 8;
const MOST_KEPT = 1_000;

/**
 * Asks the API server, by TokenReview and SubjectAccessReview, as controller-runtime's metrics filter does. An
 * answer is kept for a minute, under the token's hash.
 */
export function metricsAccess({
  client,
  log,
  now = () => performance.now(),
}: MetricsAccessOptions): MetricsAccess {
  const kept = new KeptAdmissions(now);
  const complain = complainer(log);
  let underWay = 0;

  async function reviewed(token: string): Promise<Admission> {
    if (underWay >= MOST_REVIEWS_UNDER_WAY) return NOBODY_CAN_SAY;
    underWay += 1;
    try {
      return await review(client, token);
    } catch (error) {
      complain(error, token);
      return NOBODY_CAN_SAY;
    } finally {
      underWay -= 1;
    }
  }

  return async (token) => {
    if (token === undefined) return UNKNOWN;
    const key = createHash('sha256').update(token).digest('base64');
    const known = kept.get(key);
    if (known !== undefined) return known;
    const admission = await reviewed(token);
    if (admission !== NOBODY_CAN_SAY) kept.keep(key, admission);
    return admission;
  };
}

const READ: Admission = { may: 'read' };
const UNKNOWN: Admission = { may: 'not-read', because: 'unknown' };
const NOT_ALLOWED: Admission = { may: 'not-read', because: 'not-allowed' };
const NOBODY_CAN_SAY: Admission = { may: 'not-read', because: 'nobody-can-say' };

class KeptAdmissions {
  readonly #now: () => number;
  /** The oldest first. */
  readonly #kept = new Map<string, { readonly admission: Admission; readonly untilMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get(key: string): Admission | undefined {
    const found = this.#kept.get(key);
    if (found === undefined || found.untilMs > this.#now()) return found?.admission;
    this.#kept.delete(key);
    return undefined;
  }

  keep(key: string, admission: Admission): void {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= MOST_KEPT) this.#kept.delete(oldest);
    this.#kept.set(key, { admission, untilMs: this.#now() + KEPT_MS });
  }
}

const TOKEN_REVIEWS = { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' };
const ACCESS_REVIEWS = { group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews' };

const User = z.object({
  username: z.string().default(''),
  uid: z.string().default(''),
  groups: z.array(z.string()).default([]),
  extra: z.record(z.string(), z.array(z.string())).default({}),
});

const TokenReview = z.object({
  status: z.object({ authenticated: z.boolean().default(false), user: User.prefault({}) }),
});

const AccessReview = z.object({ status: z.object({ allowed: z.boolean() }) });

/** @throws ApiError, ZodError */
async function review(client: Pick<KubernetesClient, 'request'>, token: string): Promise<Admission> {
  const { authenticated, user } = TokenReview.parse(
    await create(client, TOKEN_REVIEWS, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token },
    }),
  ).status;
  if (!authenticated) return UNKNOWN;
  const { username, ...rest } = user;
  // A HEAD tells less than a GET: the same permission covers both.
  const spec = { user: username, ...rest, nonResourceAttributes: { path: '/metrics', verb: 'get' } };
  const { allowed } = AccessReview.parse(
    await create(client, ACCESS_REVIEWS, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec,
    }),
  ).status;
  return allowed ? READ : NOT_ALLOWED;
}

function create(
  client: Pick<KubernetesClient, 'request'>,
  type: Parameters<typeof resourcePath>[0],
  body: object,
): Promise<unknown> {
  return client.request({ method: 'POST', path: resourcePath(type), body });
}

/** One line a reason, not one a scrape; and never the token, whatever the server's words are. */
function complainer(log: Logger): (error: unknown, token: string) => void {
  let said = '';
  return (error, token) => {
    const words = (error instanceof Error ? error.message : String(error)).replaceAll(token, '[token]');
    if (words === said) return;
    said = words;
    log.warn(
      {},
      `nobody may read metrics now, since who asks cannot be checked: ${words}; ${adviceFor(error)}`,
    );
  };
}

function adviceFor(error: unknown): string {
  return error instanceof ApiError && error.classification === 'access-denied'
    ? 'bind the ClusterRole metrics-auth-role to the operator'
    : 'it is asked again at the next scrape';
}
