import type { Logger } from '../api/logger.ts';
import { displayName } from '../api/resource-ref.ts';
import { RunsUnavailable } from '../watcher/runs.ts';
import { nameOf, type WorkerVersion } from './task-queue.ts';
import type { PinnedRun, Routing, WorkerVersions } from './versions.ts';

export interface Promotion {
  readonly versions: WorkerVersions;
  /** It becomes current. */
  readonly version: WorkerVersion;
  readonly taskQueue: string;
  readonly log: Logger;
  readonly clock: PromotionClock;
}

export interface PromotionClock {
  /** Monotonic, in milliseconds. */
  now(): number;
  /** @throws AbortError when the program has to stop */
  pause(ms: number): Promise<void>;
}

/** The promotion is not complete. The message says what is missing and what helps. */
export class PromotionFailed extends Error {
  override readonly name = 'PromotionFailed';
}

const INTERVAL_MS = 2_000;

/**
 * Makes a version current once its workers poll, and logs which runs are open on other versions. Safe to repeat. While
 * Temporal cannot be reached, it logs that and waits.
 *
 * @throws PromotionFailed
 */
export async function promote(promotion: Promotion): Promise<void> {
  await workersAreThere(promotion);
  await makeCurrent(promotion);
  await logOpenRuns(promotion);
}

async function workersAreThere(promotion: Promotion): Promise<void> {
  const { versions, version, taskQueue } = promotion;
  await untilAnswered(promotion, async (say) => {
    if (!(await versions.served()).has(nameOf(version))) say(await missingWorkers(promotion));
    else if (await versions.isRegistered(version.buildId)) return true;
    else say(`waiting until Temporal has registered task queue "${taskQueue}" for ${nameOf(version)}`);
    return undefined;
  });
}

async function missingWorkers({ versions, version, taskQueue }: Promotion): Promise<string> {
  const others = ((await versions.routing())?.buildIds ?? []).filter((each) => each !== version.buildId);
  const known = others.length === 0 ? '' : `; other known versions: ${others.join(', ')}`;
  return `waiting for workers of ${nameOf(version)}: none polls task queue "${taskQueue}"${known}`;
}

async function makeCurrent(promotion: Promotion): Promise<void> {
  const { log, version } = promotion;
  const before = await routingOf(promotion);
  if (before.current === version.buildId) {
    log.info({}, `${nameOf(version)} is already current: nothing changed`);
    return;
  }
  await change(promotion, before);
  log.info(
    {},
    `${nameOf(version)} is now current: new runs start on it (previously: ${before.current ?? 'none'})`,
  );
}

/** Temporal learns of a new version a little after the first poll of its workers. */
const KNOWN_WITHIN_MS = 60_000;

/** If somebody else promotes another version meanwhile, a person has to decide. */
async function change(promotion: Promotion, before: Routing): Promise<void> {
  const { versions, version, clock } = promotion;
  const deadline = clock.now() + KNOWN_WITHIN_MS;
  let now = before;
  const end = await untilAnswered(promotion, async (say) => {
    const answer = await versions.makeCurrent(version.buildId, now);
    if (answer === 'current') return answer;
    now = await routingOf(promotion);
    if (now.current !== before.current || clock.now() >= deadline) return answer;
    say(`waiting until Temporal accepts ${nameOf(version)}: it responds "${answer.refused}"`);
    return undefined;
  });
  // A refusal may follow a lost response, or another promotion of the same version.
  if (end === 'current' || now.current === version.buildId) return;
  if (now.current === before.current) {
    throw new PromotionFailed(
      `${nameOf(version)} could not be made current: Temporal responds "${end.refused}"`,
    );
  }
  throw new PromotionFailed(
    `${now.current ?? 'no version'} was made current by ${now.changedBy} in the meantime, so ${nameOf(version)} is not current; if it should be, promote it again`,
  );
}

async function routingOf(promotion: Promotion): Promise<Routing> {
  const { versions, version, clock } = promotion;
  const deadline = clock.now() + KNOWN_WITHIN_MS;
  return untilAnswered(promotion, async (say) => {
    const routing = await versions.routing();
    if (routing !== undefined) return routing;
    const deployment = `the worker deployment ${version.deploymentName}`;
    if (clock.now() >= deadline) {
      throw new PromotionFailed(`Temporal does not know ${deployment}; check --worker-deployment`);
    }
    say(`waiting until Temporal knows ${deployment}`);
    return undefined;
  });
}

async function logOpenRuns(promotion: Promotion): Promise<void> {
  const open = await untilAnswered(promotion, () => openOnOthers(promotion));
  const none = `no run is open on a version other than ${nameOf(promotion.version)}`;
  promotion.log.info({}, open.length > 0 ? inWords(open) : none);
}

interface OpenRun extends PinnedRun {
  /** Whether workers of its version poll. */
  readonly isServed: boolean;
}

async function openOnOthers({ versions, version }: Promotion): Promise<readonly OpenRun[]> {
  const open = await versions.openOnOthers(version.buildId);
  if (open.length === 0) return [];
  const served = await versions.served();
  return open.map((run) => ({ ...run, isServed: served.has(run.version) }));
}

const NAMED_AT_MOST = 3;

/** `2 runs are open on op:v1 (build shop/web, build shop/api)`, version by version. */
function inWords(open: readonly OpenRun[]): string {
  const versions = [...new Set(open.map(({ version }) => version))];
  return versions.map((each) => sentence(open.filter(({ version }) => version === each))).join('; ');
}

function sentence(runs: readonly OpenRun[]): string {
  const [{ version, isServed } = { version: '', isServed: true }] = runs;
  const number = runs.length === 1 ? '1 run is' : `${runs.length} runs are`;
  const served = isServed ? '' : ', which no longer has workers';
  const more = runs.length > NAMED_AT_MOST ? [`${runs.length - NAMED_AT_MOST} more`] : [];
  const names = [...runs.slice(0, NAMED_AT_MOST).map(resourceOf), ...more];
  return `${number} open on ${version}${served} (${names.join(', ')})`;
}

function resourceOf({ ref }: OpenRun): string {
  return `${ref.controller} ${displayName(ref)}`;
}

type Say = (words: string) => void;

/** Asks until there is an answer. Logs each reason to wait once. */
async function untilAnswered<T>(
  { log, clock }: Pick<Promotion, 'log' | 'clock'>,
  ask: (say: Say) => Promise<T | undefined>,
): Promise<T> {
  let said = '';
  const say: Say = (words) => {
    if (words !== said) log.info({}, words);
    said = words;
  };
  for (;;) {
    try {
      const answer = await ask(say);
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!(error instanceof RunsUnavailable)) throw error;
      say(`waiting for Temporal: ${error.message}`);
    }
    await clock.pause(INTERVAL_MS);
  }
}
