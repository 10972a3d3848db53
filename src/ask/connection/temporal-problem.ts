import { GRPC, grpcStatusOf } from '../../temporal/grpc-status.ts';

/** Temporal cannot be reached, or refuses. The message is a line that says what to do. */
export class TemporalProblem extends Error {
  override readonly name = 'TemporalProblem';
}

/** The same error, where it says nothing of the connection. */
export function temporalProblem(error: unknown, address: string): unknown {
  // The SDK's client has one of its own for a namespace that is missing.
  const isNamespaceMissing = error instanceof Error && error.name === 'NamespaceNotFoundError';
  const status = isNamespaceMissing ? { code: GRPC.notFound, message: error.message } : grpcStatusOf(error);
  if (status === undefined) return error;
  const { code, message } = status;
  const words = (advice: string) =>
    new TemporalProblem(`Temporal at ${address}: ${firstLine(message)}; ${advice}`, { cause: error });
  switch (code) {
    case GRPC.unavailable:
    case GRPC.deadlineExceeded:
    case GRPC.cancelled:
      return new TemporalProblem(
        `Temporal at ${address} does not answer; check TEMPORAL_ADDRESS, and that the server is running`,
        { cause: error },
      );
    case GRPC.unauthenticated:
    case GRPC.permissionDenied:
      return words('check TEMPORAL_API_KEY or the client certificate');
    case GRPC.notFound:
      return words('check TEMPORAL_NAMESPACE');
    default:
      return words('check the TEMPORAL_ variables');
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
