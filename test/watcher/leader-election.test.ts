import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LeaderElection, leaseNamespace } from '../../src/watcher/leader-election.ts';
import { FakeLease } from '../support/fake-lease.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const after = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const AT_ONCE = 0;

interface Circumstances {
  readonly leaseDurationMs?: number;
  readonly random?: () => number;
  /** Resolves when nothing that it did as leader is under way. */
  readonly inHand?: Promise<void>;
}

/** A process that takes part, with client-go's times, and what it was told. */
function aProcess(lease: FakeLease, { inHand = Promise.resolve(), ...rest }: Circumstances = {}) {
  const told: string[] = [];
  const log = aRecordingLogger();
  let frozenMs = 0;
  let mayAct = () => false;
  let ledUntilMs: number | undefined;
  const election = new LeaderElection({
    lease,
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2_000,
    random: () => 0.5,
    ...rest,
    log,
    now: () => performance.now() + frozenMs,
    candidate: {
      lead: (isLeading, othersUntilMs) => {
        told.push('lead');
        ledUntilMs = othersUntilMs;
        mayAct = isLeading;
      },
      standBy: () => {
        told.push(`stand by while ${lease.holder === election.identity ? 'it' : 'another'} holds the Lease`);
        return inHand;
      },
    },
  });
  return {
    election,
    log,
    told,
    /** As it was told when it began to lead. */
    mayAct: () => mayAct(),
    start: () => election.start(),
    /** Until when another led, as it was told when it began to lead. */
    ledUntilMs: () => ledUntilMs,
    /** The clock has gone on, but no timer of the process has. */
    wasFrozenFor: (ms: number) => (frozenMs += ms),
    /** It is gone, and the Lease is as it left it. */
    isKilled: () => {
      lease.fault = () => undefined;
      const left = lease.spec;
      void election.stop();
      return after(AT_ONCE).then(() => lease.set(left));
    },
  };
}

async function aLeader(lease: FakeLease, circumstances?: Circumstances) {
  const leader = aProcess(lease, circumstances);
  leader.start();
  await after(AT_ONCE);
  expect(leader.election.isLeading).toBe(true);
  lease.calls.length = 0;
  return leader;
}

async function aStandby(lease: FakeLease, circumstances?: Circumstances) {
  const standby = aProcess(lease, circumstances);
  standby.start();
  await after(AT_ONCE);
  expect(standby.election.isLeading).toBe(false);
  return standby;
}

const SOMEBODY = { holderIdentity: 'somebody', leaseDurationSeconds: 15, leaseTransitions: 4 };

describe('a process that takes part', () => {
  it('creates the Lease where there is none, and leads', async () => {
    const lease = new FakeLease();
    const { election, told, mayAct } = await aLeader(lease);
    expect(told).toEqual(['lead']);
    expect(mayAct()).toBe(true);
    expect(lease.spec).toEqual({
      holderIdentity: election.identity,
      leaseDurationSeconds: 15,
      acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      renewTime: lease.spec?.acquireTime,
      leaseTransitions: 0,
    });
  });

  it.each(['', undefined])('takes the Lease at once where its holder is %j', async (holderIdentity) => {
    const lease = new FakeLease();
    lease.set({ ...(holderIdentity !== undefined && { holderIdentity }), leaseTransitions: 4 });
    const { election } = await aLeader(lease);
    expect(lease.spec).toMatchObject({ holderIdentity: election.identity, leaseTransitions: 5 });
  });

  it.each(['2020-01-01T00:00:00.000000Z', '2050-01-01T00:00:00.000000Z'])(
    'waits until it has itself seen the Lease unchanged for its duration, though that says %s',
    async (renewTime) => {
      const lease = new FakeLease();
      lease.set({ ...SOMEBODY, renewTime });
      const { election, told } = await aStandby(lease);
      await after(14_999);
      expect(told).toEqual([]);
      await after(1);
      expect(lease.spec).toMatchObject({ holderIdentity: election.identity, leaseTransitions: 5 });
      expect(told).toEqual(['lead']);
    },
  );

  it('waits as long as the holder has written, not as long as it would write itself', async () => {
    const lease = new FakeLease();
    lease.set({ ...SOMEBODY, leaseDurationSeconds: 3600 });
    const { election } = await aStandby(lease);
    await after(3_599_000);
    expect(election.isLeading).toBe(false);
    await after(1_000);
    expect(election.isLeading).toBe(true);
  });

  it('stands by as long as another renews the Lease, and only reads it', async () => {
    const lease = new FakeLease();
    await aLeader(lease);
    const { told } = await aStandby(lease);
    await after(3_600_000);
    expect(told).toEqual([]);
    expect(lease.calls).not.toContain('create');
    expect(new Set(lease.calls)).toEqual(new Set(['read', 'replace']));
  });

  it('leads within 18 s of the last renewal of one that was killed, whatever chance says', async () => {
    const lease = new FakeLease();
    const leader = await aLeader(lease);
    const { election } = await aStandby(lease, { random: () => 1 });
    await after(1_999);
    await after(1);
    await leader.isKilled();
    await after(18_000);
    expect(election.isLeading).toBe(true);
  });

  it('leads where it took the Lease and the answer was lost', async () => {
    const lease = new FakeLease();
    lease.fault = (call) => (call === 'create' ? 'answer is lost' : undefined);
    const { election, start } = aProcess(lease);
    start();
    await after(20_000);
    expect(lease.spec).toMatchObject({ holderIdentity: election.identity, leaseTransitions: 0 });
    expect(election.isLeading).toBe(true);
  });

  it('does not lead where another was first, which is no problem', async () => {
    const lease = new FakeLease();
    const both = [aProcess(lease), aProcess(lease)];
    for (const { start } of both) start();
    await after(AT_ONCE);
    expect(lease.calls).toEqual(['read', 'read', 'create', 'create']);
    expect(both.map(({ election }) => election.problem)).toEqual([undefined, undefined]);
    await after(60_000);
    expect(both.map(({ election }) => election.isLeading).sort()).toEqual([false, true]);
    expect(both.flatMap(({ told }) => told)).toEqual(['lead']);
  });
});

describe('a leader', () => {
  it('renews the Lease every 2 s, and reads it only where somebody else has written it', async () => {
    const lease = new FakeLease();
    const { told } = await aLeader(lease);
    await after(4_000);
    expect(lease.calls).toEqual(['replace', 'replace']);
    lease.set({ ...lease.spec }, { team: 'a' });
    await after(4_000);
    expect(lease.calls).toEqual(['replace', 'replace', 'replace', 'read', 'replace', 'replace']);
    expect(told).toEqual(['lead']);
    expect(lease.lease?.metadata.labels).toEqual({ team: 'a' });
  });

  it('leads on where the Lease was deleted', async () => {
    const lease = new FakeLease();
    const { election, told } = await aLeader(lease);
    lease.set(undefined);
    await after(2_000);
    expect(lease.holder).toBe(election.identity);
    expect(told).toEqual(['lead']);
  });

  it.each(['unavailable', 'conflict', 'no answer'] as const)(
    'stands by at once when it has not renewed the Lease for 10 s: %s',
    async (fault) => {
      const lease = new FakeLease();
      const { told, mayAct, log } = await aLeader(lease);
      lease.fault = () => fault;
      await after(9_999);
      expect(mayAct()).toBe(true);
      expect(told).toEqual(['lead']);
      await after(1);
      expect(mayAct()).toBe(false);
      expect(told).toEqual(['lead', 'stand by while it holds the Lease']);
      expect(log.lines).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          message: 'no longer leading: cannot renew the Lease within 10 s',
        }),
      );
    },
  );

  it('counts these 10 s from when it asked, since others may see the renewal before it does', async () => {
    const lease = new FakeLease();
    const { mayAct } = await aLeader(lease);
    lease.fault = () => 'answer is late';
    await after(4_000);
    lease.fault = () => 'unavailable';
    await after(7_999);
    expect(mayAct()).toBe(true);
    await after(1);
    expect(mayAct()).toBe(false);
  });

  it('leads again when it can renew again', async () => {
    const lease = new FakeLease();
    const { told } = await aLeader(lease);
    lease.fault = () => 'unavailable';
    await after(60_000);
    lease.fault = () => undefined;
    await after(3_000);
    expect(told).toEqual(['lead', 'stand by while it holds the Lease', 'lead']);
    expect(lease.spec?.leaseTransitions).toBe(0);
  });

  it('that was frozen may not act, before anything has told it so', async () => {
    const lease = new FakeLease();
    const { election, mayAct, told, wasFrozenFor } = await aLeader(lease);
    wasFrozenFor(10_000);
    expect(mayAct()).toBe(false);
    expect(election.isLeading).toBe(false);
    expect(told).toEqual(['lead']);
  });

  it('that was frozen stands by where another has taken the Lease', async () => {
    const lease = new FakeLease();
    const { election, told, wasFrozenFor } = await aLeader(lease);
    lease.set(SOMEBODY);
    wasFrozenFor(60_000);
    await after(2_000);
    expect(told).toEqual(['lead', 'stand by while another holds the Lease']);
    expect(election.isLeading).toBe(false);
    expect(lease.holder).toBe('somebody');
  });
});

describe('a process that begins to lead', () => {
  it('is told that another led until its last renewal, but for the time between two looks', async () => {
    const lease = new FakeLease();
    const leader = await aLeader(lease);
    const { told, ledUntilMs } = await aStandby(lease);
    await after(60_000);
    await leader.isKilled();
    const killedAtMs = performance.now();
    await after(18_000);
    expect(told).toEqual(['lead']);
    expect(ledUntilMs()).toBeLessThanOrEqual(killedAtMs);
    expect(ledUntilMs()).toBeGreaterThan(killedAtMs - 2 * 2_200);
  });

  it('is told so, too, where it did not hear that it had taken the Lease', async () => {
    const lease = new FakeLease();
    const leader = await aLeader(lease);
    const { ledUntilMs } = await aStandby(lease);
    await after(60_000);
    const stoppedAtMs = performance.now();
    lease.fault = (call) => (lease.holder === undefined && call === 'replace' ? 'answer is lost' : undefined);
    await leader.election.stop();
    await after(30_000);
    expect(ledUntilMs()).toBeGreaterThan(stoppedAtMs - 2_200);
  });

  it.each<[what: string, fault: 'unavailable' | undefined]>([
    ['for the first time', undefined],
    ['again, without another in between', 'unavailable'],
  ])('%s is told of no other', async (_, fault) => {
    const lease = new FakeLease();
    const { told, ledUntilMs } = await aLeader(lease);
    lease.fault = () => fault;
    await after(60_000);
    lease.fault = () => undefined;
    await after(3_000);
    expect(told.at(-1)).toBe('lead');
    expect(ledUntilMs()).toBe(-Infinity);
  });
});

describe('a process that is asked to stop', () => {
  it('stands by before it gives the Lease back', async () => {
    const lease = new FakeLease();
    const { election, told, log } = await aLeader(lease, { leaseDurationMs: 3_600_000 });
    await election.stop();
    expect(told).toEqual(['lead', 'stand by while it holds the Lease']);
    expect(lease.spec).toMatchObject({ leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(lease.holder).toBeUndefined();
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('keeps the Lease until what it did as leader has ended', async () => {
    const lease = new FakeLease();
    let end: (() => void) | undefined;
    const inHand = new Promise<void>((resolve) => (end = resolve));
    const { election } = await aLeader(lease, { inHand });
    const stopped = election.stop();
    await after(5_000);
    expect(lease.holder).toBe(election.identity);
    end?.();
    await stopped;
    expect(lease.holder).toBeUndefined();
  });

  it('lets another lead at its next look, however long the Lease', async () => {
    const lease = new FakeLease();
    const leader = await aLeader(lease, { leaseDurationMs: 3_600_000 });
    const { election } = await aStandby(lease, { leaseDurationMs: 3_600_000 });
    await leader.election.stop();
    await after(2_400);
    expect(election.isLeading).toBe(true);
    expect(lease.spec).toMatchObject({ leaseDurationSeconds: 3600, leaseTransitions: 1 });
  });

  it('gives back what it took with its last request, of which it has not heard', async () => {
    const lease = new FakeLease();
    const { election, start, told } = aProcess(lease);
    lease.fault = (call) => (call === 'create' ? 'answer is lost' : undefined);
    start();
    await after(AT_ONCE);
    expect(lease.holder).toBe(election.identity);
    await election.stop();
    expect(lease.holder).toBeUndefined();
    expect(told).toEqual([]);
  });
});

describe('the namespace of the Lease', () => {
  it("is the Pod's own where none was named", async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'lease-')), 'namespace');
    await writeFile(file, 'system\n');
    expect(leaseNamespace(undefined, file)).toBe('system');
  });

  it('has to be named outside a Pod', () => {
    expect(() => leaseNamespace(undefined, '/nonexistent')).toThrow(
      'leader election: the namespace of the Lease is unknown outside a Pod; set --leader-election-namespace NAME',
    );
  });
});
