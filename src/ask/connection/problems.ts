import { ApiError, type ApiErrorClass } from '../../kubernetes/errors.ts';
import { TemporalProblem } from '../../temporal/temporal-problem.ts';
import { harmless } from '../output.ts';

/** One line about the error of a server, never a stack. */
export function serverProblem(error: unknown): string {
  if (error instanceof TemporalProblem) return harmless(error.message);
  if (error instanceof ApiError) return harmless(`${error.message}; ${adviceOn(error)}`);
  const words = error instanceof Error ? error.message : String(error);
  return harmless(`unexpected error: ${words}; please report it`);
}

function adviceOn({ classification, status }: ApiError): string {
  if (classification === 'access-denied' && status === 401) return 'log in to the cluster again';
  if (classification === 'unavailable' && status !== undefined) return ADVICE.conflict;
  return ADVICE[classification];
}

const ADVICE: Readonly<Record<ApiErrorClass, string>> = {
  'access-denied': 'ask for the permission to do this',
  'already-exists': 'try again',
  'api-missing': "install the operator's custom resource definitions",
  conflict: 'try again',
  expired: 'try again',
  'namespace-terminating': 'its namespace is being deleted',
  'not-found': 'check the name and -n',
  overridden: 'correct what the server names',
  refused: 'correct what the server names',
  'retry-after': 'try again',
  unavailable: 'check --kubeconfig and --context',
};
