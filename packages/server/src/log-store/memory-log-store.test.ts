import { randomUUID } from 'node:crypto';
import type { RunId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { describeLogStore } from './conformance.ts';
import { MemoryLogStore } from './memory-log-store.ts';

describeLogStore('logs in memory', async () => new MemoryLogStore());

test('the oldest logs make room for new ones', async () => {
  const store = new MemoryLogStore({ bytesMax: 2_500 });
  const logs = Array.from({ length: 3 }, () => ({
    ...{ day: '2030-01-31', runId: randomUUID() as RunId, epoch: 1 },
  }));
  for (const log of logs) await store.write(log, { segment: 0, offset: 0 }, Buffer.alloc(1_000));
  const sizes = await Promise.all(logs.map(async (log) => (await store.segments(log)).length));
  expect(sizes).toEqual([0, 1, 1]);
});
