import type { Fault } from './faults.ts';
import type { Requests } from './requests.ts';
import type { Random } from './random.ts';

const REQUESTS: readonly Requests[] = [
  { kind: 'write' },
  { kind: 'read' },
  { kind: 'any' },
  { kind: 'write', resource: 'pods' },
  { kind: 'write', resource: 'podsets' },
  { kind: 'write', resource: 'xxxes' },
  { kind: 'write', resource: 'jobs' },
  { kind: 'write', resource: 'rolebindings' },
];

const CALLS = [
  'StartWorkflowExecution',
  'SignalWorkflowExecution',
  'SignalWithStartWorkflowExecution',
  'RespondWorkflowTaskCompleted',
  'RespondActivityTaskCompleted',
];

const CRASHES = ['before it is sent', 'after it is committed', 'after the answer'] as const;

/** Any but those of servers. */
export function drawnFault(random: Random): Fault {
  const requests = random.oneOf(REQUESTS);
  const lastsMs = random.between(500, 5_000);
  const count = random.between(1, 4);
  const faults: readonly (() => Fault)[] = [
    () => drawnCrash(random, { kind: 'write' }),
    () => drawnCrash(random, { kind: 'write' }),
    () => drawnCrash(random, random.oneOf(REQUESTS.filter(({ kind }) => kind === 'write'))),
    () => ({ fault: 'stop', signal: random.oneOf(['SIGTERM', 'SIGKILL']), lastsMs: lastsMs / 2 }),
    () => ({ fault: 'freeze', lastsMs: random.chance(0.2) ? 20_000 : lastsMs }),
    () => ({ fault: 'second leader', lastsMs: lastsMs + 6_000 }),
    () => ({
      fault: 'clock step',
      stepMs: random.oneOf([-3_600_000, -30_000, 30_000, 3_600_000]),
      lastsMs,
    }),
    () => ({ fault: 'lost answers', requests, count }),
    () => ({ fault: 'lost answers', requests: { kind: 'write' }, count }),
    () => ({ fault: 'resets', requests, count }),
    () => ({ fault: 'answers', status: random.oneOf([401, 409, 429, 500, 503, 504]), requests, count }),
    () => ({ fault: 'answers', status: 409, requests: { kind: 'write' }, count: count + 4 }),
    () => ({ fault: 'answers', status: 422, requests: { kind: 'write', method: 'POST' }, count }),
    () => ({ fault: 'answers for a while', status: 503, requests: { kind: 'write' }, lastsMs }),
    () => ({ fault: 'answers for a while', status: 403, requests, lastsMs }),
    () => ({ fault: 'slow', requests: { kind: 'write' }, byMs: random.between(700, 6_000), count }),
    () => ({ fault: 'watch lag', lastsMs }),
    () => ({ fault: 'watch lag', resource: random.oneOf(['pods', 'jobs', 'xxxes', 'podsets']), lastsMs }),
    () => ({ fault: 'duplicates', lastsMs }),
    () => ({ fault: 'silence', lastsMs }),
    () => ({ fault: 'watches end at once', lastsMs }),
    () => ({ fault: 'watches expire', count: random.between(0, 2) }),
    () => ({ fault: 'watches break' }),
    () => ({ fault: 'api server away', lastsMs }),
    () => ({ fault: 'temporal away', lastsMs }),
    () => ({ fault: 'temporal loses answers', call: random.oneOf(CALLS), count }),
    () => ({ fault: 'temporal refuses', call: random.oneOf(CALLS), count }),
    () => ({ fault: 'terminate runs' }),
  ];
  return random.oneOf(faults)();
}

export function drawnCrash(random: Random, requests: Requests): Fault {
  const when = random.oneOf(CRASHES);
  return { fault: 'crash', write: random.between(1, 4), when, requests };
}
