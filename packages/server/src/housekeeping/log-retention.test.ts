/** What runs wrote is kept for so many days, and no longer. */
import { randomUUID } from 'node:crypto';
import type { RunId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { expect, test } from 'vitest';
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
