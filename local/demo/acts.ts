import { expectThat, until } from './failed.ts';
import type { Narrator } from './narrator.ts';
import type { PodRecord } from './pod-record.ts';
import { SHOP, type PendingStep, type Shop } from './shop.ts';

/** What the acts are played with. */
export interface Stage {
  readonly shop: Shop;
  readonly record: PodRecord;
  readonly operator: OperatorOnStage;
  readonly narrator: Narrator;
  readonly signal: AbortSignal;
  /** Runs a command of the kubectl plugin. @returns what it prints */
  readonly ask: (...args: readonly string[]) => Promise<string>;
  /** Where somebody reads along. */
  readonly giveTimeToRead: () => Promise<void>;
}

export interface OperatorOnStage {
  /** By SIGKILL. */
  readonly kill: () => Promise<void>;
  /** Resolves when it is ready. */
  readonly start: () => Promise<void>;
}

/** More deletions than these at once wait for approval. */
export const APPROVAL_OVER = 50;

const QUOTA = 7;
const RAISED_QUOTA = 1_000;
const WEB = { name: 'web', replicas: 10 };
const CART = { name: 'cart', replicas: 300, typo: 10, meant: 310 };

/** All of it, in order. @throws DemoFailed where something is not as it is shown */
export async function play(stage: Stage): Promise<void> {
  await stopByQuota(stage);
  const next = await killInBackoff(stage);
  await explain(stage, next);
  await raiseQuota(stage);
  await killWhileCreating(stage);
  await awaitApproval(stage);
}

async function stopByQuota({ shop, narrator, signal, ask }: Stage): Promise<void> {
  narrator.act('A quota stops a PodSet');
  await shop.allowPods(QUOTA);
  await until('the quota is in force', signal, async () => (await shop.isQuotaInForce()) || undefined);
  await shop.scale(WEB.name, WEB.replicas);
  narrator.say(`PodSet ${SHOP}/${WEB.name} wants ${WEB.replicas} Pods; a ResourceQuota allows ${QUOTA}`);
  let shown = 1;
  const pending = await until(`attempt ${KILLED_AFTER} of createPods fails`, signal, async () => {
    const step = await shop.pendingStepOf(WEB.name);
    const failed = (step?.attempt ?? 1) - 1;
    for (; step?.dueAtMs !== undefined && shown <= failed; shown += 1) narrator.say(failureOf(shown, step));
    return failed >= KILLED_AFTER ? step : undefined;
  });
  const pods = await shop.podsOf(WEB.name);
  expectThat(pods === QUOTA, `${QUOTA} Pods`, pods);
  narrator.checked(`${pods} of ${WEB.replicas} Pods, and ${pending.attempt - 1} attempts have failed`);
  await ask('get', 'podset');
}

/** What a quota refuses is tried again after 5, 10, 20, 40 s: with more of them, it would be no longer a minute. */
const KILLED_AFTER = 2;

function failureOf(attempt: number, { attempt: next, dueAtMs }: PendingStep): string {
  const failed = `attempt ${attempt} of createPods: forbidden, exceeded quota`;
  if (next !== attempt + 1 || dueAtMs === undefined) return failed;
  return `${failed}; the next in ${seconds(dueAtMs - Date.now())}`;
}

/** How late an attempt may be, on a busy machine, once it is due and somebody is there to make it. */
const LATE_MS = 3_000;
/** The clocks of Temporal and of the API server are one; what they write is rounded. */
const EARLY_MS = 50;

/** @returns the attempt that comes next */
async function killInBackoff(stage: Stage): Promise<PendingStep> {
  const { shop, operator, narrator, signal } = stage;
  narrator.act('The operator is killed in its backoff');
  const before = await dueStepOf(stage);
  await operator.kill();
  const killedAtMs = Date.now();
  narrator.say(`kill -9; Temporal has attempt ${before.attempt}, due ${clock(before.dueAtMs)}`);
  await operator.start();
  const readyAtMs = Date.now();
  narrator.say(`a new operator is ready after ${seconds(readyAtMs - killedAtMs)}, ${clock(readyAtMs)}`);
  narrator.say('a controller without memory would begin again now, with attempt 1');
  const after = await until(`attempt ${before.attempt} is made`, signal, async () => {
    const step = await shop.pendingStepOf(WEB.name);
    return step?.dueAtMs !== undefined && step.attempt > before.attempt ? step : undefined;
  });
  const made = (await shop.createsOf(WEB.name)).filter(({ atMs }) => atMs > killedAtMs);
  const expected = `attempt ${before.attempt} alone, ${clock(before.dueAtMs)}`;
  expectThat(after.attempt === before.attempt + 1 && made.length === 1, expected, { after, made });
  const atMs = made[0]?.atMs ?? 0;
  const latest = Math.max(before.dueAtMs, readyAtMs) + LATE_MS;
  expectThat(atMs >= before.dueAtMs - EARLY_MS && atMs <= latest, expected, { at: clock(atMs) });
  narrator.checked(
    `it went on with attempt ${before.attempt}, ${clock(atMs)}: ${lateness(atMs - before.dueAtMs)}`,
  );
  return after;
}

interface DueStep extends PendingStep {
  readonly dueAtMs: number;
}

function dueStepOf({ shop, signal }: Stage): Promise<DueStep> {
  return until('an attempt is due', signal, async () => {
    const step = await shop.pendingStepOf(WEB.name);
    return step?.dueAtMs === undefined ? undefined : { ...step, dueAtMs: step.dueAtMs };
  });
}

function lateness(ms: number): string {
  return ms <= LATE_MS ? 'when it was due' : `it was due ${seconds(ms)} before, when no operator was there`;
}

async function explain({ narrator, ask, giveTimeToRead }: Stage, { attempt }: PendingStep): Promise<void> {
  narrator.act('Why is it not ready?');
  narrator.say('ask it, with kubectl:');
  const said = await ask('why', `podset/${WEB.name}`);
  const named = [`${QUOTA} of ${WEB.replicas} Pods`, `attempt ${attempt}`, 'exceeded quota', 'you can'];
  for (const words of named) expectThat(said.includes(words), `why to say "${words}"`, said);
  narrator.checked('it names the step, the attempt, the cause and what to do');
  await giveTimeToRead();
}

/** The attempt that is due must not be what ends it. */
const AHEAD_MS = 3_000;

async function raiseQuota(stage: Stage): Promise<void> {
  const { shop, narrator, signal, ask } = stage;
  narrator.act('The quota is raised');
  const { dueAtMs } = await until('the next attempt is some seconds away', signal, async () => {
    const step = await dueStepOf(stage);
    return step.dueAtMs - Date.now() > AHEAD_MS ? step : undefined;
  });
  await shop.allowPods(RAISED_QUOTA);
  const raisedAtMs = Date.now();
  narrator.say(
    `${RAISED_QUOTA} Pods are allowed; the next attempt was due in ${seconds(dueAtMs - raisedAtMs)}`,
  );
  await untilReady(stage, WEB.name);
  const created = (await shop.createsOf(WEB.name)).filter(({ code }) => code < 300);
  const lastAtMs = Math.max(...created.map(({ atMs }) => atMs));
  expectThat(lastAtMs < dueAtMs, 'the Pods to be created before the next attempt was due', clock(lastAtMs));
  await ask('why', `podset/${WEB.name}`);
  narrator.checked(`${WEB.replicas} of ${WEB.replicas} Pods, ${seconds(lastAtMs - raisedAtMs)} later`);
}

async function killWhileCreating(stage: Stage): Promise<void> {
  const { shop, narrator, ask } = stage;
  narrator.act(`${CART.replicas} Pods, and two kills`);
  await shop.scale(CART.name, CART.replicas);
  narrator.say(`PodSet ${SHOP}/${CART.name} wants ${CART.replicas} Pods`);
  await killOnceThereAre(50, stage);
  await killOnceThereAre(150, stage);
  await ask('get', 'podset');
  await untilReady(stage, CART.name);
  await expectExactly(stage, CART.replicas);
  await ask('get', 'podset');
  narrator.checked(`${CART.replicas} Pods are there, and a watch of all Pods saw no other one`);
}

async function killOnceThereAre(pods: number, stage: Stage): Promise<void> {
  const { shop, operator, narrator, signal } = stage;
  await until(`${pods} Pods of ${SHOP}/${CART.name}`, signal, async () => {
    const there = await shop.podsOf(CART.name);
    narrator.progress(`${there} of ${CART.replicas} Pods`);
    return there >= pods || undefined;
  });
  await operator.kill();
  const there = await shop.podsOf(CART.name);
  expectThat(there < CART.replicas, `a kill before there are ${CART.replicas} Pods`, there);
  narrator.say(`kill -9 at ${there} of ${CART.replicas} Pods`);
  await operator.start();
  narrator.say('a new operator is ready');
}

async function awaitApproval(stage: Stage): Promise<void> {
  const { shop, narrator, signal, ask, giveTimeToRead } = stage;
  const { name, replicas, typo, meant } = CART;
  narrator.act('A typo asks to delete 290 Pods');
  await shop.scale(name, typo);
  narrator.say(`replicas: ${typo} was typed, ${meant} was meant: ${replicas - typo} Pods too many`);
  await until('the PodSet awaits approval', signal, async () => {
    return (await shop.isTrue(name, 'AwaitingApproval')) || undefined;
  });
  const said = await ask('why', `podset/${name}`);
  expectThat(said.includes('approv'), 'why to say that it awaits approval', said);
  await expectExactly(stage, replicas);
  narrator.checked(`none is deleted: more than ${APPROVAL_OVER} at once wait for somebody who approves`);
  await giveTimeToRead();
  await shop.scale(name, meant);
  narrator.say(`replicas: ${meant} puts it right`);
  await untilReady(stage, name);
  await expectExactly(stage, meant);
  await ask('get', 'podset');
  narrator.checked(`${meant} Pods, and not one was ever deleted`);
}

/** So many Pods are there, so many were ever created, and none was deleted. */
async function expectExactly({ shop, record, signal }: Stage, pods: number): Promise<void> {
  const there = await shop.podsOf(CART.name);
  await until(`a watch shows ${pods} Pods`, signal, () =>
    Promise.resolve(record.of(CART.name).created.length >= pods || undefined),
  );
  const { created, deleted } = record.of(CART.name);
  const found = { there, created: created.length, deleted: deleted.length };
  const isExact = there === pods && created.length === pods && deleted.length === 0;
  expectThat(isExact, `${pods} Pods, as many that were ever created, and none deleted`, found);
}

async function untilReady({ shop, narrator, signal }: Stage, name: string): Promise<void> {
  await until(`PodSet ${SHOP}/${name} is ready`, signal, async () => {
    const { spec, status } = await shop.podSet(name);
    narrator.progress(`${status?.readyReplicas ?? 0} of ${spec?.replicas ?? 0} Pods`);
    return (await shop.isTrue(name, 'Ready')) || undefined;
  });
}

function seconds(ms: number): string {
  return `${(Math.max(ms, 0) / 1000).toFixed(1)} s`;
}

/** `at 14:03:07.4` */
function clock(atMs: number): string {
  return `at ${new Date(atMs).toISOString().slice(11, 21)}`;
}
