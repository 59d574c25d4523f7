import { randomUUID } from 'node:crypto';
import type { BootId, JobId, LeaseId, NodeId, WorkerId } from '@carillon/domain';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  emptyTestDatabase,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { describeStorage } from '../conformance/all.ts';
import { BASE_MS } from '../conformance/storage-under-test.ts';
import { StorageTimeout } from '../storage.ts';
import type { PostgresStorage } from './postgres-storage.ts';

describeEachPostgres('the storage on PostgreSQL', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let other: PostgresStorage;
  let client: pg.Client;
  let admin: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url, {
      connectionsMax: 8,
      // Tests let calls collide on purpose, and want them all to go through in the end.
      outcomeLockTimeoutMs: 60_000,
    });
    other = openTestStorage(database.url, { connectionsMax: 2 });
    await storage.housekeeping.makePartitions({ nowMs: BASE_MS, aheadDays: 3 });
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
  });

  afterAll(async () => {
    await client.end();
    await admin.end();
    await storage.close();
    await other.close();
    await database.drop();
  });

  it('heartbeats go through while every connection of the pool is taken', async () => {
    const busy = openTestStorage(database.url, { connectionsMax: 1, connectTimeoutMs: 30_000 });
    await client.query('BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE');
    const stuck = busy.jobs.get('00000000-0000-7000-8000-000000000000' as JobId);
    try {
      await eventually(
        async () => {
          const { rows } = await admin.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          );
          expect(rows).toHaveLength(1);
        },
        { withinMs: 60_000 },
      );
      const beat = await busy.members.beatNode({
        nodeId: randomUUID() as NodeId,
        incarnation: 1,
        bootId: randomUUID() as BootId,
        address: 'here',
        nowMs: BASE_MS,
        ttlMs: 10_000,
      });
      expect(beat.alive).toBe(true);
    } finally {
      await client.query('ROLLBACK');
      await stuck;
      await busy.close();
    }
  });

  it('heartbeats go through while leases are locked, whatever looks into them (hazards 28, 47)', async () => {
    const busy = openTestStorage(database.url, { connectionsMax: 4, connectTimeoutMs: 30_000 });
    await client.query('BEGIN; LOCK TABLE leases IN ACCESS EXCLUSIVE MODE');
    const leases = [randomUUID() as LeaseId];
    const workerId = randomUUID() as WorkerId;
    const unreceived = () => busy.members.unreceivedRuns({ workerId, session: 1, holding: [], fromMs: 0 });
    const looks = Array.from({ length: 4 }, () => [
      ...[busy.members.cancelledRuns(leases), busy.members.unknownLeases(leases)],
      ...[busy.members.leasedRuns(), unreceived()],
    ]);
    const stuck = busy.members.markDead({ silent: [], ended: [randomUUID() as BootId], nowMs: BASE_MS });
    const settled = Promise.allSettled([...looks.flat(), stuck]);
    try {
      for (let i = 0; i < 3; i += 1) await busy.members.serverTimeMs();
      const beaten = await busy.members.beatWorker(workerId, BASE_MS);
      expect(beaten).toBeDefined();
      for (const look of looks.flat()) await expect(look).rejects.toThrow(StorageTimeout);
    } finally {
      await client.query('ROLLBACK');
      await settled;
      await busy.close();
    }
  });

  describeStorage('keeps every promise of its ports', async () => {
    await emptyTestDatabase(client);
    const ageRemovals = async (ms: number) => {
      await client.query('UPDATE removed_namespaces SET removed_at = removed_at - $1', [ms]);
    };
    return { storage, other, ageRemovals, close: async () => undefined };
  });
});
