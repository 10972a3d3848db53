import { GRPC, grpcStatusOf } from './grpc-status.ts';

/** Temporal cannot be reached, or refuses. The message is one line and says what to do. */
export class TemporalProblem extends Error {
  override readonly name = 'TemporalProblem';
}

/** The TemporalProblem that an error means, or else the error itself. */
export function temporalProblem(error: unknown, address: string): unknown {
  const status = grpcStatusOf(error);
  if (status === undefined) return error;
  const [line = ''] = status.message.split('\n', 1);
  const problem = (words: string) => new TemporalProblem(`Temporal at ${address}${words}`, { cause: error });
  switch (status.code) {
    case GRPC.unavailable:
    case GRPC.deadlineExceeded:
    case GRPC.cancelled:
      return problem(' does not answer; check TEMPORAL_ADDRESS, and that the server is running');
    case GRPC.unauthenticated:
    case GRPC.permissionDenied:
      return problem(`: ${line}; check TEMPORAL_API_KEY or the client certificate`);
    case GRPC.notFound:
      return problem(`: ${line}; check TEMPORAL_NAMESPACE`);
    default:
      return problem(`: ${line}; check the TEMPORAL_ variables`);
  }
}
