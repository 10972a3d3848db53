import type { Controller, Objects } from './drawn-changes.ts';
import type { Fault } from './faults.ts';
import type { Requests } from './requests.ts';
import type { Rewrite } from './rewrites.ts';
import type { BigKind } from './tenant.ts';
import type { Pen } from './pen.ts';
import type { Tactic } from './tactics.ts';

/** Many more than the operator deletes at once. */
const MANY_PODS = 48;
/** Each DELETE takes so long: a step deletes some, and those that follow go by what it had seen. */
const SLOW_DELETE_MS = 1_500;
const ADMISSION_MS = 8_000;
const BIG_MS = 15_000;
const PAUSED_MS = 4_000;

/** Too short, past, or no time at all. */
const SHORT_WAITS = ['0', '-5', 'soon', 'Wed, 21 Oct 2015 07:28:00 GMT'];
/** A day; longer than a timer of Node; a date. */
const LONG_WAITS = ['86400', '4294967', 'Fri, 01 Jan 2100 00:00:00 GMT'];
/** It makes a trial five minutes longer. */
const LONG_CHANCE = 0.15;

interface Outside {
  readonly controller: Controller;
  readonly tactic: Tactic;
}

const of = (controller: Controller, tactic: Tactic): Outside => ({ controller, tactic });
const filling = (controller: Controller, kind: BigKind): Outside =>
  of(controller, (pen, objects) => fill(pen, objects, kind));
const admitting = (controller: Controller, changes: Rewrite): Outside =>
  of(controller, (pen, objects) => admit(pen, objects, changes));

/** What comes from outside, kind by kind: each has objects of its own. */
export const OUTSIDE: readonly (readonly Outside[])[] = [
  // Tenants.
  [filling('pod-label', 'pods'), filling('pod-set', 'podsets'), filling('git-build', 'xxxes')],
  // People who keep Pods.
  [of('pod-set', takeOut)],
  // Admission.
  [
    admitting('pod-label', 'label of Pod'),
    admitting('pod-set', 'version of Pods'),
    admitting('pod-set', 'owner of Pods'),
    admitting('pod-set', 'status of PodSet'),
    admitting('git-build', 'label of Job'),
    admitting('git-build', 'hash of Job'),
    admitting('git-build', 'finalizer of build'),
    admitting('namespace-role-binding', 'subjects of RoleBinding'),
  ],
  // Retry-After.
  [
    of('pod-label', (pen) => {
      const kind = pen.random.oneOf(['write', 'read', 'watch'] as const);
      pen.add(waiting(pen, { kind, resource: 'pods' }));
      pen.add({ change: 'create pod', pod: unique(pen, 'pod'), annotation: 'true' });
    }),
    of('pod-set', (pen) => {
      pen.add(longWaiting(pen, { kind: 'write', resource: 'pods', method: 'POST' }));
      pen.add({ change: 'create set', set: unique(pen, 'set'), replicas: 3 });
    }),
    of('git-build', (pen, { builds }) => {
      pen.add(longWaiting(pen, { kind: 'write', resource: 'jobs', method: 'POST' }));
      builds.create(unique(pen, 'build'));
    }),
  ],
  // People in Temporal's UI.
  [
    of('pod-set', (pen) => {
      pen.add({ change: 'create set', set: unique(pen, 'set'), replicas: 7 });
      meddle(pen);
    }),
    of('git-build', (pen, { builds }) => {
      builds.create(unique(pen, 'build'));
      meddle(pen);
    }),
  ],
];

/** One that nothing else has, and that leaves the names of others as they are. */
function unique({ events }: Pen, prefix: string): string {
  return `out-${prefix}-${events.length}`;
}

/** The operator is started while they are there, and others are served. */
function fill(pen: Pen, { has }: Objects, kind: BigKind): void {
  const { add, random, events } = pen;
  const annotation = random.oneOf(['durable-operator.dev/notes', 'example.com/notes']);
  add({ fault: 'big objects', kind, annotation, lastsMs: BIG_MS });
  add({ fault: 'stop', signal: 'SIGKILL', lastsMs: 0 }, 2_000);
  if (has('pod-label')) add({ change: 'probe', pod: `out-probe-${events.length}` }, 1_000);
  pen.rest(BIG_MS - 5_000);
}

function takeOut(pen: Pen): void {
  const { add } = pen;
  const set = unique(pen, 'set');
  const requests: Requests = { kind: 'write', resource: 'pods', method: 'DELETE' };
  add({ change: 'create set', set, replicas: MANY_PODS });
  add({ fault: 'slow', requests, byMs: SLOW_DELETE_MS, count: MANY_PODS }, 6_000);
  add({ change: 'take out Pods of set', set, count: 8 }, 100);
  add({ change: 'scale set', set, replicas: 1 }, 500);
  // Where the operator was started to ask for it.
  add({ change: 'approve', on: { kind: 'set', name: set } }, 100);
  pen.rest(8_000);
}

/** For long enough that an operator that does not notice would be seen to go on and on. */
function admit(pen: Pen, { builds, team }: Objects, changes: Rewrite): void {
  const { add } = pen;
  const begin = (of: string) => add({ fault: 'admission', changes, of, lastsMs: ADMISSION_MS });
  if (changes === 'subjects of RoleBinding') {
    if (!team.isBound) return;
    begin('team');
    add({ change: 'delete binding' });
  } else {
    const name = unique(pen, 'admitted');
    begin(name);
    if (changes === 'label of Pod') add({ change: 'create pod', pod: name, annotation: 'true' });
    else if (changes.endsWith('Pods') || changes === 'status of PodSet')
      add({ change: 'create set', set: name, replicas: 5 });
    else builds.create(name);
  }
  pen.rest(ADMISSION_MS);
}

function waiting({ random }: Pen, requests: Requests): Fault {
  const status = random.oneOf([429, 503] as const);
  const count = random.between(1, 3);
  return { fault: 'answers', status, requests, count, retryAfter: random.oneOf(SHORT_WAITS) };
}

/** Now and then for very long: then nobody else's requests are like these. */
function longWaiting(pen: Pen, requests: Requests): Fault {
  const { random } = pen;
  if (!random.chance(LONG_CHANCE)) return waiting(pen, requests);
  return { fault: 'answers', status: 429, requests, count: 1, retryAfter: random.oneOf(LONG_WAITS) };
}

function meddle({ add, random }: Pen): void {
  const how = random.oneOf(['cancel', 'reset', 'pause activities'] as const);
  add({ fault: 'meddle with runs', how, lastsMs: PAUSED_MS }, random.between(50, 400));
}
