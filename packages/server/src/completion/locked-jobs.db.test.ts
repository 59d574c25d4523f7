/**
 * Outcomes of one batch of which some need a job that another transaction has locked (hazard 47). The rest is recorded while
 * the lock is still held; those that wait for it are recorded once it is released.
 */
import { DEFAULT_RETRY, type Job, type RunOutcome } from '@carillon/domain';
import { systemClock } from '@carillon/foundation';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { describeEachPostgres } from '../../../../tests/support/postgres.ts';
import { sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { onceRun } from '../storage/conformance/storage-world.ts';
import { OutcomesStage } from './outcomes.fixture.ts';

const COUNT = 500;
const FAILED: RunOutcome = { kind: 'FAILED', error: 'no', retryable: true };

describeEachPostgres('outcomes beside a locked job', (server) => {
  let stage: OutcomesStage;
  beforeEach(async () => {
    stage = await OutcomesStage.open(server.url, systemClock);
  });
  afterEach(() => stage.close());

  async function claimMany(over: Partial<Job>) {
    const { storage, world } = stage;
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
    const { rows } = await stage.somebody.query<{ count: number }>(`SELECT count(*)::int FROM job_runs`);
    return rows[0]!.count;
  }

  it.each([
    { name: 'one that is tried again', locks: 1, maxRetries: 3 },
    { name: 'one that ends its job', locks: 1, maxRetries: 0 },
    { name: 'many', locks: 60, maxRetries: 3 },
  ])('are recorded while the lock is held: $name', async ({ locks, maxRetries }) => {
    const { somebody, storage, world, sender } = stage;
    const runs = await claimMany({ retry: { ...DEFAULT_RETRY, maxRetries } });
    const held = runs.filter((_, i) => i % Math.floor(COUNT / locks) === 7).slice(0, locks);
    expect(held).toHaveLength(locks);
    const lockedIds = held.map(({ jobId }) => jobId);
    await somebody.query('BEGIN');
    await somebody.query('SELECT FROM jobs WHERE job_id = ANY($1::uuid[]) FOR UPDATE', [lockedIds]);

    for (const [i, run] of runs.entries()) {
      const outcome: RunOutcome = held.includes(run) || i % 3 === 0 ? FAILED : { kind: 'SUCCESS' };
      stage.send(run, outcome);
    }
    await eventually(async () => expect(await recorded()).toBe(COUNT - locks), { withinMs: 120_000 });
    await eventually(() => expect(sender.unrecordedCount).toBe(locks), { withinMs: 120_000 });

    await somebody.query('COMMIT');
    await sender.stop();
    expect([await recorded(), sender.unrecordedCount]).toEqual([COUNT, 0]);
    expect(await storage.leases.leasedBy([world.workerId])).toEqual([]);
  });
});
