/** Two sessions on one database: what one holds locked or has not committed, and what the other makes of it. */
import { type Job, type LeaseId, occurrenceRunId, type RunId, type WorkerId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { Scheduler } from '../../scheduler/scheduler.ts';
import { MemorySignalBus } from '../../signal-bus/memory-signal-bus.ts';
import { newId } from '../conformance/sample-job.ts';
import { BASE_MS } from '../conformance/storage-under-test.ts';
import { manualRun, StorageWorld, settlement } from '../conformance/storage-world.ts';
import { LANE_START, laneOf } from '../lane.ts';
import { priorityCode } from './codes.ts';
import { LIMIT_LIVING, LIMIT_PENDING } from './job.sql.ts';
import { CLAIM_LANES } from './lease.sql.ts';
import type { PostgresStorage } from './postgres-storage.ts';
import { ADMIT } from './schedule.sql.ts';

const PASSES = 4;
const STATEMENT_MS = 1_500;

describeEachPostgres('what others do at the same moment', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let patient: PostgresStorage;
  let person: pg.Client;
  let watcher: pg.Client;
  let world: StorageWorld;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    const open = (statementTimeoutMs: number) =>
      openTestStorage(database.url, { connectionsMax: 8, statementTimeoutMs, outcomeLockTimeoutMs: 60_000 });
    storage = open(STATEMENT_MS);
    patient = open(60_000);
    const options =
      '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c jit=off';
    person = new pg.Client({ connectionString: database.url, options });
    watcher = new pg.Client({ connectionString: database.url, options });
    await Promise.all([person.connect(), watcher.connect()]);
    world = new StorageWorld(patient);
    await world.prepare();
  });

  afterEach(async () => {
    await person.query('ROLLBACK');
    await Promise.all([person.end(), watcher.end(), storage.close(), patient.close()]);
    await database.drop();
  });

  /** Until so many statements wait for a lock. */
  const untilWaiting = (count: number) =>
    eventually(
      async () => {
        const { rows } = await watcher.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        expect(rows).toHaveLength(count);
      },
      { withinMs: 60_000 },
    );

  function scheduler(): Scheduler {
    return new Scheduler({
      store: storage.schedule,
      signals: new MemorySignalBus({ log: silentLog }),
      guard: () => world.guard,
      clock: new ManualClock(BASE_MS),
      random: new SeededRandom(1),
      log: silentLog,
      windowMs: 300_000,
      rowsPerShard: 700,
    });
  }

  /** Passes of a scheduler, each of which may fail: the loop makes the next one after a short pause. */
  async function passes(role: Scheduler): Promise<void> {
    for (let pass = 0; pass < PASSES; pass += 1) await role.runOnce().catch(() => undefined);
  }

  const firedRuns = async (job: Job) => (await world.pendingRuns(job)).length;

  describe('crons fire at their instant', () => {
    it('while somebody holds the history table locked', async () => {
      const job = await world.recurring();
      await person.query('BEGIN; LOCK TABLE job_runs IN SHARE MODE');
      await passes(scheduler());
      expect(await firedRuns(job)).toBe(1);
    });

    it('while somebody holds the cursor of another job locked', async () => {
      const locked = await world.recurring();
      const job = await world.recurring();
      await person.query('BEGIN');
      await person.query('SELECT FROM cursors WHERE job_id = $1 FOR UPDATE', [locked.jobId]);
      await passes(scheduler());
      expect(await firedRuns(job)).toBe(1);
    });

    it('though one cursor in the batch cannot be fired at all', async () => {
      const bad = await world.recurring();
      const job = await world.recurring();
      // Its next occurrence is already there, as after a clock that was set back.
      await person.query(
        `INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, handler_key, job_version, shard, part, priority, kind, handler)
         SELECT $2::uuid, job_id, 1, 1, 1, 1, 1, 1, shard, 0, 1, 2, handler FROM jobs WHERE job_id = $1`,
        [bad.jobId, occurrenceRunId(bad.jobId, BASE_MS)],
      );
      await passes(scheduler());
      expect(await firedRuns(job)).toBe(1);
    });

    it('while somebody holds a run locked that asks for a slot of another job', async () => {
      const other = await world.recurring({ atMs: BASE_MS + 3_600_000 });
      const runs = [manualRun(), manualRun()];
      for (const run of runs) await patient.jobs.enqueue(other.jobId, run);
      await person.query('BEGIN');
      await person.query('SELECT FROM due WHERE run_id = $1 FOR UPDATE', [runs[1]!.runId]);
      const role = scheduler();
      await role.runOnce().catch(() => undefined);
      // What asks for a slot in third jobs is let in although the scheduler cannot have that row.
      const third = await world.recurring({ atMs: BASE_MS + 3_600_000 });
      const asked = manualRun();
      await patient.jobs.enqueue(third.jobId, asked);
      role.admitSoon([third.jobId]);
      await passes(role);
      const [run] = await world.pendingRuns(third);
      expect(run!.state).toBe('open');
    });
  });

  it('a one-off whose attempt fails while somebody asks for another run stays within its limit', async () => {
    const { job } = await world.oneOff();
    const alive = await world.claimOne(job);
    const asked = manualRun();
    // The transaction of enqueue(), which has not committed when the attempt is settled.
    await person.query('BEGIN');
    await person.query(
      `INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, handler_key, job_version, shard, part, priority, kind, blocked, handler)
       SELECT $2, job_id, ${BASE_MS}, ${BASE_MS}, ${BASE_MS}, 1, 1, version, shard, 0, priority, 3, 1, handler FROM jobs WHERE job_id = $1 FOR SHARE`,
      [job.jobId, asked.runId],
    );
    await person.query(LIMIT_PENDING.text, [job.jobId]);
    await person.query(LIMIT_LIVING.text, [job.jobId]);
    const next = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
    const settling = world.settle(alive, { status: 'FAILED', next });
    await untilWaiting(1);
    await person.query(LIMIT_PENDING.text, [job.jobId]);
    await person.query('COMMIT');
    expect(await settling).toBe('settled');
    // What the scheduler and its reconciler do from then on.
    await patient.schedule.reconcile({ guard: world.guard, nowMs: BASE_MS, limit: 10 });
    await world.admit(job);
    const batch = await world.claim(await world.pendingRuns(job));
    expect(batch.runs).toHaveLength(1);
  });

  it('nothing is left of a job that is removed while it fires', async () => {
    const job = await world.recurring();
    await person.query('BEGIN');
    // What FIRE does, not committed yet.
    await person.query('UPDATE cursors SET nominal_at = nominal_at + 60000 WHERE job_id = $1', [job.jobId]);
    await person.query(
      `INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, handler_key, job_version, shard, part, priority, kind, handler)
       SELECT $2::uuid, job_id, 1, 1, 1, 1, 1, 1, shard, 0, 1, 2, handler FROM jobs WHERE job_id = $1`,
      [job.jobId, occurrenceRunId(job.jobId, BASE_MS)],
    );
    const removing = patient.jobs.remove(job.jobId);
    await untilWaiting(1);
    await person.query('COMMIT');
    expect(await removing).toBe(true);
    const { rows } = await watcher.query('SELECT FROM due WHERE job_id = $1', [job.jobId]);
    expect(rows).toHaveLength(0);
  });

  /** The person's open transaction claims the one run of the job. */
  async function claimAsPerson(job: Job): Promise<void> {
    const { part, priority, handlerKey, tenant } = laneOf(job);
    const pick = [[part], [priorityCode(priority)], [handlerKey], [tenant], [0], [LANE_START.runId], [1], 1];
    const claimed = await person.query(CLAIM_LANES.text, [
      ...[newId<LeaseId>(), world.workerId, BASE_MS],
      ...pick,
    ]);
    expect(claimed.rows).toMatchObject([{ found: '{1}' }]);
  }

  it('a run that is claimed while people read it is always found', async () => {
    const { job, runId } = await world.oneOff();
    await person.query('BEGIN; LOCK TABLE due IN ACCESS EXCLUSIVE MODE');
    const { runs } = patient;
    const reading = Promise.all([
      runs.attempts(runId, BASE_MS),
      runs.ofJob(job.jobId, { limit: 10 }, BASE_MS),
    ]);
    await untilWaiting(2);
    await claimAsPerson(job);
    await person.query('COMMIT');
    for (const found of await reading) expect(found.map(({ status }) => status)).toEqual(['CLAIMED']);
  });

  it('a worker that is given a lease at this moment is not forgotten', async () => {
    const { job } = await world.oneOff();
    await person.query('BEGIN');
    await claimAsPerson(job);
    const forgetting = patient.members.forgetWorkers([world.workerId]);
    await untilWaiting(1);
    await person.query('COMMIT');
    await forgetting;
    expect((await patient.members.workers()).map(({ workerId }) => workerId)).toContain(world.workerId);
  });

  it('a worker whose row somebody holds locked keeps no other from being heard', async () => {
    const [held, free] = [world.workerId, newId<WorkerId>()];
    await world.register(free);
    await person.query('BEGIN');
    await person.query('SELECT FROM workers WHERE worker_id = $1 FOR UPDATE', [held]);
    const beats = [held, free].map((workerId) => ({ workerId }));
    const heard = await patient.members.beatWorkers(beats, BASE_MS + 1);
    expect([...heard.keys()]).toEqual([free]);
    await person.query('COMMIT');
    expect((await patient.members.beatWorkers(beats, BASE_MS + 2)).size).toBe(2);
  });

  it('a run-now of a job that replaces waits, and stops nothing', async () => {
    const job = await world.recurring({ job: { overlap: 'replace' } });
    await world.fire(job);
    await world.claimOne(job);
    await patient.jobs.enqueue(job.jobId, manualRun());
    await world.admit(job);
    const stopped = await patient.schedule.replace([job.jobId], { guard: world.guard, nowMs: BASE_MS });
    expect(stopped).toEqual([]);
  });

  it('redriven letters of a job that replaces all run to their end', async () => {
    const job = await world.recurring({ job: { overlap: 'replace' } });
    const letters = 10;
    for (let i = 0; i < letters; i += 1)
      await patient.jobs.enqueue(job.jobId, { ...manualRun(), trigger: 'redrive' });
    const verdicts: string[] = [];
    for (let i = 0; i < letters; i += 1) {
      await world.admit(job);
      const open = (await world.pendingRuns(job)).filter(({ state }) => state === 'open');
      const { runs } = await world.claim(open);
      // A pass of the reconciler while it runs.
      const options = { guard: world.guard, nowMs: BASE_MS };
      const waiting = await patient.schedule.reconcile({ ...options, limit: 10 });
      await patient.schedule.replace(
        waiting.filter(({ replaces }) => replaces).map(({ jobId }) => jobId),
        options,
      );
      verdicts.push(await world.settle(runs[0]!));
    }
    expect(verdicts.filter((verdict) => verdict === 'cancelled')).toEqual([]);
  });

  it('a claim that did not get what it found says nothing of the lanes, so that nothing is passed over', async () => {
    const { job } = await world.oneOff();
    const [head] = await patient.leases.lanes({ after: undefined, limit: 1 });
    await person.query('BEGIN');
    await person.query('SELECT FROM workers WHERE worker_id = $1 FOR UPDATE', [world.workerId]);
    const claiming = patient.leases.claim({
      leaseId: newId<LeaseId>(),
      workerId: world.workerId,
      nowMs: BASE_MS,
      pick: {
        runsMax: 10,
        lanes: [{ lane: head!, after: LANE_START, runsMax: 10 }],
      },
    });
    await untilWaiting(1);
    // An edit of the job that commits after the claim has begun.
    await watcher.query('UPDATE due SET job_version = job_version + 1 WHERE job_id = $1', [job.jobId]);
    await person.query('COMMIT');
    const { runs, scans } = await claiming;
    expect({ runs, scans }).toEqual({ runs: [], scans: [] });
  });

  it('an occurrence is skipped only while a run of its job is alive', async () => {
    const job = await world.recurring({ job: { overlap: 'skip' } });
    await world.fire(job);
    const alive = await world.claimOne(job);
    await patient.jobs.enqueue(job.jobId, manualRun());
    await world.admit(job);
    await world.settle(alive);
    // Its slot is free, nobody is alive, and the hint about it is lost.
    const { answer } = await world.fire(job);
    expect(answer.skipped).toBe(0);
  });

  it('jobs that replace do not keep the reconciler from those that wait though there is room', async () => {
    const replacing = await world.recurring({ job: { overlap: 'replace' } });
    await world.fire(replacing);
    await world.claimOne(replacing);
    await world.fire(replacing);
    const waiting = await world.recurring();
    const runs = [1, 2].map((n) => ({ runId: newId<RunId>(), nominalAtMs: BASE_MS + n }));
    await world.fire(waiting, { runs });
    const open = (await world.pendingRuns(waiting)).filter(({ state }) => state === 'open');
    const { runs: claimed } = await world.claim(open);
    await patient.leases.settle([settlement(claimed[0]!)], BASE_MS);
    const found = new Set<string>();
    for (let pass = 0; pass < 10; pass += 1) {
      for (const { jobId } of await patient.schedule.reconcile({
        guard: world.guard,
        nowMs: BASE_MS,
        limit: 1,
      }))
        found.add(jobId);
    }
    expect(found).toContain(waiting.jobId);
  });

  describe('costs', () => {
    const pagesOf = async (text: string, values: readonly (string | number)[]) => {
      let pages = 0;
      await watcher.query(`PREPARE counted AS ${text}`);
      const given = values.map((value) => `'${String(value)}'`).join(', ');
      for (let i = 0; i < 2; i += 1) {
        await watcher.query('BEGIN');
        const { rows } = await watcher.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
          `EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) EXECUTE counted(${given})`,
        );
        await watcher.query('ROLLBACK');
        const plan = rows[0]!['QUERY PLAN'][0].Plan;
        pages = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
      }
      await watcher.query('DEALLOCATE counted');
      return pages;
    };

    const insertDue = (
      job: Job,
      {
        from,
        count,
        blocked,
        atMs = BASE_MS,
      }: { from: number; count: number; blocked: number; atMs?: number },
    ) =>
      watcher.query(
        `INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, handler_key, job_version, shard, part, priority, kind, blocked, handler)
         SELECT md5('r' || n)::uuid, job_id, $5::bigint, $5::bigint + n, ${BASE_MS}, 1, 1, version, shard, 0, priority, 3, $4::smallint, handler
         FROM jobs, generate_series($2::int, $3::int) n WHERE job_id = $1`,
        [job.jobId, from, from + count - 1, blocked, atMs],
      );

    const admitting = (job: Job) => {
      const epochs = `{${Array.from({ length: 64 }, (_, shard) => world.guard.epochs.get(shard)).join(',')}}`;
      return () => pagesOf(ADMIT.text, [`{${job.jobId}}`, world.guard.nodeId, epochs, BASE_MS, 1_000]);
    };

    it('letting in one run costs the same however many of its job wait behind it', async () => {
      const job = await world.recurring();
      const admit = admitting(job);
      await insertDue(job, { from: 1, count: 1_000, blocked: 2 });
      const few = await admit();
      await insertDue(job, { from: 1_001, count: 50_000, blocked: 2 });
      expect(await admit()).toBeLessThan(few + 100);
    });
  });
});
