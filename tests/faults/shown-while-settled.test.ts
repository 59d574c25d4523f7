/**
 * A run that is written down as RUNNING in the very moment its outcome is settled: the outcome waits for the lease behind
 * the other, and must then see what that one wrote, although it was not there when the statement began.
 */
import pg from 'pg';
import { expect, it } from 'vitest';
import { plainArray } from '../../packages/server/src/postgres/array-literal.ts';
import { BASE_MS } from '../../packages/server/src/storage/conformance/storage-under-test.ts';
import { StorageWorld } from '../../packages/server/src/storage/conformance/storage-world.ts';
import { SHOW_RUNNING } from '../../packages/server/src/storage/postgres/lease.sql.ts';
import { eventually } from '../support/eventually.ts';
import { createTestDatabase, describeEachPostgres } from '../support/postgres.ts';
import { openTestStorage } from '../support/test-storage.ts';

describeEachPostgres('a run shown while it is settled', (server) => {
  it.each([
    { name: 'a success', end: { status: 'SUCCESS' as const } },
    { name: 'a success with a result', end: { status: 'SUCCESS' as const, result: '{"a":1}' } },
    { name: 'a failure', end: { status: 'FAILED' as const, error: 'no', next: { kind: 'finish' as const } } },
  ])('ends in the history as what it was: $name', async ({ end }) => {
    const database = await createTestDatabase(server.url);
    // The test lets go of its locks, however long that takes on a busy machine.
    const storage = openTestStorage(database.url, { outcomeLockTimeoutMs: 60_000 });
    const shower = new pg.Client({ connectionString: database.url });
    // Not the one who shows: within its transaction it would see the same activity again and again.
    const watcher = new pg.Client({ connectionString: database.url });
    await Promise.all([shower.connect(), watcher.connect()]);
    try {
      const world = new StorageWorld(storage);
      await world.prepare();
      const { job } = await world.oneOff();
      const run = await world.claimOne(job);

      await shower.query('BEGIN');
      const columns = [[run.leaseId], [run.position], [run.epoch], [BASE_MS]].map(plainArray);
      await shower.query(SHOW_RUNNING.text, [...columns, BASE_MS]);
      const settling = world.settle(run, end);
      await eventually(
        async () => {
          const { rows } = await watcher.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          );
          expect(rows).toHaveLength(1);
        },
        { withinMs: 60_000 },
      );
      await shower.query('COMMIT');

      expect(await settling).toBe('settled');
      expect((await world.runsOf(job.jobId)).map(({ status }) => status)).toEqual([end.status]);
    } finally {
      await Promise.all([shower.end(), watcher.end()]);
      await storage.close();
      await database.drop();
    }
  });
});
