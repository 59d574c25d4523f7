/** Whole leases with results and failures take the cheap statement, also while their jobs are being changed. */
import type { ClaimedRun, Job } from '@carillon/domain';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  emptyTestDatabase,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { BASE_MS, MINUTE_MS } from '../conformance/storage-under-test.ts';
import { StorageWorld, settlement } from '../conformance/storage-world.ts';
import type { PostgresStorage } from './postgres-storage.ts';

const LATER_MS = BASE_MS + MINUTE_MS;
const no = { status: 'FAILED', error: 'no' } as const;
const failed = { ...no, next: { kind: 'again', atMs: LATER_MS, attempt: 2, crashes: 0 } } as const;

describeEachPostgres('a whole lease with results and failures', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let client: pg.Client;
  let world: StorageWorld;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url, { outcomeLockTimeoutMs: 60_000 });
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  beforeEach(async () => {
    await emptyTestDatabase(client);
    world = new StorageWorld(storage);
    await world.prepare();
  });

  afterAll(async () => {
    await client.end();
    await storage.close();
    await database.drop();
  });

  async function lease(count: number): Promise<{ jobs: Job[]; runs: readonly ClaimedRun[] }> {
    const made = [];
    for (let i = 0; i < count; i += 1) made.push(await world.oneOff());
    const { runs } = await world.claim(made.map(({ job, runId }) => ({ jobId: job.jobId, runId })));
    return { jobs: made.map(({ job }) => job), runs };
  }

  /** A lease that was settled run by run is told with an instant of its claim for each. */
  async function told() {
    const { rows } = await client.query<{
      claims: number;
      next_ats: string[] | null;
      dead_reasons: string[] | null;
    }>(
      `SELECT cardinality(claimed_ats) AS claims, next_ats, dead_reasons FROM events WHERE kind = 'run.ended'`,
    );
    return rows;
  }

  it('is settled by one statement, and told as it is', async () => {
    const { runs } = await lease(4);
    const ends = [
      { result: '{"n":1}' },
      failed,
      {},
      { ...no, next: { kind: 'dead', reason: 'not_retryable' } },
    ] as const;
    await storage.leases.settle(
      runs.map((run, i) => settlement(run, ends[i]!)),
      BASE_MS,
    );
    expect(await told()).toEqual([
      {
        claims: 1,
        next_ats: [null, String(LATER_MS), null, null],
        dead_reasons: [null, null, null, 'not_retryable'],
      },
    ]);
    const { rows } = await client.query(
      'SELECT result, result_text FROM job_runs WHERE result_text IS NOT NULL',
    );
    expect(rows).toEqual([{ result: null, result_text: '{"n":1}' }]);
  });

  it('nothing is tried again of a job that was cancelled in this moment', async () => {
    const { jobs, runs } = await lease(3);
    const cancelled = jobs.find(({ jobId }) => jobId === runs[1]!.jobId)!;
    await client.query(`UPDATE jobs SET status = 'CANCELLED' WHERE job_id = $1`, [cancelled.jobId]);
    const answer = await storage.leases.settle(
      runs.map((run, i) => settlement(run, i === 0 ? { result: '1' } : failed)),
      BASE_MS,
    );
    expect(answer.verdicts).toEqual(['settled', 'cancelled', 'settled']);
    expect(answer.opened).toHaveLength(1);
    expect(await told()).toMatchObject([{ claims: 1, next_ats: [null, null, String(LATER_MS)] }]);
    expect(await storage.runs.pending(cancelled.jobId, 10)).toEqual([]);
    expect(await storage.runs.attempts(runs[1]!.runId, BASE_MS)).toMatchObject([{ status: 'CANCELLED' }]);
    expect(await world.statusOf(cancelled.jobId)).toBe('CANCELLED');
  });

  it('what was recorded before results were text is read as before', async () => {
    const { runs } = await lease(1);
    await storage.leases.settle([settlement(runs[0]!, { result: '{"a":1}' })], BASE_MS);
    await client.query(`UPDATE job_runs SET result = result_text::jsonb, result_text = NULL`);
    const [view] = await storage.runs.attempts(runs[0]!.runId, BASE_MS);
    expect(JSON.parse(view!.result!)).toEqual({ a: 1 });
  });
});
