import { beforeEach, describe, expect, it } from '@jest/globals';
import { promote, PromotionFailed } from '../../src/temporal/promotion.ts';
import { nameOf } from '../../src/temporal/task-queue.ts';
import type { PinnedRun, WorkerVersions } from '../../src/temporal/versions.ts';
import { RunsUnavailable } from '../../src/watcher/runs.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const DEPLOYMENT = 'op';
const MINUTE_MS = 60_000;
const NONE_OPEN = 'no run is open on a version other than op:v2';

/** The worker deployments of a Temporal server. Time passes only by waiting. */
class FakeTemporal implements WorkerVersions {
  nowMs = 0;
  current: string | undefined = 'v1';
  changes = 0;
  changedBy = 'somebody';
  servedIds = new Set(['v1', 'v2']);
  isQueueRegistered = true;
  open: PinnedRun[] = [];
  /** What happens at each pause; a test waits for nothing that it does not make happen. */
  meanwhile: (pauses: number) => void = () => undefined;
  refusal: string | undefined;
  isAway = false;
  knowsTheDeployment = true;
  #pauses = 0;

  routing() {
    this.#answer();
    const { current, changedBy } = this;
    if (!this.knowsTheDeployment) return Promise.resolve(undefined);
    return Promise.resolve({
      current,
      buildIds: ['v2', 'v1'],
      changedBy,
      token: new Uint8Array([this.changes]),
    });
  }

  served() {
    this.#answer();
    const names = [...this.servedIds].map((buildId) => nameOf({ deploymentName: DEPLOYMENT, buildId }));
    return Promise.resolve(new Set(names));
  }

  isRegistered() {
    this.#answer();
    return Promise.resolve(this.isQueueRegistered);
  }

  makeCurrent(buildId: string, { token }: { token: Uint8Array }) {
    this.#answer();
    if (this.refusal !== undefined) return Promise.resolve({ refused: this.refusal });
    if (token[0] !== this.changes) return Promise.resolve({ refused: 'conflict token mismatch' });
    this.becomesCurrent(buildId, 'us');
    return Promise.resolve('current' as const);
  }

  openOnOthers(buildId: string) {
    this.#answer();
    const own = nameOf({ deploymentName: DEPLOYMENT, buildId });
    return Promise.resolve(this.open.filter(({ version }) => version !== own));
  }

  readonly clock = {
    now: () => this.nowMs,
    pause: (ms: number) => {
      this.nowMs += ms;
      if (this.nowMs > 60 * MINUTE_MS) throw new Error('it waits for ever');
      this.#pauses += 1;
      this.meanwhile(this.#pauses);
      return Promise.resolve();
    },
  };

  becomesCurrent(buildId: string, by: string): void {
    this.current = buildId;
    this.changes += 1;
    this.changedBy = by;
  }

  #answer(): void {
    if (this.isAway) throw new RunsUnavailable('connection refused');
  }
}

let temporal: FakeTemporal;
let log: ReturnType<typeof aRecordingLogger>;

beforeEach(() => {
  temporal = new FakeTemporal();
  log = aRecordingLogger();
});

function promoted(): Promise<void> {
  const version = { deploymentName: DEPLOYMENT, buildId: 'v2' };
  const { clock } = temporal;
  return promote({ versions: temporal, version, taskQueue: 'q', log, clock });
}

const said = () => log.lines.map(({ message }) => message);

function aRun(name: string, version = 'op:v1'): PinnedRun {
  const ref = { controller: 'git-build', namespace: 'shop', name, uid: `uid-${name}` };
  return { ref, runId: `run-of-${name}`, version };
}

describe('a version', () => {
  it('that is current already stays so, and nothing is changed', async () => {
    temporal.becomesCurrent('v2', 'somebody');
    await promoted();
    expect(temporal.changes).toBe(1);
    expect(said()).toEqual(['op:v2 is already current: nothing changed', NONE_OPEN]);
  });

  const takesAway: Record<string, (isAway: boolean) => void> = {
    'waiting for workers of op:v2: none polls task queue "q"; other known versions: v1': (isAway) =>
      (temporal.servedIds = new Set(isAway ? [] : ['v2'])),
    'waiting until Temporal has registered task queue "q" for op:v2': (isAway) =>
      (temporal.isQueueRegistered = !isAway),
    'waiting until Temporal knows the worker deployment op': (isAway) =>
      (temporal.knowsTheDeployment = !isAway),
    'waiting for Temporal: connection refused': (isAway) => (temporal.isAway = isAway),
    'waiting until Temporal accepts op:v2: it responds "missing active task queues"': (isAway) =>
      (temporal.refusal = isAway ? 'missing active task queues' : undefined),
  };

  it.each(Object.entries(takesAway))(
    'becomes current only after this, which is said once: %s',
    async (words, set) => {
      set(true);
      temporal.meanwhile = (pauses) => {
        expect(temporal.current).toBe('v1');
        if (pauses === 3) set(false);
      };
      await promoted();
      expect(temporal.current).toBe('v2');
      expect(said()).toEqual([
        words,
        'op:v2 is now current: new runs start on it (previously: v1)',
        NONE_OPEN,
      ]);
    },
  );

  it('does not become current where Temporal has not heard of its deployment for a minute', async () => {
    temporal.knowsTheDeployment = false;
    await expect(promoted()).rejects.toThrow(
      new PromotionFailed('Temporal does not know the worker deployment op; check --worker-deployment'),
    );
    expect(temporal.nowMs).toBe(MINUTE_MS);
  });
});

describe('a promotion that Temporal refuses', () => {
  /** Just when the version is about to become current. */
  function meanwhile(happens: () => void): void {
    const makeCurrent = temporal.makeCurrent.bind(temporal);
    temporal.makeCurrent = (...args) => {
      happens();
      return makeCurrent(...args);
    };
  }

  it('does not undo one of another version that was faster', async () => {
    meanwhile(() => temporal.becomesCurrent('v3', 'a colleague'));
    await expect(promoted()).rejects.toThrow(
      new PromotionFailed(
        'v3 was made current by a colleague in the meantime, so op:v2 is not current; if it should be, promote it again',
      ),
    );
    expect(temporal.current).toBe('v3');
  });

  it('has succeeded where the same version was promoted meanwhile', async () => {
    meanwhile(() => temporal.becomesCurrent('v2', 'a colleague'));
    await promoted();
    expect(temporal.current).toBe('v2');
    expect(temporal.changes).toBe(1);
  });

  it('for good fails with its words', async () => {
    temporal.refusal = 'missing active task queues';
    await expect(promoted()).rejects.toThrow(
      new PromotionFailed('op:v2 could not be made current: Temporal responds "missing active task queues"'),
    );
  });
});

describe('runs that are open on other versions', () => {
  it('are told of, by version, with a few of their resources', async () => {
    temporal.servedIds.delete('v0');
    temporal.open = [
      ...['a', 'b', 'c', 'd', 'e'].map((name) => aRun(name)),
      aRun('f', 'op:v0'),
      aRun('g', 'op:v2'),
    ];
    await promoted();
    expect(said().slice(1)).toEqual([
      '5 runs are open on op:v1 (git-build shop/a, git-build shop/b, git-build shop/c, 2 more); 1 run is open on op:v0, which no longer has workers (git-build shop/f)',
    ]);
  });
});
