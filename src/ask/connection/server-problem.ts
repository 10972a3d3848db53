import { unreachable } from '../../contract/unreachable.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { harmless } from '../output.ts';
import { TemporalProblem } from './temporal-problem.ts';

/** What a server's answer, or its silence, means to who asks: one line, never a stack. */
export function serverProblem(error: unknown): string {
  if (error instanceof TemporalProblem) return harmless(error.message);
  if (error instanceof ApiError) return harmless(`${error.message}; ${adviceOn(error)}`);
  const words = error instanceof Error ? error.message : String(error);
  return harmless(`unexpected error: ${words}; please report it`);
}

function adviceOn({ classification, status }: ApiError): string {
  switch (classification) {
    case 'access-denied':
      return status === 401 ? 'log in to the cluster again' : 'ask for the permission to do this';
    case 'unavailable':
      return status === undefined ? 'check --kubeconfig and --context' : 'try again';
    case 'retry-after':
    case 'conflict':
    case 'already-exists':
    case 'expired':
      return 'try again';
    case 'not-found':
      return 'check the name and -n';
    case 'api-missing':
      return "install the operator's custom resource definitions";
    case 'namespace-terminating':
      return 'its namespace is being deleted';
    case 'refused':
    case 'overridden':
      return 'correct what the server names';
    default:
      return unreachable(classification);
  }
}
