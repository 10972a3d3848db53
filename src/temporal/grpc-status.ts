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

/** What the server, or the way to it, said. */
export interface GrpcStatus {
  /** One of GRPC, most often. */
  readonly code: number;
  readonly message: string;
}

/** Of a call's error, or of the one that the client wrapped; undefined for what no server has said. */
export function grpcStatusOf(error: unknown): GrpcStatus | undefined {
  const cause = error instanceof Error && isServiceError(error.cause) ? error.cause : error;
  return isServiceError(cause) ? { code: cause.code, message: cause.details || cause.message } : undefined;
}

/**
 * Whether the namespace does not have the search attributes that a call names. They are registered at the operator's start; a
 * database that was recreated since does not have them.
 */
export function lacksSearchAttributes(error: unknown): boolean {
  const { code, message = '' } = grpcStatusOf(error) ?? {};
  return code === GRPC.invalidArgument && message.includes('search attribute');
}

/** grpc-js' `ServiceError`, by its shape: whoever loads this does not load Temporal's client library with it. */
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
