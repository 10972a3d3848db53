import type { Costs } from './test-stack.ts';
import { auditLines, type ApiCall } from './audit-log.ts';
import { userNameOf, type ServiceAccount } from './service-account.ts';

interface Measured {
  readonly account: ServiceAccount;
  readonly auditLog: string;
  /** @returns how many runs were started */
  readonly during: () => Promise<number>;
}

/** @throws Error with what was asked for, if that is more */
export async function expectAtMost(most: Costs, { account, auditLog, during }: Measured): Promise<void> {
  const requests = () =>
    auditLines(userNameOf(account), auditLog).filter(
      ({ stage, verb, objectRef }) =>
        stage === 'ResponseComplete' && verb !== 'watch' && objectRef?.resource !== 'leases',
    );
  const before = requests().length;
  const runs = await during();
  const made = requests().slice(before);
  const events = made.filter(isEvent);
  const calls = made.filter((call) => !isEvent(call));
  const problems = [
    excess('calls', { had: calls.length, most: most.calls, what: inWords(calls) }),
    excess('runs', { had: runs, most: most.runs }),
    excess('events', { had: events.length, most: most.events, what: inWords(events) }),
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

function isEvent({ objectRef }: ApiCall): boolean {
  return objectRef?.resource === 'events';
}

function excess(
  name: string,
  { had, most, what = '' }: { readonly had: number; readonly most: number; readonly what?: string },
): string | undefined {
  return had > most ? `${had} ${name} instead of at most ${most}${what && `: ${what}`}` : undefined;
}

/** `2 × patch websites/status, 1 × create deployments` */
function inWords(calls: readonly ApiCall[]): string {
  const names = calls.map(({ verb, objectRef, requestURI }) => {
    const { resource, subresource } = objectRef ?? { resource: requestURI };
    return `${verb} ${[resource, subresource].filter(Boolean).join('/')}`;
  });
  return [...Map.groupBy(names, (name) => name)]
    .map(([name, { length }]) => `${length} × ${name}`)
    .join(', ');
}
