/**
 * The table of waiting runs locked by somebody while everything else works: no run can be claimed and no outcome recorded. The
 * server tells so and stays answerable: metrics come at once, readiness names the reason, and the log stays short.
 */
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 120_000 };
const RUNS = 60;
/** Far less than a statement may take; a busy machine takes its share. */
const SCRAPE_MS_MAX = 10_000;
const CLAIMS = /no run could be claimed for \d+ s: the database does not answer claims/;

const LOCKED = 'outcomes wait for what somebody holds locked';

let stage: ServerStage;
let locker: pg.Client;

beforeEach(async () => {
  stage = await ServerStage.open();
  locker = new pg.Client({ connectionString: stage.postgres.url, application_name: 'locker' });
  await locker.connect();
});

afterEach(async () => {
  await locker.end();
  await stage.close();
});

async function metrics(server: ServerProcess): Promise<string> {
  const headers = { authorization: `Bearer ${await server.adminKey()}` };
  const signal = AbortSignal.timeout(SCRAPE_MS_MAX);
  return (await fetch(`${server.address}/metrics`, { headers, signal })).text();
}

async function connectionsTold(server: ServerProcess): Promise<number> {
  const lines = (await metrics(server)).matchAll(/^carillon_database_connections\{.*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function lockBacklog(): Promise<void> {
  await locker.query('BEGIN; LOCK TABLE due IN ACCESS EXCLUSIVE MODE');
}

async function untilNotReady(server: ServerProcess): Promise<void> {
  await eventually(async () => {
    const { status, reasons } = await server.readiness();
    expect(status).toBe(503);
    expect(reasons.join()).toMatch(CLAIMS);
  }, SOON);
}

it('a server that was busy answers for its metrics, says that no run can be claimed, and logs it once', async () => {
  const server = await stage.launch('server', ['--log-level', 'info']);
  await eventually(async () => {
    const [row] = await stage.postgres.query(
      `SELECT count(*)::int AS open FROM pg_stat_activity WHERE application_name LIKE 'carillon%'`,
    );
    expect({ open: await connectionsTold(server) }).toEqual(row);
  }, SOON);
  const gateway = await stage.launch('gateway', ['--roles', 'gateway']);
  const payload = { url: stage.receiver.url(2_000, 'run') };
  await submitJobs(
    server,
    Array.from({ length: RUNS }, (_, i) => ({ name: `job ${i}`, payload, max_retries: 0 })),
  );
  await eventually(() => expect(stage.receiver.inProgress).toHaveLength(RUNS), SOON);
  await lockBacklog();
  const lockedAt = performance.now();

  expect(await metrics(server)).toContain('carillon_runs_running');
  await untilNotReady(server);
  expect(await metrics(server)).toContain('carillon_outcomes_unrecorded');
  expect((await gateway.readiness()).status).toBe(200);
  // Held for a while longer: what is told again and again would be told many times by then.
  await locker.query('SELECT pg_sleep(10)');
  await untilNotReady(server);

  const look = await eventually(async () => {
    const line = (await server.output()).split('\n').find((text) => text.includes(LOCKED)) ?? '{}';
    const facts = JSON.parse(line) as { look: string };
    expect(facts).toMatchObject({ unrecorded: RUNS, look: expect.stringContaining('pg_locks') });
    return facts.look;
  }, SOON);
  expect((await stage.postgres.query(look))[0]).toMatchObject({ application_name: 'locker' });
  await locker.query('COMMIT');
  const lockedMs = performance.now() - lockedAt;
  await server.ready();
  await eventually(async () => {
    const [row] = await stage.postgres.query(
      `SELECT count(*)::int AS runs FROM job_runs WHERE status = 'SUCCESS'`,
    );
    expect(row).toEqual({ runs: RUNS });
  }, SOON);
  // It is told a moment after the database has it.
  const output = await eventually(async () => {
    const said = await server.output();
    expect(said).toContain('every outcome that waited is recorded');
    return said;
  }, SOON);
  const told = output.split(LOCKED).length - 1;
  expect(told).toBeLessThanOrEqual(1 + Math.floor(lockedMs / 30_000));
  expect(output.split('every outcome that waited is recorded')).toHaveLength(2);
  expect(output).not.toContain('cannot be recorded');
});

it('a server that was idle says that no run can be claimed, and is ready again when it can', async () => {
  const server = await stage.launch('server');
  await lockBacklog();
  await untilNotReady(server);
  await locker.query('COMMIT');
  await server.ready();
});
