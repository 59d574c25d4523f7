/**
 * An external PostgreSQL that stops, hangs, or was never there (hazard 28): the server says so, refuses what it cannot keep,
 * loses nothing it accepted, and goes on by itself when the database is back.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { OwnPostgres } from '../support/own-postgres.ts';
import { fixedPort } from '../support/processes.ts';
import type { Receiver } from '../support/receiver.ts';
import { ServerStage } from '../support/server-stage.ts';

const SOON = { withinMs: 120_000 };
const SHORT = ['--worker-silent-seconds', '5', '--node-ttl-seconds', '3', '--shutdown-grace-seconds', '2'];

let stage: ServerStage;
let receiver: Receiver;
let postgres: OwnPostgres;

beforeEach(async () => {
  stage = await ServerStage.open();
  ({ receiver, postgres } = stage);
});

afterEach(() => stage.close());

const launch = () => stage.launch('server', SHORT);

const jobsDueIn = (count: number, { fromMs, everyMs }: { fromMs: number; everyMs: number }) =>
  Array.from({ length: count }, (_, i) => ({
    name: `job ${i}`,
    max_retries: 20,
    schedule_time: new Date(Date.now() + fromMs + i * everyMs).toISOString(),
    payload: { url: receiver.url(i % 10 === 0 ? 1_500 : 10, `job-${i}`) },
  }));

async function untilAllSucceeded(count: number): Promise<void> {
  await eventually(
    async () => {
      const [row] = await postgres.query(`
        SELECT count(*) FILTER (WHERE status = 'SUCCESS')::int AS successes, count(DISTINCT job_id)::int AS jobs,
          (SELECT count(*)::int FROM due) AS due, (SELECT count(*)::int FROM leases) AS leases FROM job_runs`);
      expect(row).toEqual({ successes: count, jobs: count, due: 0, leases: 0 });
    },
    { withinMs: 60_000 },
  );
  expect(receiver.overlaps()).toEqual([]);
  expect(receiver.repeatedEpochs()).toEqual([]);
}

it('while PostgreSQL is stopped it is not ready and refuses jobs for a while; afterwards nothing is missing', async () => {
  const server = await launch();
  await submitJobs(server, jobsDueIn(200, { fromMs: 500, everyMs: 25 }), { idempotencyKey: 'before' });
  await eventually(() => expect(receiver.calls.length).toBeGreaterThan(20), SOON);
  await postgres.stop();

  await eventually(async () => {
    const { status, reasons } = await server.readiness();
    expect(status).toBe(503);
    expect(reasons.join()).toContain('the database does not answer');
  }, SOON);
  const job = { name: 'meanwhile', payload: { url: receiver.url(5, 'meanwhile') } };
  const post = () =>
    callApi<{ code: string }>(server, '/api/jobs', {
      method: 'POST',
      body: job,
      idempotencyKey: 'meanwhile',
    });
  const refused = await post();
  expect(refused.status).toBe(503);
  expect(refused.headers.get('content-type')).toContain('application/problem+json');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.body.code).toBe('storage_unavailable');
  expect((await fetch(`${server.address}/health/live`)).status).toBe(200);

  await postgres.start();
  await server.ready();
  expect((await post()).status).toBe(201);
  expect((await post()).status).toBe(200);
  await untilAllSucceeded(201);
  expect(receiver.tagged('meanwhile')).toHaveLength(1);
  // Told when it begins and ends, not for every request and every claim that met it.
  const said = await server.output();
  expect(said).toContain('the database cannot be used');
  expect(said).toContain('the database can be used again');
  expect(said).not.toMatch(/a request could not be served|a claim broke off|a look over the lanes/);
});

it('a PostgreSQL that hangs for 5 seconds is told of at once and waited for; the engine goes on where it was', async () => {
  const server = await launch();
  await submitJobs(server, jobsDueIn(300, { fromMs: 500, everyMs: 25 }), { idempotencyKey: 'all' });
  await eventually(() => expect(receiver.calls.length).toBeGreaterThan(50), SOON);
  await postgres.freeze();
  const frozenAt = performance.now();
  const { status, reasons } = await server.readiness();
  expect(status).toBe(503);
  // The words of one that did not wait for the database: it is frozen until the test thaws it.
  expect(reasons.join()).toContain('the database has not answered for');
  await new Promise((resolve) => setTimeout(resolve, frozenAt + 5_000 - performance.now()));
  postgres.thaw();
  await server.ready();
  await untilAllSucceeded(300);
  expect(server.hasExited).toBe(false);
});

it('a server that is stopped while PostgreSQL is away ends in time, and what it could not report is run again', async () => {
  const server = await launch();
  await submitJobs(server, [{ name: 'long', payload: { url: receiver.url(4_000) } }]);
  await eventually(() => expect(receiver.inProgress).toHaveLength(1), SOON);
  await postgres.stop();
  expect(await server.stop(60_000)).toEqual({ code: 0, signal: null });

  await postgres.start();
  await launch();
  await untilAllSucceeded(1);
  expect(receiver.calls.map(({ attempt }) => attempt)).toEqual([1, 1]);
});

it('a database that cannot be used is explained: not there, not for us, not a database', async () => {
  const nowhere = new URL(postgres.url);
  nowhere.port = String(await fixedPort());
  const unreachable = await stage.begin('unreachable', ['--database-url', nowhere.href]);

  const stranger = new URL(postgres.url);
  stranger.password = 'wrong';
  const refused = await stage.begin('refused', ['--database-url', stranger.href]);
  expect(await refused.exitWithin(60_000)).toEqual({ code: 1, signal: null });
  expect(await refused.output()).toMatch(
    /carillon: the database at 127\.0\.0\.1:\d+\/\S+ cannot be used: .*password/,
  );
  expect(await refused.output()).not.toContain('    at ');

  const other = await stage.begin('other', ['--database-url', 'mysql://localhost/x']);
  expect(await other.exitWithin(60_000)).toEqual({ code: 2, signal: null });
  expect(await other.output()).toMatch(/--database-url must begin with postgres:\/\//);

  // It may be starting at the same time, so it is waited for.
  expect(await unreachable.exitWithin(60_000)).toEqual({ code: 1, signal: null });
  const output = await unreachable.output();
  expect(output).toMatch(
    /carillon: the database at 127\.0\.0\.1:\d+\/\S+ does not answer: .*Check --database-url/,
  );
  expect(output).not.toContain(nowhere.password);
});
