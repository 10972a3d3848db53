import { z } from 'zod';
import { ApiError, type ApiErrorClass, type StatusDetails } from '../api/api-error.ts';
import { RETRY_AFTER_MAX_MS } from '../runs/failures.ts';
import { MALFORMED, WEBHOOK_DOWN } from '../api/refusal.ts';
import { redacted } from '../api/redacted.ts';

export { API_ERROR_CLASSES, ApiError, type ApiErrorClass, type StatusDetails } from '../api/api-error.ts';

/** A field of the wrong type counts as absent: proxies and webhooks answer, too. */
const text = z.string().optional().catch(undefined);
const number = z.number().optional().catch(undefined);

const STATUS_CAUSE = z.object({ reason: text, message: text, field: text });

const STATUS_DETAILS = z.object({
  name: text,
  group: text,
  kind: text,
  uid: text,
  causes: z.array(STATUS_CAUSE).optional().catch(undefined),
  retryAfterSeconds: number,
});

/** As far as we read it. */
const STATUS = z.object({
  kind: z.literal('Status'),
  message: text,
  reason: text,
  code: number,
  details: STATUS_DETAILS.optional().catch(undefined),
  metadata: z.object({ continue: text }).optional().catch(undefined),
});

/** Source: apimachinery, `metav1.Status`. */
type Status = z.infer<typeof STATUS>;

/** The answer is longer than the caller's `maxBytes`. The server did nothing wrong: ask it for less. */
export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
}

export interface FailedAnswer {
  readonly status: number;
  /** Value of the Retry-After header, if any. */
  readonly retryAfter?: string | undefined;
  readonly body: string;
}

/** @param request What was asked, for people: `PATCH /api/v1/namespaces/default/pods/web`. */
export function errorFromAnswer(request: string, { status: code, retryAfter, body }: FailedAnswer): ApiError {
  const status = parseStatus(body);
  return errorFromStatus(request, { code, status, words: status ? status.message : body, retryAfter });
}

/** The error behind an ERROR event of a watch, whose object is a Status. */
export function errorFromWatchEvent(request: string, object: unknown): ApiError {
  const status = asStatus(object);
  const words = status ? status.message : 'the watch ended with an error that is not a Status';
  return errorFromStatus(request, { code: status?.code ?? 500, status, words });
}

/** The error where no answer came, or only a part of one: reset, refused, time-out, bad TLS. */
export function errorFromFailure(request: string, cause: unknown): ApiError {
  const words = oneLine(failureText(cause));
  return new ApiError(`${request}: ${words}`, { classification: 'unavailable', words, cause });
}

/** The error where no credentials could be had: a missing token file, an exec plugin that fails. */
export function errorFromCredentials(request: string, cause: unknown): ApiError {
  const words = credentialsProblem(cause);
  return new ApiError(`${request}: ${words}`, { classification: 'access-denied', words });
}

/** Why no credentials could be had. */
export function credentialsProblem(cause: unknown): string {
  // The message of a SyntaxError quotes what was read, which may be a token.
  const words = cause instanceof SyntaxError ? 'what was read is not JSON' : oneLine(failureText(cause));
  return `cannot get credentials: ${words}; check the user in the kubeconfig`;
}

interface Judged {
  readonly code: number;
  /** Undefined where a proxy, or the mux of the API server, has answered. */
  readonly status: Status | undefined;
  readonly words: string | undefined;
  readonly retryAfter?: string | undefined;
}

function errorFromStatus(request: string, judged: Judged): ApiError {
  const { code, status, retryAfter } = judged;
  const words = oneLine(judged.words ?? '');
  const { reason, details } = status ?? {};
  const retryAfterMs = parseRetryAfter(retryAfter) ?? waitOf(details?.retryAfterSeconds);
  return new ApiError(`${request}: ${code} ${words}`.trimEnd(), {
    words: words === '' ? `status ${code}` : words,
    status: code,
    reason,
    details,
    retryAfterMs,
    continueToken: status?.metadata?.continue,
    classification: classify(request, judged, retryAfterMs),
  });
}

function classify(
  request: string,
  { code, status }: Judged,
  retryAfterMs: number | undefined,
): ApiErrorClass {
  if ([MALFORMED, WEBHOOK_DOWN].some((words) => words.test(status?.message ?? ''))) return 'refused';
  if (code === 429 && hasCause(status, 'DisruptionBudget')) return 'disruption-budget';
  if (code === 429 || code >= 500) return retryAfterMs === undefined ? 'unavailable' : 'retry-after';
  switch (code) {
    case 401:
    case 407:
      return 'access-denied';
    case 403:
      return status ? classifyForbidden(status) : 'access-denied';
    case 404:
      return classifyNotFound(request, status?.details);
    case 409:
      // To observe again would not help: the other manager stays.
      if (hasCause(status, 'FieldManagerConflict')) return 'refused';
      return status?.reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
    case 412:
      return 'conflict';
    case 410:
      return 'expired';
    case 422:
      return isUidMismatch(status) ? 'conflict' : 'refused';
    default:
      return code >= 400 && code !== 408 ? 'refused' : 'unavailable';
  }
}

/**
 * What the path names is gone. Any other name is of what the object refers to: a RoleBinding to a ClusterRole that is missing, and
 * that the user may not bind, is answered by `rolebindings "<ClusterRole>" not found`. Source:
 * kubernetes/pkg/registry/rbac/rolebinding/policybased, `Create`.
 */
function classifyNotFound(request: string, details: StatusDetails | undefined): ApiErrorClass {
  const { name, kind } = details ?? {};
  if (!name) return 'api-missing';
  const isInPath = kind === undefined || `${request}/`.includes(`/${kind}/${encodeURIComponent(name)}/`);
  return isInPath ? 'not-found' : 'refused';
}

/**
 * The authorizer and admission share code, reason and shape: only the message distinguishes them. Sources: apiserver,
 * `responsewriters.Forbidden`; RBAC's escalation check, `NewForbidden(... attempting to grant RBAC permissions)`;
 * the OwnerReferencesPermissionEnforcement plugin.
 */
const AUTHORIZER_WORDS =
  /\bforbidden: User "[^"]*" cannot |attempting to grant RBAC permissions|cannot set (?:blockOwnerDeletion|an ownerRef)/;
const ADMISSION_WORDS = /admission webhook "[^"]*" denied|denied request: /;

function classifyForbidden(status: Status): ApiErrorClass {
  if (hasCause(status, 'NamespaceTerminating')) return 'namespace-terminating';
  const words = status.message ?? '';
  if (ADMISSION_WORDS.test(words)) return 'refused';
  return AUTHORIZER_WORDS.test(words) ? 'access-denied' : 'refused';
}

/** Sources: apimachinery, `metav1.CauseType`; api, `policyv1.DisruptionBudgetCause`. */
function hasCause(status: Status | undefined, reason: string): boolean {
  return status?.details?.causes?.some((cause) => cause.reason === reason) ?? false;
}

/** A UID in a patch is a precondition, but its failure is answered as an attempt to change the UID. */
function isUidMismatch(status: Status | undefined): boolean {
  return status?.details?.causes?.some(({ field }) => field === 'metadata.uid') ?? false;
}

function parseStatus(body: string): Status | undefined {
  try {
    return asStatus(JSON.parse(body));
  } catch {
    return undefined;
  }
}

function asStatus(value: unknown): Status | undefined {
  return STATUS.safeParse(value).data;
}

/** Retry-After is a number of seconds or an HTTP date (RFC 9110, 10.2.3). */
function parseRetryAfter(value: string | undefined): number | undefined {
  if (value === undefined || value.trim() === '') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return waitOf(seconds);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : waitOf(Math.max(0, date - Date.now()) / 1000);
}

/** In milliseconds; undefined where a server cannot have meant it. */
function waitOf(seconds: number | undefined): number | undefined {
  if (seconds === undefined || seconds < 0) return undefined;
  return Math.min(Math.round(seconds * 1000), RETRY_AFTER_MAX_MS);
}

/** Node hides the reason of a failed connection to several addresses in an AggregateError without a message. */
function failureText(cause: unknown): string {
  if (!isRecord(cause)) return String(cause);
  const { message, errors, name } = cause;
  if (typeof message === 'string' && message !== '') return message;
  return Array.isArray(errors) ? errors.map(failureText).join('; ') : String(name);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const LONGEST_WORDS = 2000;

/** The words enter workflow history: a webhook may quote what it refuses, and that may hold credentials. */
function oneLine(words: string): string {
  const flat = redacted(words).replace(/\s+/g, ' ').trim();
  return flat.length > LONGEST_WORDS ? `${flat.slice(0, LONGEST_WORDS)}…` : flat;
}

/** Whether the API server's answer means one of these. */
export function isOf(error: unknown, ...classes: readonly ApiErrorClass[]): error is ApiError {
  return error instanceof ApiError && classes.includes(error.classification);
}

/** Whether a create was refused because its namespace is being deleted, or gone. */
export function isNamespaceEnding(error: unknown): error is ApiError {
  if (isOf(error, 'namespace-terminating')) return true;
  return isOf(error, 'not-found') && error.details?.kind === 'namespaces';
}

/** The object, or undefined where the server says that this very object is not there. @throws ApiError */
export async function found<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isOf(error, 'not-found')) return undefined;
    throw error;
  }
}
