/** Source: https://grpc.io/docs/guides/status-codes/ */
export const GRPC = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** What the server said, or the way to it. */
export interface GrpcStatus {
  /** One of GRPC, most often. */
  readonly code: number;
  readonly message: string;
}

/** The status in the error of a call, or in its cause; undefined for other errors. */
export function grpcStatusOf(error: unknown): GrpcStatus | undefined {
  if (isNamespaceNotFound(error)) return { code: GRPC.notFound, message: error.message };
  const cause = error instanceof Error && isServiceError(error.cause) ? error.cause : error;
  return isServiceError(cause) ? { code: cause.code, message: cause.details || cause.message } : undefined;
}

/**
 * Whether the namespace lacks search attributes that a call names. The operator registers them when it starts. A database that
 * was recreated later does not have them.
 */
export function lacksSearchAttributes(error: unknown): boolean {
  const { code, message = '' } = grpcStatusOf(error) ?? {};
  return code === GRPC.invalidArgument && message.includes('search attribute');
}

/** Whether the namespace of a call does not exist, or was deleted a moment ago. */
export function lacksNamespace(error: unknown): boolean {
  const { code, message = '' } = grpcStatusOf(error) ?? {};
  const isMissing = code === GRPC.notFound && message.startsWith('Namespace ');
  return isMissing || (code === GRPC.failedPrecondition && message.startsWith('Namespace has invalid state'));
}

/** @returns undefined where the server has no such thing @throws the error of a namespace that does not exist */
export async function unlessNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    const isMissing = error instanceof Error && error.name === 'WorkflowNotFoundError';
    if (lacksNamespace(error)) throw error;
    if (isMissing || grpcStatusOf(error)?.code === GRPC.notFound) return undefined;
    throw error;
  }
}

/** The SDK's client throws it without the status that it was made from. */
function isNamespaceNotFound(error: unknown): error is Error {
  return error instanceof Error && error.name === 'NamespaceNotFoundError';
}

/** Recognizes the `ServiceError` of grpc-js by its shape, so that this file does not load Temporal's client. */
function isServiceError(error: unknown): error is Error & { code: number; details: string } {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'number' &&
    'details' in error &&
    typeof error.details === 'string' &&
    'metadata' in error
  );
}
