import { beforeEach, describe, expect, test } from 'vitest';
import { LANE_START, type LaneKey, type LaneMark } from '../storage/lane.ts';
import type { LanePick, LaneScan } from '../storage/lease-store.ts';
import { before, EMPTY, EVERY, found, HTTP, key, mark, NAMESPACE } from './lanes.fixture.ts';
import { Lanes } from './lanes.ts';

let lanes: Lanes;

beforeEach(() => {
  lanes = new Lanes();
});

function choose(
  nowMs: number,
  { runsMax = 100, offers = EVERY as (handlerKey: number) => boolean } = {},
): LanePick[] {
  return lanes.choose({ nowMs, runsMax, offers });
}

const settle = (picks: readonly LanePick[], scans: readonly LaneScan[], runsMax = 100) =>
  lanes.settle(picks, scans, { runsMax });

const hint = (atMs: number, over: Partial<LaneKey> = {}) => lanes.hint({ ...key(over), atMs });
const keysOf = (picks: readonly LanePick[]) =>
  picks.map(({ lane: { part, priority, handlerKey, tenant } }) => ({ part, priority, handlerKey, tenant }));

/** Chooses again and again at the same instant until nothing is left, finding nothing; answers all that was chosen. */
function drain(nowMs: number): LaneKey[] {
  const seen: LaneKey[] = [];
  for (let picks = choose(nowMs); picks.length > 0; picks = choose(nowMs)) {
    seen.push(...keysOf(picks));
    settle(
      picks,
      picks.map(() => EMPTY),
    );
  }
  return seen;
}

describe('a hint', () => {
  test('makes its lane be chosen from its instant on, and not before', () => {
    hint(1_000);
    expect(choose(999)).toEqual([]);
    expect(lanes.nextAtMs).toBe(1_000);
    expect(lanes.hasReady({ offers: EVERY })).toBe(false);
    const picks = choose(1_000);
    expect(keysOf(picks)).toEqual([key()]);
    expect(picks[0]!.after).toEqual(LANE_START);
  });

  test('that is earlier than what was expected wakes the lane earlier', () => {
    hint(1_000);
    hint(500);
    hint(2_000);
    expect(lanes.nextAtMs).toBe(500);
    expect(choose(500)).toHaveLength(1);
  });

  test('behind the mark brings the mark back', () => {
    hint(1_000);
    const picks = choose(1_000);
    settle(picks, [found(1, mark(1_000))]);
    hint(900);
    expect(choose(1_001)[0]!.after).toEqual(before(900));
  });

  test('at the instant of the mark brings it back too: ids say nothing about which came first', () => {
    hint(1_000);
    settle(choose(1_000), [found(1, mark(1_000, 7))]);
    hint(1_000);
    expect(choose(1_000)[0]!.after).toEqual(before(1_000));
  });

  test('after the mark leaves it where it is', () => {
    hint(1_000);
    settle(choose(1_000), [found(1, mark(1_000))]);
    hint(1_001);
    expect(choose(1_001)[0]!.after).toEqual(mark(1_000));
  });

  test('about a lane that is ready does not make it be chosen twice', () => {
    hint(1_000);
    lanes.choose({ nowMs: 1_000, runsMax: 100, offers: () => false });
    hint(1_000);
    expect(drain(1_000)).toHaveLength(1);
  });
});

describe('what is heard while a claim scans a lane', () => {
  test('makes it be chosen again, though the claim found it empty', () => {
    hint(1_000);
    const picks = choose(1_000);
    hint(1_000);
    expect(choose(1_000)).toEqual([]);
    settle(picks, [EMPTY]);
    expect(choose(1_000)).toHaveLength(1);
  });

  test('is not passed over, though the claim read beyond it', () => {
    hint(1_000);
    const picks = choose(1_100);
    hint(1_050);
    settle(picks, [found(3, mark(1_080))]);
    expect(choose(1_100)[0]!.after).toEqual(before(1_050));
  });

  test('is not passed over by a claim that was behind it at first', () => {
    hint(1_000);
    settle(choose(1_000), [found(1, mark(1_000))]);
    hint(1_100);
    const picks = choose(1_100);
    hint(900);
    settle(picks, [found(1, mark(1_100))]);
    expect(choose(1_100)[0]!.after).toEqual(before(900));
  });

  test('is not passed over when a scan over all lanes told it', () => {
    hint(1_000);
    const picks = choose(1_100);
    lanes.beginScan();
    lanes.found({ ...key(), ...mark(1_050) });
    lanes.endScan();
    settle(picks, [found(3, mark(1_080))]);
    expect(choose(1_100)[0]!.after).toEqual(before(1_050));
  });

  test('about a later instant lets it sleep until then', () => {
    hint(1_000);
    const picks = choose(1_000);
    hint(3_000);
    settle(picks, [found(1, mark(1_000))]);
    expect(choose(2_999)).toEqual([]);
    expect(choose(3_000)[0]!.after).toEqual(mark(1_000));
  });
});

describe('a lane that was read to its end', () => {
  test('sleeps until its next run may be claimed', () => {
    hint(1_000);
    settle(choose(1_000), [{ ...found(2, mark(1_000)), nextAtMs: 5_000 }]);
    expect(choose(4_999)).toEqual([]);
    expect(lanes.nextAtMs).toBe(5_000);
    expect(choose(5_000)[0]!.after).toEqual(mark(1_000));
  });

  test('without a next run is not chosen any more', () => {
    hint(1_000);
    settle(choose(1_000), [found(2, mark(1_000))]);
    expect(lanes.nextAtMs).toBeUndefined();
    expect(choose(1_000_000)).toEqual([]);
  });

  test('is read on after the last run, by the next hint', () => {
    hint(1_000);
    settle(choose(1_000), [found(2, mark(1_000, 3))]);
    hint(2_000);
    expect(choose(2_000)[0]!.after).toEqual(mark(1_000, 3));
  });
});

describe('a claim that found as many as it may', () => {
  test('leaves the lane it ended in, and those it did not look at, ready', () => {
    for (const part of [0, 1, 2, 3, 4, 5, 6, 7]) hint(1_000, { part });
    const [one, other] = [choose(1_000, { runsMax: 10 }), choose(1_000, { runsMax: 10 })];
    expect([one.length, other.length]).toEqual([2, 2]);
    settle(one, [found(8, mark(1_000)), found(2, mark(1_000))], 10);
    settle(other, [found(3, mark(1_000)), found(7, mark(1_000))], 10);
    const left = drain(1_000).map(({ part }) => part);
    expect(left).toHaveLength(7);
    expect(left).not.toContain(other[0]!.lane.part);
  });

  test('leaves lanes that it was not answered about ready as well', () => {
    for (let i = 1; i <= 8; i += 1) hint(1_000, { tenant: i * NAMESPACE });
    const picks = choose(1_000, { runsMax: 8 });
    expect(picks).toHaveLength(2);
    settle(picks, [found(8, mark(1_000))], 8);
    expect(drain(1_000)).toHaveLength(8);
  });

  test('of one lane that gave its share leaves it ready though the claim was not full', () => {
    for (let part = 0; part < 8; part += 1) hint(1_000, { part });
    const picks = choose(1_000);
    settle(picks, [found(picks[0]!.runsMax, mark(1_000)), EMPTY]);
    expect(drain(1_000)).toContainEqual(key({ part: picks[0]!.lane.part }));
  });
});

describe('a claim that was cut, since its runs carry much', () => {
  test.each([
    ['in a lane', [found(2, mark(1_001)), found(1, mark(1_002)), EMPTY], [1, 2]],
    ['between two lanes', [found(2, mark(1_001)), EMPTY, EMPTY], [0, 1, 2]],
  ])('%s leaves ready what may have more, though it found less than it might', (_, scans, more) => {
    for (const tenant of [1, 2, 3]) hint(1_000, { tenant: tenant * NAMESPACE });
    const picks = choose(1_000);
    expect(picks).toHaveLength(3);
    lanes.settle(picks, scans, { runsMax: 100, isCut: true });
    const ready = drain(1_002).map(({ tenant }) => tenant);
    expect(ready.toSorted()).toEqual(more.map((i) => picks[i]!.lane.tenant).toSorted());
  });
});

describe('a claim that broke off', () => {
  test('leaves its lanes ready, with the marks they had', () => {
    hint(1_000);
    settle(choose(1_000), [found(1, mark(1_000))]);
    hint(2_000);
    lanes.giveUp(choose(2_000));
    expect(choose(2_000)[0]!.after).toEqual(mark(1_000));
  });

  test('of a worker that nobody knows leaves its lanes ready', () => {
    hint(1_000);
    settle(choose(1_000), []);
    expect(choose(1_000)).toHaveLength(1);
  });
});

describe('a look over all lanes', () => {
  const scan = (...heads: (LaneKey & LaneMark)[]) => {
    lanes.beginScan();
    for (const head of heads) lanes.found(head);
    lanes.endScan();
  };

  test('finds what nobody announced', () => {
    scan({ ...key(), ...mark(1_000) });
    expect(choose(1_000)).toHaveLength(1);
  });

  test('finds what lies behind the mark', () => {
    hint(1_000);
    settle(choose(1_000), [found(1, mark(1_000, 5))]);
    scan({ ...key(), ...mark(1_000, 3) });
    expect(choose(1_000)[0]!.after).toEqual(before(1_000));
  });

  test('leaves the mark alone when the first run lies after it', () => {
    hint(1_000);
    settle(choose(1_000), [found(1, mark(1_000, 5))]);
    scan({ ...key(), ...mark(1_000, 6) });
    expect(choose(1_000)[0]!.after).toEqual(mark(1_000, 5));
  });

  test('lets lanes that have nothing be forgotten', () => {
    for (let i = 0; i < 1_000; i += 1) hint(1_000, { tenant: i * NAMESPACE });
    drain(1_000);
    scan({ ...key(), ...mark(2_000) });
    expect(lanes.size).toBe(1);
  });

  test('does not forget what it did not find and what something was heard of since, or is taken', () => {
    hint(1_000, { part: 1 });
    const picks = choose(1_000);
    lanes.beginScan();
    hint(2_000, { part: 2 });
    lanes.endScan();
    expect(lanes.size).toBe(2);
    settle(picks, [EMPTY]);
    expect(drain(2_000)).toEqual([key({ part: 2 })]);
  });

  test('lets a lane that was announced for later and is gone be forgotten after its instant', () => {
    hint(5_000);
    scan();
    expect(lanes.size).toBe(1);
    drain(5_000);
    scan();
    expect(lanes.size).toBe(0);
  });
});

describe('handlers that are not offered', () => {
  const http = (handlerKey: number) => handlerKey === HTTP;

  test('are left out, and keep nothing else from being claimed', () => {
    for (let i = 1; i <= 50; i += 1) hint(1_000, { tenant: i * NAMESPACE, handlerKey: 2 });
    hint(1_000, { tenant: 99 * NAMESPACE });
    for (let i = 0; i < 20; i += 1) {
      const picks = choose(1_000, { offers: http });
      expect(keysOf(picks)).toEqual([key({ tenant: 99 * NAMESPACE })]);
      settle(picks, [found(100, mark(1_000))]);
    }
  });

  test('are nothing to wait for', () => {
    hint(1_000, { handlerKey: 2 });
    expect(choose(1_000, { offers: http })).toEqual([]);
    expect(lanes.hasReady({ offers: http })).toBe(false);
    expect(lanes.hasReady({ offers: EVERY })).toBe(true);
  });
});

describe('parts', () => {
  const isOwn = (part: number) => part === 0;

  test("of one's own come before those of others", () => {
    lanes.prefer(isOwn);
    hint(1_000, { part: 1, tenant: 1 });
    hint(1_000, { part: 0, tenant: 2 });
    expect(choose(2_000).map(({ lane }) => lane.part)).toEqual([0, 1]);
  });

  test('of others are left to them for a moment', () => {
    lanes.prefer(isOwn);
    hint(1_000, { part: 0 });
    hint(1_000, { part: 1 });
    expect(drain(1_000)).toEqual([key({ part: 0 })]);
    const laterMs = lanes.nextAtMs!;
    expect(laterMs).toBeGreaterThan(1_000);
    expect(choose(laterMs).map(({ lane }) => lane.part)).toEqual([1]);
  });

  test('of others are left to them also when a claim told of the next run', () => {
    lanes.prefer(isOwn);
    hint(1_000, { part: 1 });
    settle(choose(2_000), [{ ...EMPTY, nextAtMs: 5_000 }]);
    expect(choose(5_000)).toEqual([]);
    expect(lanes.nextAtMs).toBeLessThan(5_100);
  });

  test('do not count more than priority: what is urgent elsewhere comes before what is not here', () => {
    lanes.prefer(isOwn);
    hint(1_000, { part: 0, priority: 'low' });
    hint(1_000, { part: 1, priority: 'high' });
    expect(choose(2_000).map(({ lane }) => lane.priority)).toEqual(['high', 'low']);
  });
});

describe('choices side by side', () => {
  test('share the lanes out, and none gets one of another', () => {
    for (let part = 0; part < 8; part += 1) hint(1_000, { part });
    const beside = Array.from({ length: 4 }, () => choose(1_000));
    expect(beside.map((picks) => picks.length)).toEqual([2, 2, 2, 2]);
    expect(new Set(beside.flat().map(({ lane }) => lane.part)).size).toBe(8);
    expect(choose(1_000)).toEqual([]);
  });

  test('take a bounded number of lanes each', () => {
    for (let i = 0; i < 10_000; i += 1) hint(1_000, { tenant: i * NAMESPACE });
    const picks = choose(1_000, { runsMax: 1_000 });
    expect(picks.map(({ runsMax }) => runsMax)).toEqual(Array.from({ length: 512 }, () => 8));
  });
});
