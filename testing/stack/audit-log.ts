import { readFileSync } from 'node:fs';
import { z } from 'zod';

const AuditLine = z.object({
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  userAgent: z.string().default(''),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      resource: z.string(),
      subresource: z.string().optional(),
      apiGroup: z.string().default(''),
      namespace: z.string().default(''),
      name: z.string().default(''),
    })
    .optional(),
  responseStatus: z.object({ code: z.number(), message: z.string().default('') }).optional(),
  requestReceivedTimestamp: z.string(),
  annotations: z.record(z.string(), z.string()).default({}),
});

/** A request, as the API server's audit log has it. */
export type ApiCall = z.infer<typeof AuditLine>;

/** What the user has asked for, in its order. A request may have several lines, one for each stage. */
export function auditLines(user: string, auditLog: string): readonly ApiCall[] {
  const lines = linesWith(`"username":"${user}"`, auditLog);
  return lines.filter(({ user: { username } }) => username === user);
}

/** The lines that contain a text, in their order. */
export function linesWith(text: string, auditLog: string): readonly ApiCall[] {
  // The last line may still be being written.
  const lines = readFileSync(auditLog, 'utf8').split('\n').slice(0, -1);
  return lines.filter((line) => line.includes(text)).map((line) => AuditLine.parse(JSON.parse(line)));
}
