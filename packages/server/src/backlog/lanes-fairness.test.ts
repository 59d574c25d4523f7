import { type Priority, STARVING_MS, STARVING_SHARE } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import type { LaneKey } from '../storage/lane.ts';
import type { LanePick, LaneScan } from '../storage/lease-store.ts';
import { EMPTY, EVERY, found, key, mark, NAMESPACE } from './lanes.fixture.ts';
import { Lanes } from './lanes.ts';

let lanes: Lanes;

beforeEach(() => {
  lanes = new Lanes();
});

const choose = (nowMs: number, { runsMax = 100 } = {}): LanePick[] =>
  lanes.choose({ nowMs, runsMax, offers: EVERY });

const settle = (picks: readonly LanePick[], scans: readonly LaneScan[], runsMax: number) =>
  lanes.settle(picks, scans, { runsMax });

const hint = (atMs: number, over: Partial<LaneKey> = {}) => lanes.hint({ ...key(over), atMs });

describe('priorities', () => {
  test('come in order in one claim, the most urgent first', () => {
    for (const priority of ['low', 'high', 'medium'] as const) hint(1_000, { priority });
    expect(choose(1_000).map(({ lane }) => lane.priority)).toEqual(['high', 'medium', 'low']);
  });

  /** Claims of runsMax, each found full in the order of its lanes; answers how many runs each priority got. */
  function serve(
    claims: number,
    { nowMs, runsMax }: { nowMs: number; runsMax: number },
  ): Record<Priority, number> {
    const got = { low: 0, medium: 0, high: 0 };
    for (let i = 0; i < claims; i += 1) {
      const picks = choose(nowMs, { runsMax });
      let left = runsMax;
      const scans = picks.map(({ lane, runsMax: laneMax, after }) => {
        const runs = Math.min(left, laneMax);
        left -= runs;
        got[lane.priority] += runs;
        // Every lane has runs without end that became claimable at its beginning.
        return runs === 0 ? EMPTY : found(runs, { ...after, laneAtMs: 1_000 });
      });
      settle(picks, scans, runsMax);
    }
    return got;
  }

  test('leave nothing to less urgent ones while more urgent ones wait, unless they starve', () => {
    hint(1_000, { priority: 'high' });
    hint(1_000, { priority: 'low' });
    expect(serve(100, { nowMs: 1_000 + STARVING_MS, runsMax: 10 })).toEqual({
      high: 1_000,
      medium: 0,
      low: 0,
    });
  });

  test.each([1, 10, 100])('give a share to one that starves, in claims of %i', (runsMax) => {
    hint(1_000, { priority: 'high' });
    hint(1_000, { priority: 'low' });
    const claims = 80;
    const { low } = serve(claims, { nowMs: 1_001 + STARVING_MS, runsMax });
    expect(Math.abs(low - (claims * runsMax) / STARVING_SHARE)).toBeLessThanOrEqual(runsMax);
  });

  test.each([1, 10, 100])('that starve get the same of the share, in claims of %i', (runsMax) => {
    for (const priority of ['low', 'medium', 'high'] as const) hint(1_000, { priority });
    const { low, medium, high } = serve(160, { nowMs: 1_001 + STARVING_MS, runsMax });
    expect(Math.abs(low - medium)).toBeLessThanOrEqual(runsMax);
    expect(Math.abs(high - 160 * runsMax * (1 - 1 / STARVING_SHARE))).toBeLessThanOrEqual(runsMax);
  });

  describe('that starve', () => {
    const NOW_MS = 1_001 + STARVING_MS;
    const [FRESH, OLD, OLDER] = [1, 2, 3].map((namespace) => namespace * NAMESPACE) as [
      number,
      number,
      number,
    ];

    const sinceOf = ({ tenant }: LaneKey) => (tenant === FRESH ? NOW_MS - 1_000 : 1_000);

    /** Claims so often, each lane gives all it may, and none is emptied; answers what tenants got below the most urgent. */
    function share(
      claims: number,
      { runsMax, perLane = Infinity }: { runsMax: number; perLane?: number },
    ): Map<number, number> {
      const got = new Map<number, number>();
      for (let i = 0; i < claims; i += 1) {
        const picks = choose(NOW_MS, { runsMax });
        let left = runsMax;
        const scans = picks.map(({ lane, runsMax: laneMax }) => {
          const runs = Math.min(left, laneMax, perLane);
          left -= runs;
          if (lane.priority !== 'high') got.set(lane.tenant, (got.get(lane.tenant) ?? 0) + runs);
          return runs === 0 ? EMPTY : found(runs, mark(sinceOf(lane)));
        });
        settle(picks, scans, runsMax);
        for (const { lane } of picks) hint(sinceOf(lane), lane);
      }
      return got;
    }

    test('get their share though the lane whose turn it is was filled a moment ago', () => {
      hint(1_000, { priority: 'high' });
      hint(NOW_MS - 1_000, { tenant: FRESH });
      hint(1_000, { tenant: OLD });
      const got = share(80, { runsMax: 8 });
      expect(got.get(OLD)).toBeGreaterThanOrEqual(79);
      expect(got.get(FRESH) ?? 0).toBe(0);
    });

    test('share it between tenants, whoever has waited longest', () => {
      hint(1_000, { priority: 'high' });
      hint(1_000, { tenant: OLD });
      for (let part = 0; part < 8; part += 1) hint(500, { tenant: OLDER, part });
      const got = share(80, { runsMax: 16 });
      expect(Math.abs(got.get(OLD)! - got.get(OLDER)!)).toBeLessThanOrEqual(4);
    });

    test('get all of it though every lane has one run only', () => {
      hint(1_000, { priority: 'high' });
      for (let user = 0; user < 100; user += 1) hint(1_000, { tenant: OLD + user });
      const got = share(80, { runsMax: 80, perLane: 1 });
      expect([...got.values()].reduce((sum, runs) => sum + runs, 0)).toBeGreaterThanOrEqual(790);
    });

    test('and are served by another server meanwhile do not starve any more', () => {
      hint(1_000, { priority: 'high' });
      hint(1_000, { tenant: FRESH });
      const first = choose(NOW_MS, { runsMax: 1 });
      expect(first.map(({ lane }) => lane.priority)).toEqual(['high']);
      lanes.giveUp(first);
      lanes.beginScan();
      lanes.found({ ...key({ tenant: FRESH }), ...mark(NOW_MS - 1_000) });
      lanes.endScan();
      expect(share(80, { runsMax: 8 }).get(FRESH) ?? 0).toBe(0);
    });
  });
});

describe('a namespace with a lane for each of thousands of users', () => {
  const CROWD = 1;
  const LATE = 2;

  let waiting: Map<string, number>;

  beforeEach(() => {
    waiting = new Map();
  });

  const submit = (tenant: number, { part = 0, runs = 1 } = {}) => {
    waiting.set(`${tenant}/${part}`, runs);
    hint(1_000, { tenant, part });
  };

  const crowd = (runs: number) => {
    for (let user = 0; user < 4_000; user += 1) submit(CROWD * NAMESPACE + user, { runs });
  };

  /** Claims so often; answers how many runs the late one got. */
  function serve(claims: number, { runsMax }: { runsMax: number }): number {
    let late = 0;
    for (let i = 0; i < claims; i += 1) {
      const picks = choose(1_000, { runsMax });
      let left = runsMax;
      const scans = picks.map(({ lane: { tenant, part }, runsMax: laneMax }) => {
        const has = waiting.get(`${tenant}/${part}`)!;
        const runs = Math.min(left, laneMax, has);
        left -= runs;
        waiting.set(`${tenant}/${part}`, has - runs);
        if (tenant === LATE * NAMESPACE) late += runs;
        return runs === 0 ? EMPTY : found(runs, mark(1_000));
      });
      settle(picks, scans, runsMax);
    }
    return late;
  }

  test.each([1, 2, 10, 50, 200])(
    'leaves the next free slot to a run of another, in claims of %i (promise 9)',
    (runsMax) => {
      crowd(3);
      for (let i = 0; i < 8; i += 1) {
        serve(5, { runsMax });
        submit(LATE * NAMESPACE, { part: i });
        expect(serve(1, { runsMax })).toBe(1);
      }
    },
  );

  test('leaves it also after claims that broke off, and while others are under way', () => {
    crowd(1);
    for (let i = 0; i < 20; i += 1) lanes.giveUp(choose(1_000, { runsMax: 50 }));
    const beside = Array.from({ length: 4 }, () => choose(1_000, { runsMax: 50 }));
    hint(1_000, { tenant: LATE * NAMESPACE });
    expect(choose(1_000, { runsMax: 1 })[0]!.lane.tenant).toBe(LATE * NAMESPACE);
    for (const picks of beside) lanes.giveUp(picks);
  });

  test('has no more lanes taken than there are slots', () => {
    crowd(1);
    for (const priority of ['low', 'high'] as const)
      for (let part = 0; part < 8; part += 1) hint(1_000, { priority, part });
    for (const runsMax of [1, 3, 20, 100])
      expect(choose(1_000, { runsMax }).length).toBeLessThanOrEqual(runsMax);
  });

  test('whose lanes may all be empty keeps nobody waiting until each was scanned', () => {
    crowd(1);
    // One slot at a time: of no lane it is known whether it has more.
    serve(4_000, { runsMax: 1 });
    expect([...waiting.values()].every((runs) => runs === 0)).toBe(true);
    serve(50, { runsMax: 1 });
    expect(choose(1_000, { runsMax: 1 })).toEqual([]);
  });
});

describe('of two tenants', () => {
  const [HERE, THERE] = [NAMESPACE, NAMESPACE + 1];

  /** Claims of runs without end; answers how many each tenant got. */
  function serve(claims: number, runsMax: number): Map<number, number> {
    const got = new Map<number, number>();
    for (let i = 0; i < claims; i += 1) {
      const picks = choose(60_000, { runsMax });
      let left = runsMax;
      const scans = picks.map(({ lane: { tenant }, runsMax: laneMax }) => {
        const runs = Math.min(left, laneMax);
        left -= runs;
        got.set(tenant, (got.get(tenant) ?? 0) + runs);
        return runs === 0 ? EMPTY : found(runs, mark(1_000));
      });
      settle(picks, scans, runsMax);
    }
    return got;
  }

  test.each([1, 2, 20])(
    'one whose runs lie in parts that another server prefers gets as much, in claims of %i (P9)',
    (runsMax) => {
      lanes.prefer((part) => part < 4);
      for (let part = 0; part < 4; part += 1) hint(1_000, { tenant: HERE, part });
      hint(1_000, { tenant: THERE, part: 5 });
      const got = serve(200, runsMax);
      expect(Math.abs(got.get(HERE)! - got.get(THERE)!)).toBeLessThanOrEqual(8 * runsMax);
    },
  );

  test('one gets no more when answers of claims are lost: they may have been given runs', () => {
    for (const tenant of [HERE, THERE]) hint(1_000, { tenant });
    const tried = Array.from({ length: 10 }, () => {
      const picks = choose(1_000, { runsMax: 1 });
      lanes.giveUp(picks);
      return picks[0]!.lane.tenant;
    });
    expect(tried.filter((tenant) => tenant === HERE)).toHaveLength(5);
  });

  test('of one, lanes in preferred parts come first', () => {
    lanes.prefer((part) => part === 5);
    for (let part = 0; part < 8; part += 1) hint(1_000, { tenant: HERE, part });
    expect(choose(2_000, { runsMax: 1 })[0]!.lane.part).toBe(5);
  });
});
