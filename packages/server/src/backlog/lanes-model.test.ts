import { PRIORITIES, STARVING_MS } from '@carillon/domain';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LaneKey, LaneMark } from '../storage/lane.ts';
import type { LanePick, LaneScan } from '../storage/lease-store.ts';
import { Lanes } from './lanes.ts';

const LANES: readonly LaneKey[] = [0, 1, 2, 3, 4].map((i) => ({
  ...{ part: i % 2, priority: PRIORITIES[i % PRIORITIES.length]!, handlerKey: 1 },
  tenant: (1 + i) * 2 ** 26,
}));

interface Row {
  readonly lane: LaneKey;
  readonly at: LaneMark;
}

/** Lanes over a storage of a few rows. A claim takes its rows when it begins, and is answered when it ends. */
class Model {
  readonly lanes = new Lanes();
  readonly open: { picks: LanePick[]; scans: LaneScan[]; runsMax: number }[] = [];
  rows: Row[] = [];
  nowMs = 1_000;
  inserted = 0;
  claimed = 0;

  insert({ lane, inMs, id, isTold }: { lane: LaneKey; inMs: number; id: number; isTold: boolean }): void {
    const runId = `00000000-0000-7000-8000-${id.toString(16).padStart(12, '0')}`;
    const laneAtMs = this.nowMs + inMs;
    this.rows.push({ lane, at: { laneAtMs, runId } });
    this.inserted += 1;
    if (isTold) this.lanes.hint({ ...lane, atMs: laneAtMs });
  }

  /** False when there is nothing to claim. */
  begin(runsMax: number): boolean {
    const picks = this.lanes.choose({ nowMs: this.nowMs, runsMax, offers: () => true });
    let left = runsMax;
    const scans = picks.map((pick) => {
      const scan = this.#claim(pick, left);
      left -= scan.found;
      return scan;
    });
    if (picks.length > 0) this.open.push({ picks, scans, runsMax });
    return picks.length > 0;
  }

  end({ which, breaks }: { which: number; breaks: boolean }): void {
    const [claim] = this.open.splice(which % Math.max(1, this.open.length), 1);
    if (!claim) return;
    const { picks, scans, runsMax } = claim;
    if (breaks) this.lanes.giveUp(picks);
    else this.lanes.settle(picks, scans, { runsMax });
  }

  scan(): void {
    this.lanes.beginScan();
    for (const lane of LANES) {
      const [head] = this.#inOrder(lane);
      if (head) this.lanes.found({ ...lane, ...head.at });
    }
    this.lanes.endScan();
  }

  /** Ends what is under way and claims until there is nothing left to claim. */
  finish(): void {
    while (this.open.length > 0) this.end({ which: 0, breaks: false });
    for (let claims = 0; claims < 1_000 && this.begin(7); claims += 1) this.end({ which: 0, breaks: false });
  }

  #claim({ lane, after, runsMax }: LanePick, left: number): LaneScan {
    const ahead = this.#inOrder(lane).filter((row) => isAfter(row.at, after));
    const due = ahead.filter((row) => row.at.laneAtMs <= this.nowMs).slice(0, Math.min(left, runsMax));
    this.rows = this.rows.filter((row) => !due.includes(row));
    this.claimed += due.length;
    const isWhole = due.length < Math.min(left, runsMax);
    const next = ahead.find((row) => row.at.laneAtMs > this.nowMs);
    return { found: due.length, last: due.at(-1)?.at, nextAtMs: isWhole ? next?.at.laneAtMs : undefined };
  }

  #inOrder({ tenant }: LaneKey): Row[] {
    return this.rows
      .filter((row) => row.lane.tenant === tenant)
      .sort((a, b) => (isAfter(a.at, b.at) ? 1 : -1));
  }
}

function isAfter(a: LaneMark, b: LaneMark): boolean {
  return a.laneAtMs > b.laneAtMs || (a.laneAtMs === b.laneAtMs && a.runId > b.runId);
}

const insert = fc.record({
  kind: fc.constant('insert' as const),
  lane: fc.constantFrom(...LANES),
  /** Before now: committed late. */
  inMs: fc.integer({ min: -5, max: 10 }),
  id: fc.nat(2 ** 40),
  isTold: fc.boolean(),
});
const begin = fc.record({ kind: fc.constant('begin' as const), runsMax: fc.integer({ min: 1, max: 30 }) });
const end = fc.record({ kind: fc.constant('end' as const), which: fc.nat(), breaks: fc.boolean() });
const advance = fc.record({
  kind: fc.constant('advance' as const),
  byMs: fc.oneof(fc.nat(10), fc.constant(STARVING_MS)),
});
const scan = fc.record({ kind: fc.constant('scan' as const) });
const steps = fc.array(fc.oneof(insert, insert, begin, end, advance, scan), { maxLength: 80 });

function play(model: Model, step: typeof steps extends fc.Arbitrary<(infer Step)[]> ? Step : never): void {
  if (step.kind === 'insert') model.insert(step);
  else if (step.kind === 'begin') model.begin(step.runsMax);
  else if (step.kind === 'end') model.end(step);
  else if (step.kind === 'advance') model.nowMs += step.byMs;
  else model.scan();
}

describe('whatever is inserted, claimed, broken off and scanned in whatever order', () => {
  test('every run is claimed once, after a scan', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const model = new Model();
        for (const step of all) play(model, step);
        model.nowMs += 1_000;
        model.scan();
        model.finish();
        expect(model.rows).toEqual([]);
        expect(model.claimed).toBe(model.inserted);
      }),
      { numRuns: 500 },
    );
  });

  test('every run is claimed without a scan when all were announced', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const model = new Model();
        for (const step of all) play(model, step.kind === 'insert' ? { ...step, isTold: true } : step);
        model.nowMs += 1_000;
        model.finish();
        expect(model.rows).toEqual([]);
        expect(model.claimed).toBe(model.inserted);
      }),
      { numRuns: 500 },
    );
  });
});
