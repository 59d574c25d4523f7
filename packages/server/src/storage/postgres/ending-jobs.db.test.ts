/**
 * The last run of a schedule succeeds while somebody is changing the job: a change that has begun is waited for, and then counts.
 * Only a real database shows this: its statements see the past, and rows they waited for as they are now.
 */
import type { RunId } from '@carillon/domain';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { newId } from '../conformance/sample-job.ts';
import { BASE_MS, MINUTE_MS } from '../conformance/storage-under-test.ts';
import { StorageWorld, settlement } from '../conformance/storage-world.ts';
import type { PostgresStorage } from './postgres-storage.ts';

const HOLD = `UPDATE due SET held = true WHERE job_id = $1`;
const PLAN = `INSERT INTO cursors (job_id, shard, job_version, fire_at, nominal_at)
  SELECT job_id, shard, version, ${BASE_MS + MINUTE_MS}, ${BASE_MS + MINUTE_MS} FROM jobs WHERE job_id = $1`;

describeEachPostgres('the end of a schedule', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let person: pg.Client;
  let watcher: pg.Client;
  let world: StorageWorld;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url, {
      connectionsMax: 8,
      // The test lets go of its locks, however long that takes on a busy machine.
      outcomeLockTimeoutMs: 60_000,
    });
    person = new pg.Client({ connectionString: database.url });
    watcher = new pg.Client({ connectionString: database.url });
    await Promise.all([person.connect(), watcher.connect()]);
    world = new StorageWorld(storage);
    await world.prepare();
  });

  afterEach(async () => {
    await Promise.all([person.end(), watcher.end(), storage.close()]);
    await database.drop();
  });

  /** Its last run is alive, another waits. */
  async function lastRun() {
    const job = await world.recurring({ job: { maxConcurrency: 2 } });
    const runs = [0, 1].map((n) => ({ runId: newId<RunId>(), nominalAtMs: BASE_MS + n }));
    await world.fire(job, { runs, next: undefined });
    const waiting = await world.pendingRuns(job);
    const [alive] = (await world.claim(waiting.filter(({ runId }) => runId === runs[1]!.runId))).runs;
    return { jobId: job.jobId, alive: alive!, other: runs[0]!.runId };
  }

  async function somebodyWaits(): Promise<void> {
    await eventually(
      async () => {
        const { rows } = await watcher.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        expect(rows).toHaveLength(1);
      },
      { withinMs: 60_000 },
    );
  }

  it('does not end a job that is being paused: what the pause holds back can be resumed (hazard 19)', async () => {
    const { jobId, alive } = await lastRun();
    await person.query('BEGIN');
    await person.query(`UPDATE jobs SET status = 'PAUSED', version = version + 1 WHERE job_id = $1`, [jobId]);
    await person.query(HOLD, [jobId]);
    const settling = storage.leases.settle([settlement(alive)], BASE_MS);
    await somebodyWaits();
    await person.query('COMMIT');
    expect(await settling).toMatchObject({ verdicts: ['settled'] });
    expect(await world.statusOf(jobId)).toBe('PAUSED');
  });

  it('does not end a job that is being given a new plan (hazard 11)', async () => {
    const { jobId, alive, other } = await lastRun();
    await storage.jobs.cancelRun(other, BASE_MS);
    await person.query('BEGIN');
    await person.query(`UPDATE jobs SET version = version + 1 WHERE job_id = $1`, [jobId]);
    await person.query(PLAN, [jobId]);
    const settling = storage.leases.settle([settlement(alive)], BASE_MS);
    await somebodyWaits();
    await person.query('COMMIT');
    expect(await settling).toMatchObject({ verdicts: ['settled'] });
    expect(await world.statusOf(jobId)).toBe('SCHEDULED');
  });
});
