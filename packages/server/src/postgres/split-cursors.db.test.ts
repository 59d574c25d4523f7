/** A database that was in use before cursors, lanes and places had tables of their own goes on where it was. */
import { randomBytes } from 'node:crypto';
import type { Job, JobId, LeaseId, RunId } from '@carillon/domain';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { databaseUrl, describeEachPostgres } from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import { EVERY_MINUTE, newId, sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS, HOUR_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { StorageWorld, settlement } from '../storage/conformance/storage-world.ts';
import { laneOf } from '../storage/lane.ts';
import type { PostgresStorage } from '../storage/postgres/postgres-storage.ts';
import { migrate, readMigrations } from './migrate.ts';

const VERSION_BEFORE = 10;
const PRIORITIES = { low: 0, medium: 1, high: 2 };
/** What a row of `due` stood for. */
const [CURSOR, ONCE, OCCURRENCE, RUN_NOW] = [0, 1, 2, 3];

interface FormerRow {
  readonly kind: number;
  readonly atMs?: number;
  readonly runId?: RunId;
  readonly attempt?: number;
  readonly epoch?: number;
  readonly endsJob?: boolean;
  readonly held?: boolean;
  readonly lastNominalMs?: number;
}

describeEachPostgres('a database of the version before', (server) => {
  let admin: pg.Client;
  let client: pg.Client;
  let storage: PostgresStorage;
  let world: StorageWorld;
  let name: string;
  let url: string;

  beforeEach(async () => {
    name = `former_${randomBytes(8).toString('hex')}`;
    url = databaseUrl(server.url, name);
    admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`CREATE TABLE schema_migrations (
      version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    for (const migration of (await readMigrations()).filter(({ version }) => version <= VERSION_BEFORE)) {
      await client.query(migration.sql);
      await client.query('INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)', [
        migration.version,
        migration.name,
        migration.checksum,
      ]);
    }
    storage = openTestStorage(url);
    world = new StorageWorld(storage);
  });

  afterEach(async () => {
    await storage.close();
    await client.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });

  async function addJob(over: Partial<Job> = {}): Promise<Job> {
    const job = sampleJob({ handler: 'http', ...over });
    const { schedule } = job;
    await client.query(`INSERT INTO namespaces (name) VALUES ($1) ON CONFLICT DO NOTHING`, [job.namespace]);
    await client.query(
      `INSERT INTO jobs (job_id, name, user_id, schedule_type, status, schedule, handler, payload, priority, max_concurrency, overlap,
         timeout_ms, start_timeout_ms, shard, version, namespace)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
      [
        ...[job.jobId, job.name, job.userId, schedule.type, job.status],
        ...['spreadMs' in schedule ? JSON.stringify(schedule) : null, job.handler, job.payload],
        ...[PRIORITIES[job.priority], job.maxConcurrency, job.overlap, job.timeoutMs, job.startTimeoutMs],
        ...[job.shard, job.version, job.namespace],
      ],
    );
    return job;
  }

  const recurring = (over: Partial<Job> = {}) => addJob({ schedule: EVERY_MINUTE, ...over });

  async function addRow(job: Job, row: FormerRow): Promise<RunId> {
    const { kind, atMs = BASE_MS, attempt = 1, epoch = 1, endsJob = kind === ONCE, held = false } = row;
    const runId = kind === CURSOR ? (job.jobId as string as RunId) : (row.runId ?? newId<RunId>());
    await client.query(
      `INSERT INTO due (job_id, run_id, shard, priority, kind, attempt, ends_job, held, epoch, job_version, max_concurrency, fire_at,
         nominal_at, last_nominal_at, start_timeout_ms, handler, overlap, payload, timeout_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
      [
        ...[job.jobId, runId, job.shard, PRIORITIES[job.priority], kind, attempt, endsJob, held, epoch],
        ...[job.version, job.maxConcurrency, atMs, atMs, row.lastNominalMs, job.startTimeoutMs, job.handler],
        ...[job.overlap, kind === CURSOR ? null : job.payload, kind === CURSOR ? null : job.timeoutMs],
      ],
    );
    return runId;
  }

  /** A lease of one run each of these jobs; those at the closed positions have ended. */
  async function addLease(jobs: readonly Job[], { kind, closed = [] }: { kind: number; closed?: number[] }) {
    const [leaseId, runIds] = [newId<LeaseId>(), jobs.map(() => newId<RunId>())];
    const each = <T>(value: T) => jobs.map(() => value);
    await client.query(
      `INSERT INTO leases (lease_id, worker_id, claimed_at, run_ids, job_ids, shards, kinds, attempts, crashes, ends_job, epochs,
         job_versions, nominal_ats, closed)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
      [
        ...[leaseId, world.workerId, BASE_MS, runIds, jobs.map(({ jobId }) => jobId)],
        ...[jobs.map(({ shard }) => shard), each(kind), each(1), each(0), each(false), each(1), each(1)],
        ...[each(BASE_MS), closed],
      ],
    );
    return runIds.map((runId, position) => ({ leaseId, position, epoch: 1, runId }));
  }

  async function migrated(): Promise<void> {
    expect(await migrate(url)).toContain('0011_split_cursors_from_due.sql');
    await world.prepare();
  }

  const statesOf = async ({ jobId }: Job) =>
    (await storage.runs.pending(jobId, 10)).map(({ runId, state, held }) => ({ runId, state, held }));

  async function placesOf(jobId: JobId): Promise<{ slot: number; run_id: string }[]> {
    const text = 'SELECT slot, run_id FROM admissions WHERE job_id = $1 ORDER BY slot';
    return (await client.query(text, [jobId])).rows;
  }

  it('keeps its cursors, with the last occurrence that was fired, and those that a pause holds back', async () => {
    const job = await recurring();
    await addRow(job, { kind: CURSOR, lastNominalMs: BASE_MS - MINUTE_MS });
    const paused = await recurring({ status: 'PAUSED', version: 3 });
    await addRow(paused, { kind: CURSOR, held: true });
    await migrated();
    expect(await world.cursor(job)).toMatchObject({ fireAtMs: BASE_MS, nominalAtMs: BASE_MS, jobVersion: 1 });
    expect((await storage.jobs.getForChange(job.jobId))?.lastNominalMs).toBe(BASE_MS - MINUTE_MS);
    expect(await world.cursor(paused)).toBeUndefined();
    await world.resume(paused.jobId);
    expect(await world.cursor(paused)).toMatchObject({ nominalAtMs: BASE_MS });
    expect((await world.fire(job)).fired).toBe(true);
    expect((await world.claimOne(job)).nominalAtMs).toBe(BASE_MS);
    const { rows } = await client.query('SELECT FROM due WHERE kind = 0');
    expect(rows).toEqual([]);
  });

  it('has its one-offs in the lanes that new ones of the same job would be in, with their deadline', async () => {
    const jobs = [
      await addJob({ priority: 'high', userId: 'ann', startTimeoutMs: 5_000 }),
      await addJob({ priority: 'low', namespace: 'team', handler: 'größe' }),
    ];
    const runIds = [await addRow(jobs[0]!, { kind: ONCE }), await addRow(jobs[1]!, { kind: ONCE })];
    await migrated();
    const heads = await storage.leases.lanes({ after: undefined, limit: 10 });
    expect(new Map(heads.map((head) => [head.runId, head]))).toEqual(
      new Map(jobs.map((job, i) => [runIds[i], { ...laneOf(job), laneAtMs: BASE_MS, runId: runIds[i] }])),
    );
    expect(await storage.runs.pending(jobs[0]!.jobId, 1)).toMatchObject([
      { runId: runIds[0], state: 'open', held: false, expiresAtMs: BASE_MS + 5_000 },
    ]);
    const batch = await world.claim(jobs.map(({ jobId }, i) => ({ jobId, runId: runIds[i]! })));
    expect(batch.runs.map(({ payload, timeoutMs }) => ({ payload: JSON.parse(payload), timeoutMs }))).toEqual(
      jobs.map(({ payload, timeoutMs }) => ({ payload: JSON.parse(payload), timeoutMs })),
    );
  });

  it('tries again what was to be tried again, at its instant, attempt and epoch', async () => {
    const once = await addJob();
    const often = await recurring();
    const retry = { attempt: 2, epoch: 2, atMs: BASE_MS + HOUR_MS };
    const onceRun = await addRow(once, { kind: ONCE, ...retry });
    const oftenRun = await addRow(often, { kind: OCCURRENCE, ...retry });
    await migrated();
    expect(await statesOf(once)).toEqual([{ runId: onceRun, state: 'open', held: false }]);
    expect(await statesOf(often)).toEqual([{ runId: oftenRun, state: 'planned', held: false }]);
    for (const job of [once, often]) {
      expect((await world.claim(await world.pendingRuns(job))).runs).toEqual([]);
      const claimed = await world.claimOne(job, { nowMs: retry.atMs });
      expect(claimed).toMatchObject({ attempt: 2, epoch: 2 });
    }
  });

  it('holds back what a pause held back, until the job is resumed', async () => {
    const once = await addJob({ status: 'PAUSED' });
    const often = await recurring({ status: 'PAUSED' });
    const runIds = [
      await addRow(once, { kind: ONCE, held: true }),
      await addRow(often, { kind: OCCURRENCE, held: true }),
    ];
    const asked = await addRow(often, { kind: RUN_NOW });
    await migrated();
    expect(await world.pendingRuns(once)).toEqual([]);
    expect((await world.claimOne(often)).runId).toBe(asked);
    for (const job of [once, often]) await world.resume(job.jobId);
    expect(await statesOf(once)).toMatchObject([{ runId: runIds[0], held: false }]);
    expect(await statesOf(often)).toMatchObject([{ runId: runIds[1], held: false }]);
    expect((await world.claimOne(once)).runId).toBe(runIds[0]);
  });

  it('counts what is alive: no job gets more runs at a time than it may, and what ends makes room', async () => {
    const [one, two, ended] = [
      await recurring({ maxConcurrency: 1 }),
      await recurring({ maxConcurrency: 2 }),
      await recurring({ maxConcurrency: 1 }),
    ];
    const [first, second] = await addLease([one, two, ended], { kind: OCCURRENCE, closed: [2] });
    const waiting = new Map<Job, RunId[]>();
    for (const job of [one, two, ended]) {
      const rows = [BASE_MS - 2, BASE_MS - 1].map((atMs) => addRow(job, { kind: OCCURRENCE, atMs }));
      waiting.set(job, await Promise.all(rows));
    }
    await migrated();
    expect(await placesOf(one.jobId)).toEqual([{ slot: 1, run_id: first!.runId }]);
    expect(await placesOf(ended.jobId)).toEqual([]);
    const claimed = async (job: Job) =>
      (await world.claim(await world.pendingRuns(job))).runs.map(({ runId }) => runId);
    expect(await claimed(one)).toEqual([]);
    expect(await claimed(two)).toEqual([waiting.get(two)![0]]);
    expect(await claimed(ended)).toEqual([waiting.get(ended)![0]]);
    const settled = await storage.leases.settle([settlement(first!), settlement(second!)], BASE_MS);
    expect(settled.verdicts).toEqual(['settled', 'settled']);
    expect([...settled.freed].sort()).toEqual([one.jobId, two.jobId].sort());
    expect(await claimed(one)).toEqual([waiting.get(one)![0]]);
    expect(await claimed(two)).toEqual([waiting.get(two)![1]]);
  });

  it('lets the run of a one-off ask for a slot where another of its job waits or is alive', async () => {
    const [beside, alive] = [await addJob(), await addJob()];
    const [once, asked] = [
      await addRow(beside, { kind: ONCE, atMs: BASE_MS - 1 }),
      await addRow(beside, { kind: RUN_NOW }),
    ];
    await addLease([alive], { kind: RUN_NOW });
    await addRow(alive, { kind: ONCE });
    await migrated();
    expect((await statesOf(beside)).map(({ state }) => state)).toEqual(['planned', 'planned']);
    const first = await world.claimOne(beside);
    expect(first.runId).toBe(once);
    await world.settle(first);
    expect((await world.claimOne(beside)).runId).toBe(asked);
    expect((await world.claim(await world.pendingRuns(alive))).runs).toEqual([]);
  });
});
