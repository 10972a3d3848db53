import { readFileSync } from 'node:fs';
import { z } from 'zod';

const AuditLine = z.object({
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      namespace: z.string().default(''),
      resource: z.string(),
      subresource: z.string().optional(),
      name: z.string().default(''),
    })
    .optional(),
  responseStatus: z.object({ code: z.number() }).optional(),
});

/** A write that the API server has accepted. */
export interface AuditedWrite {
  /** `create jobs/build-app`, `patch xxxes/app/status` */
  readonly write: string;
  readonly isDryRun: boolean;
  readonly user: string;
}

/** Of anybody, in a namespace, in their order; Events apart. */
export function writesIn(namespace: string, auditLog: string): readonly AuditedWrite[] {
  const lines = readFileSync(auditLog, 'utf8').split('\n').slice(0, -1);
  return lines
    .filter((line) => line.includes(namespace))
    .map((line) => AuditLine.parse(JSON.parse(line)))
    .flatMap(({ stage, verb, objectRef, requestURI, responseStatus, user }) => {
      const isAccepted = stage === 'ResponseComplete' && (responseStatus?.code ?? 500) < 300;
      if (!isAccepted || objectRef?.namespace !== namespace || !isWrite(verb, objectRef.resource)) return [];
      const { resource, name, subresource } = objectRef;
      const write = `${verb} ${[resource, name, subresource].filter(Boolean).join('/')}`;
      return { write, isDryRun: requestURI.includes('dryRun=All'), user: user.username };
    });
}

function isWrite(verb: string, resource: string): boolean {
  return !['get', 'list', 'watch'].includes(verb) && resource !== 'events';
}
