/** A number that the database cannot hold fails the statement it is in: it costs the worker that said it, and no other of its group. */
import type { WorkerId } from '@carillon/domain';
import { systemClock } from '@carillon/foundation';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { StorageWorld } from '../storage/conformance/storage-world.ts';
import type { PostgresStorage } from '../storage/postgres/postgres-storage.ts';
import { GroupedBeats } from './grouped-beats.ts';

const ALIVE = { alive: true, draining: false };
const NOW_MS = BASE_MS + 5_000;

describeEachPostgres('beats in one statement', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let world: StorageWorld;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url);
    world = new StorageWorld(storage);
    await world.prepare();
  });

  afterEach(async () => {
    await storage.close();
    await database.drop();
  });

  it.each(['stuck', 'session'] as const)('with a %s beyond 32 bits beside others', async (field) => {
    const workers = Array.from({ length: 30 }, () => newId<WorkerId>());
    for (const workerId of workers) await world.register(workerId);
    const liars = new Set(workers.filter((_, i) => i % 7 === 3));
    const beats = new GroupedBeats({
      members: storage.members,
      clock: { ...systemClock, now: () => NOW_MS },
    });
    const answers = await Promise.allSettled(
      workers.map((workerId) =>
        beats.beat(workerId, { stuck: 2, session: 3, ...(liars.has(workerId) && { [field]: 2 ** 32 - 1 }) }),
      ),
    );
    for (const [i, answer] of answers.entries())
      if (liars.has(workers[i]!)) expect(answer.status).toBe('rejected');
      else expect(answer).toEqual({ status: 'fulfilled', value: ALIVE });
    const states = new Map((await storage.members.workers()).map((worker) => [worker.workerId, worker]));
    for (const workerId of workers)
      expect(states.get(workerId)).toMatchObject(
        liars.has(workerId) ? { lastSeenMs: BASE_MS, stuck: 0 } : { lastSeenMs: NOW_MS, stuck: 2 },
      );
  });
});
