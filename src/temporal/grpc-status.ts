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

/** @returns undefined where the server has no such thing */
export async function unlessNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    const isMissing = error instanceof Error && error.name === 'WorkflowNotFoundError';
    if (isMissing || grpcStatusOf(error)?.code === GRPC.notFound) return undefined;
    throw error;
  }
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
