import type { Advice, Cause } from './cause.ts';

/** The reasons where nothing more is known. */
export const REFUSED = 'Refused';
export const OVERRIDDEN = 'Overridden';

/** Why the API server refuses a write, or something changes what it accepted. */
export interface RefusalCause extends Cause {
  readonly reason:
    'QuotaExceeded' | 'PodSecurity' | 'WebhookUnavailable' | typeof REFUSED | typeof OVERRIDDEN;
}

/**
 * An applied object has a field that its type does not have, or one of another type. The server answers that with 500.
 * Source: apimachinery, pkg/util/managedfields, `structuredMergeManager.Apply`.
 */
export const MALFORMED = /failed to create typed patch object \(.*?\): (?:errors:\s+)?(.*)/s;

/**
 * A webhook that must agree does not answer, so nothing is written. The server answers that with 500. Source: apiserver,
 * pkg/util/webhook, `ErrCallingWebhook`.
 */
export const WEBHOOK_DOWN = /failed calling webhook "([^"]*)"/;

/** Source: apimachinery, pkg/util/managedfields, `NewConflictError`. */
const FIELD_CONFLICT = /^Apply failed with \d+ conflicts?: /;

/** Quota, PodSecurity and webhooks are known by the words that they have in every version. */
export function causeOfRefusal(message: string, { namespace }: { readonly namespace: string }): RefusalCause {
  if (message.includes('exceeded quota') || message.includes('failed quota')) {
    return {
      reason: 'QuotaExceeded',
      message: message,
      advice: [
        `raise the quota of namespace ${namespace}, or ask for less`,
        { run: `kubectl describe quota -n ${namespace}`, to: 'show the quota' },
      ],
    };
  }
  if (message.includes('violates PodSecurity')) {
    return {
      reason: 'PodSecurity',
      message: message,
      advice: [
        `change the Pods, or the label pod-security.kubernetes.io/enforce of namespace ${namespace}`,
        {
          run: `kubectl get namespace ${namespace} -L pod-security.kubernetes.io/enforce`,
          to: 'show which level the namespace enforces',
        },
      ],
    };
  }
  const [, webhook] = WEBHOOK_DOWN.exec(message) ?? [];
  if (webhook !== undefined)
    return {
      reason: 'WebhookUnavailable',
      message,
      advice: [
        `have the webhook ${webhook} answer again, or remove its configuration if nobody needs it`,
        { run: WEBHOOKS, to: 'show the webhooks' },
      ],
    };
  if (FIELD_CONFLICT.test(message))
    return {
      reason: REFUSED,
      message,
      advice: ['have the other manager let go of the field, or let the controller apply it with force'],
    };
  const [, field] = MALFORMED.exec(message) ?? [];
  if (field !== undefined)
    return { reason: REFUSED, message, advice: [`correct the controller that declares ${field}`] };
  return {
    reason: REFUSED,
    message: message,
    advice: ['change what refuses it, and then retry', ...whoRefuses(message)],
  };
}

function whoRefuses(words: string): readonly Advice[] {
  const [, webhook] = /admission webhook "([^"]*)" denied/.exec(words) ?? [];
  const [, policy] = /ValidatingAdmissionPolicy '([^']*)'/.exec(words) ?? [];
  return [
    ...(webhook === undefined ? [] : [{ run: WEBHOOKS, to: `show the webhooks: ${webhook} refuses` }]),
    ...(policy === undefined
      ? []
      : [
          {
            run: `kubectl get validatingadmissionpolicy ${policy} -o yaml`,
            to: 'show the policy that refuses',
          },
        ]),
  ];
}

const WEBHOOKS = 'kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations';

export function causeOfOverride(message: string): RefusalCause {
  return {
    reason: OVERRIDDEN,
    message: message,
    advice: [
      'find what changes the field, and exempt the objects of the operator; that is noticed within a minute',
      {
        run: 'kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies',
        to: 'show what may change objects as they are written',
      },
    ],
  };
}
