/**
 * Outcomes of one batch of which some need a job that another transaction has locked (hazard 47). The rest is recorded while
 * the lock is still held; those that wait for it are recorded once it is released.
 */
import { DEFAULT_RETRY, type Job, type RunOutcome } from '@carillon/domain';
import { silentLog, systemClock, systemRandom } from '@carillon/foundation';
import { ReportSender } from '@carillon/worker';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import { MemorySignalBus } from '../signal-bus/memory-signal-bus.ts';
import { sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { onceRun, StorageWorld } from '../storage/conformance/storage-world.ts';
import type { PostgresStorage } from '../storage/postgres/postgres-storage.ts';
import { passingFault } from '../worker-home/storage-home.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';

const COUNT = 500;
const common = { clock: systemClock, random: systemRandom, log: silentLog };
const FAILED: RunOutcome = { kind: 'FAILED', error: 'no', retryable: true };

describeEachPostgres('outcomes beside a locked job', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let somebody: pg.Client;
  let world: StorageWorld;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url);
    somebody = new pg.Client({ connectionString: database.url });
    await somebody.connect();
    world = new StorageWorld(storage);
    await world.prepare();
  });

  afterEach(async () => {
    await somebody.end();
    await storage.close();
    await database.drop();
  });

  async function claimMany(over: Partial<Job>) {
    const jobs = Array.from({ length: COUNT }, () => sampleJob(over));
    await storage.jobs.insert(
      jobs.map((job) => ({ job, first: { kind: 'run', run: onceRun(BASE_MS) }, idempotency: undefined })),
    );
    const pending = await Promise.all(jobs.map((job) => world.pendingRuns(job)));
    const { runs } = await world.claim(pending.flat());
    expect(runs).toHaveLength(COUNT);
    return runs;
  }

  async function recorded(): Promise<number> {
    const { rows } = await somebody.query<{ count: number }>(`SELECT count(*)::int FROM job_runs`);
    return rows[0]!.count;
  }

  it.each([
    { name: 'one that is tried again', locks: 1, maxRetries: 3 },
    { name: 'one that ends its job', locks: 1, maxRetries: 0 },
    { name: 'many', locks: 60, maxRetries: 3 },
  ])('are recorded while the lock is held: $name', async ({ locks, maxRetries }) => {
    const runs = await claimMany({ retry: { ...DEFAULT_RETRY, maxRetries } });
    const held = runs.filter((_, i) => i % Math.floor(COUNT / locks) === 7).slice(0, locks);
    expect(held).toHaveLength(locks);
    const lockedIds = held.map(({ jobId }) => jobId);
    await somebody.query('BEGIN');
    await somebody.query('SELECT FROM jobs WHERE job_id = ANY($1::uuid[]) FOR UPDATE', [lockedIds]);

    const recorder = new OutcomeRecorder({
      ...{ ...common, leases: storage.leases, signals: new MemorySignalBus(common) },
      retriesPerSecond: 1_000_000,
    });
    const reports = { ended: recorder.ended.bind(recorder), faultOf: passingFault };
    const sender = new ReportSender({ ...common, reports, onAnswered: () => {} });
    for (const [i, run] of runs.entries()) {
      const outcome: RunOutcome = held.includes(run) || i % 3 === 0 ? FAILED : { kind: 'SUCCESS' };
      sender.send({ run, startedAtMs: BASE_MS, endedAtMs: BASE_MS, outcome });
    }
    await eventually(async () => expect(await recorded()).toBe(COUNT - locks), { withinMs: 120_000 });
    await eventually(() => expect(sender.unrecordedCount).toBe(locks), { withinMs: 120_000 });

    await somebody.query('COMMIT');
    await sender.stop();
    expect([await recorded(), sender.unrecordedCount]).toEqual([COUNT, 0]);
    expect(await storage.leases.leasedBy([world.workerId])).toEqual([]);
  });
});
