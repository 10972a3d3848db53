import { setTimeout as pause } from 'node:timers/promises';
import { NAMESPACES } from '../support/cluster.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { countsIn, mostCounts, tooMany } from './counts.ts';
import { isFault, undisturbed, type Schedule } from './events.ts';
import { heldBack } from './held-back.ts';
import { violationsIn, writesOf, type Evidence } from './invariants.ts';
import { inOrder } from './observer.ts';
import { leaksIn } from './secrets.ts';
import { Side, type Ground, type SideOptions } from './side.ts';
import { differences, openRuns, terminateRuns, type State } from './state.ts';

/** Faults are over, and then it may take so long. */
const CONVERGED_WITHIN_MS = 60_000;
/** So long nothing may be written then. */
const QUIET_MS = 15_000;

export interface TrialOptions extends SideOptions {
  /** The program of the undisturbed run: what is known to be right. */
  readonly referenceProgram: string;
}

export interface Verdict {
  readonly violations: readonly string[];
  /** How long it took to converge, once the faults were over; undefined: it did not. */
  readonly convergedMs: number | undefined;
  /** For whoever has to find out why. */
  readonly logs: readonly string[];
  readonly writes: readonly string[];
  /** Every version of every object, as JSON. */
  readonly versions: readonly string[];
}

const LOOK_EVERY_MS = 1_000;

/** Runs a schedule disturbed and undisturbed, and says what did not hold. */
export async function tryOut(ground: Ground, schedule: Schedule, options: TrialOptions): Promise<Verdict> {
  const reference = endOf(ground, undisturbed(schedule), options);
  // Whoever waits for it hears of it.
  reference.catch(() => undefined);
  // An operator that watches the whole cluster, and faults of servers, would disturb it.
  if (options.isAlone) await reference;
  const side = await Side.open(ground, schedule, options);
  try {
    await side.play(schedule);
    const healedMs = Date.now();
    const people = side.people.done();
    const isDone = await Promise.race([
      people.then(() => true),
      pause(CONVERGED_WITHIN_MS, undefined, { ref: false }),
    ]);
    if (isDone !== true) side.violations.push('I1: what people began cannot end: the operator holds it up');
    const end = await comesTo(side, reference, healedMs);
    const versions = side.versions().map((version) => JSON.stringify(version));
    const judged = await judge(ground, side, schedule);
    const closed = end.violations.length === 0 ? await closes(ground, side) : [];
    return {
      violations: [...side.violations, ...side.people.failures, ...end.violations, ...judged, ...closed],
      convergedMs: end.convergedMs,
      logs: side.logs,
      writes: writesOf(side.journal).map((write) => JSON.stringify(write)),
      versions,
    };
  } finally {
    await side.close();
    await moveOut(ground, side);
  }
}

/** The state that an undisturbed run stays in. @throws Error where it stays in none */
async function endOf(ground: Ground, schedule: Schedule, options: TrialOptions): Promise<State> {
  const side = await Side.open(ground, schedule, {
    ...options,
    program: options.referenceProgram,
    isAlone: false,
  });
  try {
    await side.play(schedule);
    await side.people.done();
    return await stays(side, Date.now());
  } finally {
    await side.close();
    await moveOut(ground, side);
  }
}

/** Nothing of the operator waits longer before it goes on, but for a change. */
const LONGEST_WAIT_MS = 17_000;
/** Where runs are open they wait, or their last task was lost on a busy machine, and comes again. */
const LONGEST_TASK_MS = 35_000;

async function stays(side: Side, fromMs: number): Promise<State> {
  let state = await side.state();
  let sinceMs = fromMs;
  while (Date.now() - sinceMs < (state.get('open runs') === '' ? LONGEST_WAIT_MS : LONGEST_TASK_MS)) {
    if (Date.now() - fromMs > 2 * CONVERGED_WITHIN_MS)
      throw new Error('the undisturbed run does not come to an end');
    await pause(LOOK_EVERY_MS);
    const now = await side.state();
    if (differences(now, state).length > 0) sinceMs = Date.now();
    sinceMs = Math.max(sinceMs, side.lastWriteMs);
    state = now;
  }
  return state;
}

interface End {
  readonly violations: readonly string[];
  readonly convergedMs: number | undefined;
}

/** I1, I2 and I5: it comes to the state in time, and then is quiet. */
async function comesTo(side: Side, reference: Promise<State>, fromMs: number): Promise<End> {
  let wanted: State | undefined;
  let failure: Error | undefined;
  void reference.then(
    (state) => (wanted = state),
    (error: unknown) => (failure = new Error(`undisturbed: ${String(error)}`)),
  );
  let state = await side.state();
  let changedMs = fromMs;
  for (;;) {
    await pause(LOOK_EVERY_MS);
    const now = await side.state();
    if (differences(now, state).length > 0) changedMs = Date.now();
    state = now;
    const quietSinceMs = Math.max(changedMs, side.lastWriteMs);
    const isLate = quietSinceMs - fromMs > CONVERGED_WITHIN_MS;
    if (isLate) return late(side, differences(state, wanted ?? (await reference)));
    if (failure !== undefined) throw failure;
    if (wanted === undefined) continue;
    const lines = differences(state, wanted);
    const isQuiet = Date.now() - quietSinceMs >= QUIET_MS;
    if (lines.length === 0 && isQuiet) return { violations: [], convergedMs: quietSinceMs - fromMs };
    if (lines.length > 0 && Date.now() - fromMs > CONVERGED_WITHIN_MS) return late(side, lines);
  }
}

function late(side: Side, lines: readonly string[]): End {
  const within = `within ${CONVERGED_WITHIN_MS / 1000} s`;
  const last = writesOf(side.journal)
    .slice(-3)
    .map(({ method, path }) => `${method} ${path}`);
  const violations =
    lines.length === 0
      ? [`I1: it is not quiet ${within}: ${last.join(', ')}`]
      : lines.map((line) => `${line.startsWith('open runs') ? 'I5' : 'I2'}: ${within}: ${line}`);
  return { violations, convergedMs: undefined };
}

async function judge(
  { cluster, temporal }: Ground,
  side: Side,
  schedule: Schedule,
): Promise<readonly string[]> {
  const { place, journal, people } = side;
  const { foreign } = people;
  const isRestored = schedule.events.some(({ what }) => isFault(what) && what.fault === 'etcd is restored');
  const versions = isRestored ? side.versions() : inOrder(side.versions());
  const evidence: Evidence = { place, journal, versions, foreign, isRestored };
  const violations = [
    ...violationsIn(evidence),
    ...side.deaths,
    ...(isRestored ? [] : heldBack(evidence)),
    ...(isRestored ? [] : tooMany(countsIn(journal, place), mostCounts(schedule))),
    ...(await leaksIn({ cluster, temporal, place, versions, logs: side.logs })),
  ];
  return [...new Set(violations)];
}

const CLOSED_WITHIN_MS = 60_000;

/** Both namespaces are deleted while the operator works: nothing holds them up, and no run outlives them. */
async function closes({ cluster, temporal }: Ground, { place }: Side): Promise<readonly string[]> {
  for (const name of [place.home, place.team]) await cluster.delete({ type: NAMESPACES, name });
  const deadline = performance.now() + CLOSED_WITHIN_MS;
  for (;;) {
    const left = [place.home, place.team].map((name) => cluster.get({ type: NAMESPACES, name }));
    const namespaces = (await Promise.all(left)).flatMap((each) => each?.metadata.name ?? []);
    const runs = (await openRuns(temporal, place)).map(({ controller, name }) => `${controller} ${name}`);
    if (namespaces.length === 0 && runs.length === 0) return [];
    if (performance.now() > deadline) {
      return namespaces.length > 0
        ? [`I1: namespace ${namespaces.join(', ')} cannot be deleted`]
        : [`I5: runs outlive their resources: ${runs.join(', ')}`];
    }
    await pause(LOOK_EVERY_MS);
  }
}

/** What is left, where nobody works any more. */
async function moveOut({ cluster, temporal }: Ground, { place }: Side): Promise<void> {
  for (const { metadata } of await cluster.list(BUILDS, { namespace: place.home }).catch(() => [])) {
    const at = { type: BUILDS, namespace: place.home, name: metadata.name };
    await cluster.patch(at, { metadata: { finalizers: null } }).catch(() => undefined);
  }
  for (const name of [place.home, place.team]) {
    await cluster.delete({ type: NAMESPACES, name }).catch(() => undefined);
  }
  await terminateRuns(temporal, place).catch(() => undefined);
}
