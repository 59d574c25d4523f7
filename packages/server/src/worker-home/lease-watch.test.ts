import type { LeaseId, WorkerId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import type { MemberStore, UnreceivedRun } from '../storage/member-store.ts';
import { LeaseWatch } from './lease-watch.ts';

const SILENT_MS = 15_000;
const NOW_MS = 1_900_000_000_000;
const LATE_MS = 60_000;

type Look = Parameters<MemberStore['unreceivedRuns']>[0];

let clock: ManualClock;
let watch: LeaseWatch;
let looks: Look[];
let workerId: WorkerId;
let holding: LeaseId[];
let failing: boolean;
/** How long a look takes. */
let tookMs: number;
let asked: Look[];
/** Claimed for the worker, and not held by it when the storage looked. */
let unreceived: UnreceivedRun[];
let givenBack: UnreceivedRun[];

beforeEach(() => {
  clock = new ManualClock(NOW_MS);
  looks = [];
  holding = [];
  failing = false;
  tookMs = 0;
  asked = [];
  unreceived = [];
  givenBack = [];
  workerId = 'one' as WorkerId;
  const members: Partial<MemberStore> = {
    unreceivedRuns: async (look) => {
      asked.push(look);
      if (look.untilMs !== undefined) clock.advance(tookMs);
      if (failing) throw new Error('timed out');
      looks.push(look);
      return look.untilMs === undefined ? [] : unreceived;
    },
  };
  watch = new LeaseWatch({
    ...{ members: members as MemberStore, clock, random: new SeededRandom(1) },
    log: silentLog,
    silentMs: SILENT_MS,
    workerId: () => workerId,
    session: 0,
    unreported: () => holding,
    onUnreceived: (runs) => givenBack.push(...runs),
  });
});

/** The next look for what never arrived; answers the spans it asked about. */
async function look(): Promise<Look[]> {
  looks = [];
  clock.advance(SILENT_MS);
  await watch.runOnce();
  return looks;
}

const onItsWayMs = SILENT_MS / 2;

describe('what never arrived', () => {
  test('is looked for among everything as long as that is quick', async () => {
    for (let i = 0; i < 5; i += 1) {
      const [span] = await look();
      expect(span).toMatchObject({ workerId, fromMs: 0, untilMs: clock.now() - onItsWayMs });
    }
  });

  test('is looked for among what a clock claimed that has been set back since', async () => {
    const [, ahead] = await look();
    expect(ahead).toMatchObject({ fromMs: clock.now() + onItsWayMs + 1 });
    expect(ahead?.untilMs).toBeUndefined();
  });

  const runOf = (leaseId: string) => ({ leaseId, position: 0, epoch: 1 }) as UnreceivedRun;

  test('LEASE-11: is given back once, and remembered should it arrive after all', async () => {
    unreceived = [runOf('lost')];
    expect(watch.wasGivenUp('lost' as LeaseId)).toBe(false);
    await look();
    await look();
    expect(givenBack).toEqual([runOf('lost')]);
    expect(watch.wasGivenUp('lost' as LeaseId)).toBe(true);
  });

  test('LEASE-11: is not given back when it arrived while the storage looked', async () => {
    unreceived = [runOf('late')];
    holding = ['late' as LeaseId];
    await look();
    expect(givenBack).toEqual([]);
    expect(watch.wasGivenUp('late' as LeaseId)).toBe(false);
  });

  test('LEASE-14: is not given back when the stream ended while the storage looked: the worker may have another home', async () => {
    unreceived = [runOf('elsewhere')];
    const looking = look();
    await watch.stop();
    await looking;
    expect(givenBack).toEqual([]);
  });

  test('LEASE-15: goes back at once when the worker has said its last word', async () => {
    holding = ['held' as LeaseId];
    await watch.giveUpAll();
    expect(looks).toEqual([{ workerId, session: 0, holding, fromMs: 0 }]);
  });

  test('LEASE-11: as many leases are remembered as claims can be under way', async () => {
    unreceived = Array.from({ length: 1_001 }, (_, i) => runOf(`lease-${i}`));
    await look();
    expect(givenBack).toHaveLength(1_001);
    expect(watch.wasGivenUp('lease-0' as LeaseId)).toBe(false);
    expect(watch.wasGivenUp('lease-1000' as LeaseId)).toBe(true);
  });

  describe('hazard 29: while a look at everything is slow', () => {
    let askedMs: number;

    beforeEach(async () => {
      tookMs = 5_000;
      await look();
      askedMs = looks[0]!.untilMs!;
      tookMs = 0;
    });

    test('is looked for from where the last look ended, with time for late claims', async () => {
      expect((await look())[0]).toMatchObject({ fromMs: askedMs - LATE_MS });
    });

    test('hazard 7: is looked for from the present on when the clock was set back', async () => {
      clock.step(-3_600_000);
      expect((await look())[0]).toMatchObject({ fromMs: clock.now() - onItsWayMs - LATE_MS });
    });

    test('is looked for from where the last look ended that was answered', async () => {
      failing = true;
      await expect(look()).rejects.toThrow();
      failing = false;
      expect((await look())[0]).toMatchObject({ fromMs: askedMs - LATE_MS });
    });

    test('is looked for among everything by a worker with a new name', async () => {
      workerId = 'two' as WorkerId;
      expect((await look())[0]).toMatchObject({ workerId, fromMs: 0 });
    });

    test('is looked for among everything in a twentieth of the time all the same, answered or not', async () => {
      tookMs = 5_000;
      failing = true;
      const startedAt = clock.monotonic();
      while (clock.monotonic() - startedAt < 1_200_000) await look().catch(() => {});
      const whole = asked.filter(({ fromMs }) => fromMs === 0).length;
      expect(whole).toBeGreaterThanOrEqual(8);
      expect(whole).toBeLessThanOrEqual(12);
      expect(asked.length).toBeGreaterThan(4 * whole);
    });
  });
});
