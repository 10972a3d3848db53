import { linesWith } from '../../testing/stack/audit-log.ts';
import { OPERATOR } from './service-accounts.ts';
import { userNameOf } from '../../testing/stack/service-account.ts';

/** A write that the API server has accepted. */
interface AuditedWrite {
  readonly verb: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string | undefined;
  /** `create jobs/build-app`, `patch xxxes/app/status` */
  readonly write: string;
  readonly isDryRun: boolean;
  readonly user: string;
}

const READS: readonly string[] = ['get', 'list', 'watch'];

/** Of anybody, in a namespace, in their order; Events apart. */
export function writesIn(namespace: string, auditLog: string): readonly AuditedWrite[] {
  return linesWith(namespace, auditLog).flatMap(
    ({ stage, verb, objectRef, requestURI, responseStatus, user }) => {
      const isAccepted = stage === 'ResponseComplete' && (responseStatus?.code ?? 500) < 300;
      if (!isAccepted || READS.includes(verb) || objectRef?.namespace !== namespace) return [];
      const { resource, name, subresource } = objectRef;
      if (resource === 'events') return [];
      const write = `${verb} ${[resource, name, subresource].filter(Boolean).join('/')}`;
      const isDryRun = requestURI.includes('dryRun=All');
      return { verb, resource, name, subresource, write, isDryRun, user: user.username };
    },
  );
}

/** Those of the operator, dry runs apart. @param resource default: any */
export function operatorWritesIn(
  namespace: string,
  auditLog: string,
  resource?: string,
): readonly AuditedWrite[] {
  return writesIn(namespace, auditLog).filter(
    (each) =>
      each.user === userNameOf(OPERATOR) &&
      !each.isDryRun &&
      (resource === undefined || each.resource === resource),
  );
}
