/** What runs wrote is kept for so many days, and no longer. */
import { randomUUID } from 'node:crypto';
import type { RunId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { describe, expect, test } from 'vitest';
import { dayOf } from '../log-store/log-store.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { Housekeeper } from './housekeeper.ts';

const DAY_MS = 24 * 3_600_000;

test('logs of days that are past their retention are removed, with what is recorded of them', async () => {
  const clock = new ManualClock(Date.UTC(2030, 0, 31, 12));
  const storage = new MemoryStorage({ clock });
  const store = new MemoryLogStore();
  const runId = randomUUID() as RunId;
  const logs = [31, 30, 0].map((daysAgo, epoch) => {
    const atMs = clock.now() - daysAgo * DAY_MS;
    return { runId, epoch: epoch + 1, day: dayOf(atMs), firstAtMs: atMs, lastAtMs: atMs };
  });
  for (const log of logs) {
    await store.write(log, { segment: 0, offset: 0 }, Buffer.from('1 o x\n'));
    await storage.runLogs.recordLogs([
      { ...log, nodeId: undefined, bytes: 6, lines: 1, ended: true, incomplete: false },
    ]);
  }
  const housekeeper = new Housekeeper({
    ...{ store: storage.housekeeping, clock, random: new SeededRandom(1), log: silentLog },
    ...{ retentionMs: DAY_MS, eventRetentionMs: DAY_MS, auditRetentionMs: DAY_MS },
    logs: { store, records: storage.runLogs, retentionMs: 30 * DAY_MS },
  });
  await housekeeper.runOnce();
  const kept = await Promise.all(logs.map(async (log) => (await store.segments(log)).length));
  expect(kept).toEqual([0, 1, 1]);
  expect((await storage.runLogs.logsOf(runId)).map(({ epoch }) => epoch)).toEqual([2, 3]);
});

describe('what arrives faster than one step removes', () => {
  const make = ({ steps, stepMs = 0 }: { steps: number; stepMs?: number }) => {
    const clock = new ManualClock(Date.UTC(2030, 0, 31, 12));
    const storage = new MemoryStorage({ clock });
    const left = {
      texts: steps,
      records: steps,
      counts: steps,
      checkpoints: steps,
      requests: steps,
      audit: steps,
    };
    const dropOne = (name: keyof typeof left) => async () => {
      if (left[name] === 0) return 0;
      clock.advance(stepMs);
      left[name] -= 1;
      return 1;
    };
    const store = Object.assign(storage.housekeeping, {
      dropCheckpoints: dropOne('checkpoints'),
      dropRequests: dropOne('requests'),
      dropAudit: dropOne('audit'),
    });
    const dropText = dropOne('texts');
    const housekeeper = new Housekeeper({
      ...{ store, clock, random: new SeededRandom(1), log: silentLog },
      ...{ retentionMs: DAY_MS, eventRetentionMs: DAY_MS, auditRetentionMs: DAY_MS },
      logs: {
        store: { dropSome: async () => (await dropText()) > 0 },
        records: { dropLogs: dropOne('records') },
        retentionMs: DAY_MS,
      },
      counts: { dropCounts: dropOne('counts') },
    });
    return { housekeeper, left };
  };

  test('hazard 48: is removed by one pass, however many steps it takes', async () => {
    const { housekeeper, left } = make({ steps: 5_000 });
    expect(await housekeeper.runOnce()).toBeUndefined();
    expect(new Set(Object.values(left))).toEqual(new Set([0]));
  });

  test('a pass ends after a time, has done some of everything, and the next follows soon', async () => {
    const { housekeeper, left } = make({ steps: 100, stepMs: 1_000 });
    const soonMs = await housekeeper.runOnce();
    expect(soonMs).toBeLessThanOrEqual(1_000);
    for (const steps of Object.values(left)) {
      expect(steps).toBeGreaterThan(0);
      expect(steps).toBeLessThan(100);
    }
    for (let passes = 0; passes < 10 && (await housekeeper.runOnce()) !== undefined; passes += 1);
    expect(new Set(Object.values(left))).toEqual(new Set([0]));
  });

  test('does not hold up a server that stops', async () => {
    const { housekeeper, left } = make({ steps: 100 });
    await housekeeper.stop();
    await housekeeper.runOnce();
    expect(left.texts).toBe(100);
  });
});
