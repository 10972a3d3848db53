import type { Advice, Cause } from '../api/cause.ts';
import { FAILURE } from '../runs/failures.ts';
import { causeOfOverride, causeOfRefusal } from '../api/refusal.ts';
import type { ApiError, ApiErrorClass } from './errors.ts';

/** Where a step was to write. */
export interface WriteTarget {
  /** As kubectl takes it: `podset/web -n shop`, `namespace/team-1`. */
  readonly resource: string;
  /** For a Namespace, its own name. */
  readonly namespace: string;
}

/** What an error means to a person, and what that person can do. */
export function causeOfError(error: ApiError, about: WriteTarget): Cause {
  const { classification, words, advice, said } = error;
  if (said !== undefined) return said;
  if (advice !== undefined) return { reason: outsideCode(classification), message: words, advice };
  if (classification === 'access-denied') return causeOfMissingAccess(words);
  if (classification === 'overridden') return causeOfOverride(words);
  if (classification === 'refused')
    return causeOfRefusal(words, { namespace: namespaceOf(error) ?? about.namespace });
  return { reason: REASON[classification], message: words, advice: adviceOn(classification, about) };
}

type Plain = Exclude<ApiErrorClass, 'access-denied' | 'refused' | 'overridden'>;

const REASON: Readonly<Record<Plain, Cause['reason']>> = {
  'namespace-terminating': 'NamespaceTerminating',
  'api-missing': FAILURE.apiMissing,
  conflict: FAILURE.conflict,
  'already-exists': FAILURE.conflict,
  'disruption-budget': FAILURE.unavailable,
  'retry-after': FAILURE.unavailable,
  unavailable: FAILURE.unavailable,
  expired: FAILURE.unavailable,
  'not-found': FAILURE.unavailable,
};

function adviceOn(classification: Plain, { resource, namespace }: WriteTarget): readonly Advice[] {
  switch (classification) {
    case 'namespace-terminating':
      return [{ run: `kubectl describe namespace ${namespace}`, to: 'show what is left in the namespace' }];
    case 'api-missing':
      return [
        'install what is missing, such as a custom resource definition, and then retry',
        { run: 'kubectl api-resources', to: 'show which kinds the cluster knows' },
      ];
    case 'conflict':
    case 'already-exists':
      return [
        {
          run: `kubectl get ${resource} -o yaml --show-managed-fields`,
          to: 'see who else writes it all the time',
        },
      ];
    case 'disruption-budget':
      return [
        { run: `kubectl get poddisruptionbudgets -n ${namespace}`, to: 'show which Pods may be evicted' },
      ];
    case 'retry-after':
    case 'unavailable':
    case 'expired':
    case 'not-found':
      return [
        'check that the API server is healthy',
        { run: "kubectl get --raw '/readyz?verbose'", to: 'show what the API server says of itself' },
      ];
  }
}

/** Of the object that was asked for, which may be another one than that of the resource. */
function namespaceOf({ message, words }: ApiError): string | undefined {
  const request = message.slice(0, message.length - words.length);
  return /\/namespaces\/([^/\s]+)\/[^/\s]/.exec(request)?.[1];
}

function outsideCode(classification: ApiErrorClass): Cause['reason'] {
  if (classification === 'refused') return FAILURE.refused;
  return classification === 'access-denied' ? FAILURE.accessDenied : FAILURE.unavailable;
}

/** Source: apiserver, `responsewriters.ForbiddenStatusError`: the same words for every missing permission. */
const MISSING_PERMISSION =
  /User "([^"]*)" cannot (\S+) resource "([^"/]*)(?:\/([^"]*))?" in API group "([^"]*)"(?: in the namespace "([^"]*)")?/;
/** Source: kubernetes/pkg/registry/rbac, `ConfirmNoEscalation`. */
const ESCALATION = /user "([^"]*)" .*attempting to grant RBAC permissions/;

function causeOfMissingAccess(words: string): Cause {
  const [, binder] = ESCALATION.exec(words) ?? [];
  const give = "give the operator's service account this permission: apply the chart of its version again";
  const advice: readonly Advice[] =
    binder === undefined
      ? [give, ...checkOf(words)]
      : [
          'let the operator bind that role: give its own role the verb bind for it, or name it in the values of its chart',
          {
            run: `kubectl auth can-i bind clusterroles --as ${binder}`,
            to: 'check whether it may bind roles',
          },
        ];
  return { reason: FAILURE.accessDenied, message: words, advice };
}

function checkOf(words: string): readonly Advice[] {
  const found = MISSING_PERMISSION.exec(words);
  if (found === null) return [];
  const [, user = '', verb = '', plural = '', subresource, group = '', namespace] = found;
  const options = [
    ...(subresource === undefined ? [] : [`--subresource ${subresource}`]),
    ...(namespace === undefined ? [] : [`-n ${namespace}`]),
    `--as ${user}`,
  ];
  const type = group === '' ? plural : `${plural}.${group}`;
  const run = `kubectl auth can-i ${verb} ${type} ${options.join(' ')}`;
  return [{ run, to: 'check whether it has the permission now' }];
}
