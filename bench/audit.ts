import { open, stat } from 'node:fs/promises';
import { z } from 'zod';

const Entry = z.object({
  stage: z.string(),
  verb: z.string(),
  userAgent: z.string().default(''),
  user: z.object({ username: z.string() }),
  objectRef: z.object({ resource: z.string().default(''), subresource: z.string().default('') }).optional(),
  responseStatus: z.object({ code: z.number().default(0) }).optional(),
});
type Entry = z.infer<typeof Entry>;

/** Who made a request: our client names its program, and the bench uses the same client. */
export interface Caller {
  readonly user: string;
  readonly userAgent: string;
}

/** `patch pods 200` → how many. */
export type CallCounts = Readonly<Record<string, number>>;

/** The answered calls of one caller in a piece of an audit log, without watches and leases: those are not per change. */
export function countCalls(auditLines: string, caller: Caller): CallCounts {
  const counts: Record<string, number> = {};
  for (const entry of entriesOf(auditLines, caller)) {
    const call = nameOf(entry);
    counts[call] = (counts[call] ?? 0) + 1;
  }
  return counts;
}

export function totalOf(counts: CallCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** The calls that write Events, and all others: how many of them there are says nothing of how much was done. */
export function eventsApart(counts: CallCounts): {
  readonly events: CallCounts;
  readonly others: CallCounts;
} {
  const calls = Object.entries(counts);
  const writesEvents = ([call]: [string, number]) => call.split(' ')[1] === 'events';
  return {
    events: Object.fromEntries(calls.filter(writesEvents)),
    others: Object.fromEntries(calls.filter((call) => !writesEvents(call))),
  };
}

/** How long the log is, in bytes: where the next case begins. */
export async function sizeOf(auditLog: string): Promise<number> {
  return (await stat(auditLog)).size;
}

/** What was logged from a byte on. */
export async function readFrom(auditLog: string, startByte: number): Promise<string> {
  const file = await open(auditLog);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of file.createReadStream({ start: startByte })) {
      if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    await file.close();
  }
}

function entriesOf(auditLines: string, { user, userAgent }: Caller): Entry[] {
  // What follows the last line break is still being written.
  const complete = auditLines.split('\n').slice(0, -1);
  return complete
    .filter((line) => line.includes(userAgent))
    .map((line) => Entry.parse(JSON.parse(line)))
    .filter(({ stage }) => stage === 'ResponseComplete')
    .filter((entry) => entry.user.username === user && entry.userAgent === userAgent)
    .filter(({ verb, objectRef }) => verb !== 'watch' && objectRef?.resource !== 'leases');
}

function nameOf({ verb, objectRef, responseStatus }: Entry): string {
  const resource = [objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/');
  return [verb, resource || '(no resource)', responseStatus?.code ?? 0].join(' ');
}
