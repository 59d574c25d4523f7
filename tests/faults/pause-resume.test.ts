/** What falls into a pause by a person was not wanted: it is skipped with one record, unless the job asks to catch up (hazard 19). */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { type HistoryRow, historyOf, wrongInstants } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';
import { pause } from './cluster/member.ts';

const EVERY_MS = 1_000;
const PAUSE_MS = 5_000;
const SOON = { withinMs: 120_000 };

const POLICIES = {
  plain: {},
  'catching up': { misfire: { policy: 'all', max_runs: 100, window_seconds: 3_600 } },
};
const NAMES = Object.keys(POLICIES);

let stage: ServerStage;
let server: ServerProcess;
let jobIds: string[];

beforeEach(async () => {
  stage = await ServerStage.open();
  [server] = await Promise.all([stage.launch('a'), stage.launch('b')]);
  const cron = { cron_expression: '* * * * * *', payload: { url: stage.receiver.url(5) } };
  jobIds = await submitJobs(
    server,
    Object.entries(POLICIES).map(([name, terms]) => ({ name, ...cron, ...terms })),
  );
});

afterEach(() => stage.close());

async function actOnAll(action: 'pause' | 'resume'): Promise<void> {
  for (const jobId of jobIds) {
    const { status } = await callApi(server, `/api/jobs/${jobId}/${action}`, { method: 'POST' });
    expect(status).toBe(200);
  }
}

/** Of every job, two occurrences that were due after the instant. */
async function untilSucceededAfter(ms: number): Promise<void> {
  for (const name of NAMES) {
    await eventually(async () => {
      const rows = await historyOf(stage.postgres, name);
      const done = rows.filter((row) => row.status === 'SUCCESS' && row.nominalAtMs > ms);
      expect(done.length).toBeGreaterThanOrEqual(2);
    }, SOON);
  }
}

it('what fell into the pause of a cron is skipped with one record that counts it, or caught up if the job asks for it', async () => {
  await untilSucceededAfter(0);
  await actOnAll('pause');
  const pausedMs = Date.now();
  await pause(PAUSE_MS);
  const resumedMs = Date.now();
  await actOnAll('resume');
  await untilSucceededAfter(Date.now());

  // Between these two the jobs certainly were paused.
  const isInPause = ({ nominalAtMs }: HistoryRow) => nominalAtMs > pausedMs && nominalAtMs < resumedMs;
  const countMin = Math.floor((resumedMs - pausedMs) / EVERY_MS);

  const plain = await historyOf(stage.postgres, 'plain');
  expect(wrongInstants(plain, EVERY_MS)).toEqual([]);
  // A machine that stands still for a while makes occurrences late, and those may be skipped for another reason.
  const skipped = plain.filter((row) => row.status === 'SKIPPED' && row.reason === 'paused');
  expect(skipped).toHaveLength(1);
  expect(skipped[0]?.occurrences).toBeGreaterThanOrEqual(countMin);
  expect(skipped[0]?.nominalAtMs).toBeLessThanOrEqual(pausedMs + EVERY_MS);
  expect(plain.filter((row) => row.status !== 'SKIPPED' && isInPause(row))).toEqual([]);

  const catchingUp = await historyOf(stage.postgres, 'catching up');
  expect(wrongInstants(catchingUp, EVERY_MS)).toEqual([]);
  // The schedule goes on: the latest occurrence may run just now.
  expect(catchingUp.filter(({ status }) => status !== 'SUCCESS' && status !== 'RUNNING')).toEqual([]);
  const late = catchingUp.filter(isInPause);
  expect(late.length).toBeGreaterThanOrEqual(countMin);
  for (const row of late) expect(row.createdAtMs).toBeGreaterThanOrEqual(resumedMs);
});
