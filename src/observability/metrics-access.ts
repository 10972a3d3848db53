import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Logger } from '../api/logger.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { resourcePath } from '../kubernetes/paths.ts';

/** `unauthenticated`: no token, or nobody's; `undecided`: the API server did not decide. */
export type TokenVerdict = 'allowed' | 'unauthenticated' | 'forbidden' | 'undecided';

/** Whether the owner of this token may get `/metrics`. Never throws. */
export type MetricsAccess = (token: string | undefined) => Promise<TokenVerdict>;

/** The API server, as far as reviews need it. */
export type AccessReviewer = Pick<KubernetesClient, 'request'>;

export interface MetricsAccessOptions {
  readonly client: AccessReviewer;
  readonly log: Logger;
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** As long as kube-apiserver and controller-runtime cache an authentication. */
const CACHE_TTL_MS = 60_000;
const CACHE_MAX = 1_000;
/** Anybody who reaches the port can cause reviews, with a new token each. */
const REVIEWS_AT_ONCE_MAX = 8;

/**
 * Asks the API server, by TokenReview and SubjectAccessReview, as the metrics filter of controller-runtime does. An
 * answer is cached for a minute, by the hash of the token.
 */
export function metricsAccess({
  client,
  log,
  now = () => performance.now(),
}: MetricsAccessOptions): MetricsAccess {
  const cache = new LRUCache<string, TokenVerdict>({
    max: CACHE_MAX,
    ttl: CACHE_TTL_MS,
    ttlResolution: 0,
    perf: { now },
  });
  const logFailure = failureLogger(log);
  let inProgress = 0;

  async function reviewed(token: string): Promise<TokenVerdict> {
    if (inProgress >= REVIEWS_AT_ONCE_MAX) return 'undecided';
    inProgress += 1;
    try {
      return await review(client, token);
    } catch (error) {
      logFailure(error, token);
      return 'undecided';
    } finally {
      inProgress -= 1;
    }
  }

  return async (token) => {
    if (token === undefined) return 'unauthenticated';
    const key = createHash('sha256').update(token).digest('base64');
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const access = await reviewed(token);
    if (access !== 'undecided') cache.set(key, access);
    return access;
  };
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
async function review(client: AccessReviewer, token: string): Promise<TokenVerdict> {
  const authentication = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
  const { authenticated, user } = TokenReview.parse(
    await create(client, TOKEN_REVIEWS, authentication),
  ).status;
  if (!authenticated) return 'unauthenticated';
  const { username, ...rest } = user;
  const spec = {
    user: username,
    ...rest,
    // It covers HEAD, too, which shows less.
    nonResourceAttributes: { path: '/metrics', verb: 'get' },
  };
  const authorization = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const { allowed } = AccessReview.parse(await create(client, ACCESS_REVIEWS, authorization)).status;
  return allowed ? 'allowed' : 'forbidden';
}

function create(
  client: AccessReviewer,
  type: Parameters<typeof resourcePath>[0],
  body: object,
): Promise<unknown> {
  return client.request({ method: 'POST', path: resourcePath(type), body });
}

/** Logs one line per reason, not one per scrape; and never the token, whatever the server says. */
function failureLogger(log: Logger): (error: unknown, token: string) => void {
  let logged = '';
  return (error, token) => {
    const message = (error instanceof Error ? error.message : String(error)).replaceAll(token, '[token]');
    if (message === logged) return;
    logged = message;
    log.warn(
      {},
      `nobody can read metrics, because access cannot be checked: ${message}; ${adviceFor(error)}`,
    );
  };
}

function adviceFor(error: unknown): string {
  return error instanceof ApiError && error.classification === 'access-denied'
    ? 'bind the ClusterRole metrics-auth-role to the operator'
    : 'it is checked again at the next scrape';
}
