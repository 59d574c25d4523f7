/**
 * One installation of several processes, each with some of the roles. Everything works across them, and without waiting for
 * a sweep: hints cross processes. Without hints it is slower and still everything works.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { median } from '../../bench/median.ts';
import { callApi, runsOf, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { historyOf, wrongInstants } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';
import { pause } from './cluster/member.ts';

const JOBS = 50;
const SOON = { withinMs: 120_000 };
/** Processes look for what nobody told them of once a second: without hints the median of the delays is about half of that longer. */
const PROMPT_MS = 300;
/** On a machine so busy that everything takes longer: how much of the delay without hints is left with them, at most. */
const PROMPT_SHARE = 0.8;
const CUT_EVERY_MS = 50;

let stage: ServerStage;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

const far = () => new Date(Date.now() + 24 * 3_600_000).toISOString();

/** Posts jobs one by one; answers the delays from each request to its call. */
async function postJobs(gateway: ServerProcess, tag: string): Promise<number[]> {
  const postedAt: number[] = [];
  for (let i = 0; i < JOBS; i += 1) {
    const name = `${tag}-now-${i}`;
    postedAt.push(performance.now());
    await submitJobs(gateway, [{ name, payload: { url: stage.receiver.url(1, name) } }]);
    await pause(10 + 7 * (i % 13));
  }
  return await eventually(
    () =>
      postedAt.map((at, i) => {
        const calls = stage.receiver.tagged(`${tag}-now-${i}`);
        expect(calls.map((call) => call.answered)).toEqual([true]);
        return calls[0]!.startedAt - at;
      }),
    SOON,
  );
}

async function runNow(gateway: ServerProcess, tag: string): Promise<void> {
  const name = `${tag}-asked`;
  const payload = { url: stage.receiver.url(1, name) };
  const [jobId = ''] = await submitJobs(gateway, [{ name, schedule_time: far(), payload }]);
  expect((await callApi(gateway, `/api/jobs/${jobId}/runNow`, { method: 'POST' })).status).toBe(202);
  await eventually(() => expect(stage.receiver.tagged(name)).toHaveLength(1), SOON);
}

/** The call would last for ten minutes. */
async function cancelRunning(gateway: ServerProcess, tag: string): Promise<void> {
  const name = `${tag}-cancelled`;
  const payload = { url: stage.receiver.url(600_000, name) };
  const [jobId = ''] = await submitJobs(gateway, [{ name, payload, timeout_seconds: 900 }]);
  await eventually(() => expect(stage.receiver.tagged(name)).toHaveLength(1), SOON);
  expect((await callApi(gateway, `/api/jobs/${jobId}`, { method: 'DELETE' })).status).toBe(200);
  await eventually(async () => {
    expect((await runsOf(gateway, jobId)).map(({ status }) => status)).toEqual(['CANCELLED']);
  }, SOON);
  expect(stage.receiver.tagged(name)).toMatchObject([{ answered: false, endedAt: expect.any(Number) }]);
  expect(stage.receiver.tagged(name)[0]?.endedAt).toBeLessThan(Number.POSITIVE_INFINITY);
}

async function retry(gateway: ServerProcess, tag: string): Promise<void> {
  const name = `${tag}-retried`;
  const payload = { url: stage.receiver.url(1, name) };
  const job = { name, payload, max_retries: 3, retry: { strategy: 'fixed', delay_seconds: 1 } };
  const [jobId = ''] = await submitJobs(gateway, [job]);
  await eventually(async () => {
    const runs = await runsOf(gateway, jobId);
    expect(runs.map((run) => [run.status, run.attempt_number])).toEqual([
      ['SUCCESS', 2],
      ['FAILED', 1],
    ]);
  }, SOON);
}

/** Everything that goes from one process to another, all at the same time as a cron of every second. */
async function exercise(gateway: ServerProcess, tag: string): Promise<{ delays: number[] }> {
  const payload = { url: stage.receiver.url(1, `${tag}-cron`) };
  const [cronId = ''] = await submitJobs(gateway, [
    { name: `${tag}-cron`, cron_expression: '* * * * * *', payload },
  ]);
  const [delays] = await Promise.all([
    postJobs(gateway, tag),
    runNow(gateway, tag),
    cancelRunning(gateway, tag),
    retry(gateway, tag),
  ]);
  const rows = await eventually(async () => {
    const found = await historyOf(stage.postgres, `${tag}-cron`);
    expect(found.length).toBeGreaterThanOrEqual(4);
    return found;
  }, SOON);
  expect((await callApi(gateway, `/api/jobs/${cronId}/pause`, { method: 'POST' })).status).toBe(200);
  expect(wrongInstants(rows, 1_000)).toEqual([]);
  expect(rows.map((row) => row.status)).toEqual(rows.map(() => 'SUCCESS'));
  await eventually(async () => {
    const once = await historyOf(stage.postgres, `${tag}-now`);
    expect(once.map((row) => [row.status, row.epoch])).toEqual(once.map(() => ['SUCCESS', 1]));
    expect(once).toHaveLength(JOBS);
  }, SOON);
  return { delays };
}

/** Ends every connection over which hints arrive, again and again, while something is done; answers how many it ended. */
async function withoutHints(action: () => Promise<unknown>): Promise<number> {
  let cuts = 0;
  let isDone = false;
  const acting = action().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const [row] = await stage.postgres.query<{ count: number }>(
      `SELECT count(pg_terminate_backend(pid))::int FROM pg_stat_activity WHERE application_name = 'carillon signals'`,
    );
    cuts += row?.count ?? 0;
    await Promise.race([pause(CUT_EVERY_MS), acting.catch(() => undefined)]);
  }
  await acting;
  return cuts;
}

describe.each([{ roles: ['gateway', 'scheduler', 'dispatcher'] }, { roles: ['gateway', 'engine'] }])(
  'one process each for $roles',
  ({ roles }) => {
    it('runs, cancels and retries what the gateway was sent without waiting for a sweep, and without hints all the same', async () => {
      stage.receiver.statusOf = ({ path, attempt }) =>
        path.endsWith('-retried') && attempt === 1 ? 500 : 200;
      const [gateway] = await Promise.all(roles.map((role) => stage.launch(role, ['--roles', role])));
      if (!gateway) throw new Error('there is no gateway');

      const { delays } = await exercise(gateway, 'hints');
      let slow: number[] = [];
      const cuts = await withoutHints(async () => {
        slow = (await exercise(gateway, 'cut')).delays;
      });
      console.log(`${roles}: median ${shown(delays)} ms, without hints ${shown(slow)} ms`);
      expect(median(delays)).toBeLessThan(Math.max(PROMPT_MS, PROMPT_SHARE * median(slow)));
      expect(cuts).toBeGreaterThanOrEqual(2 * roles.length);
    });
  },
);

function shown(delays: readonly number[]): string {
  return median(delays).toFixed(1);
}
