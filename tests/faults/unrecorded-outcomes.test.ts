/**
 * A history that cannot be written while everything else works (hazard 40): runs are executed up to a bound and no further,
 * since a process that dies now repeats all of them. When it can be written again, nothing is missing and nothing was repeated.
 */
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { fixedPort, processesOf } from '../support/processes.ts';
import { Receiver } from '../support/receiver.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const SOON = { withinMs: 120_000 };
const JOBS = 4_000;
const UNRECORDED_MAX = 1_000;
const REACHED = 'no more runs are started: too many outcomes wait to be recorded';
const OVER = 'outcomes are recorded again; runs are started again';

const LOCKED = 'outcomes wait for what somebody holds locked';
const RECORDED = 'every outcome that waited is recorded';
const STARTS_NOTHING = /^no runs are started: \d+ outcomes could not be recorded for \d+ s$/;

let folder: string;
let receiver: Receiver;
let postgres: OwnPostgres;
let locker: pg.Client;

beforeEach(async () => {
  folder = makeTestFolder();
  receiver = await new Receiver().start();
  postgres = await OwnPostgres.start(folder, { isMigrated: true });
  locker = new pg.Client({ connectionString: postgres.url });
  await locker.connect();
});

afterEach(async () => {
  await locker.end();
  await endServers();
  await postgres.stop();
  await receiver.stop();
  await eventually(async () => expect(await processesOf(folder)).toEqual([]), SOON);
});

async function submit(server: ServerProcess): Promise<void> {
  for (let from = 0; from < JOBS; from += 500) {
    const jobs = Array.from({ length: 500 }, (_, i) => ({
      name: `job ${from + i}`,
      payload: { url: receiver.url(0, `job-${from + i}`) },
    }));
    await submitJobs(server, jobs, { idempotencyKey: `from-${from}` });
  }
}

/** Calls made whose runs are not in the history as ended; only the one who holds the lock can look. */
async function unrecorded(): Promise<number> {
  const { rows } = await locker.query<{ ended: number }>(
    `SELECT count(*)::int AS ended FROM job_runs WHERE end_time IS NOT NULL`,
  );
  return receiver.calls.length - rows[0]!.ended;
}

async function metric(server: ServerProcess, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${await server.adminKey()}` };
  const text = await (await fetch(`${server.address}/metrics`, { headers })).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

it('while no outcome can be recorded only so many runs are executed; then all are recorded, each executed once', async () => {
  const flags = ['--database-url', postgres.url, '--log-level', 'info'];
  const server = await launchServer({ name: 'server', folder, port: await fixedPort(), flags }).ready();
  const submitted = submit(server);
  await eventually(() => expect(receiver.calls.length).toBeGreaterThan(200), SOON);
  await locker.query('BEGIN; LOCK TABLE job_runs IN ACCESS EXCLUSIVE MODE');
  const lockedAt = performance.now();
  await submitted;
  await eventually(async () => expect(await server.output()).toContain(REACHED), SOON);
  // It may have been reached before the lock too: what counts is that it is reached now.
  await eventually(async () => {
    const { status, reasons } = await server.readiness();
    expect(status).toBe(503);
    expect(reasons.join()).toMatch(STARTS_NOTHING);
  }, SOON);
  await eventually(() => expect(receiver.inProgress).toEqual([]), SOON);
  const executed = receiver.calls.length;
  expect(await unrecorded()).toBeLessThanOrEqual(UNRECORDED_MAX);
  expect(await metric(server, 'carillon_outcomes_unrecorded')).toBeLessThanOrEqual(UNRECORDED_MAX);

  // Long enough for a beat, and for every outcome to be told again.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect(receiver.calls).toHaveLength(executed);
  const { status, reasons } = await server.readiness();
  expect([status, reasons.join()]).toEqual([503, expect.stringMatching(STARTS_NOTHING)]);

  await locker.query('COMMIT');
  await eventually(
    async () => {
      const [row] = await postgres.query(`
        SELECT count(*) FILTER (WHERE status = 'SUCCESS')::int AS successes, count(DISTINCT job_id)::int AS jobs,
          (SELECT count(*)::int FROM due) AS due, (SELECT count(*)::int FROM leases) AS leases FROM job_runs`);
      expect(row).toEqual({ successes: JOBS, jobs: JOBS, due: 0, leases: 0 });
    },
    { withinMs: 60_000 },
  );
  await server.ready();
  expect(receiver.calls).toHaveLength(JOBS);
  expect(receiver.overlaps()).toEqual([]);
  const output = await server.output();
  // A slow database may reach the bound without the lock as well; whoever reads the log learns of every end.
  const times = (line: string) => output.split(line).length - 1;
  expect(times(REACHED)).toBeGreaterThanOrEqual(1);
  expect(times(OVER)).toBe(times(REACHED));
  expect(output.lastIndexOf(OVER)).toBeGreaterThan(output.lastIndexOf(REACHED));
  expect(output.lastIndexOf(RECORDED)).toBeGreaterThan(output.lastIndexOf(LOCKED));
  const lockedMs = performance.now() - lockedAt;
  expect(times(LOCKED)).toBeGreaterThanOrEqual(1);
  expect(times(LOCKED)).toBeLessThanOrEqual(1 + Math.floor(lockedMs / 30_000));
  expect(output).not.toContain('cannot be recorded');
});
