/**
 * Jobs that skip an occurrence while a run of theirs is alive, on two servers of which one leaves, politely or not. Whatever
 * became of the runs it held, every job goes on at its next occurrences, and what is skipped was skipped for a living run.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { type HistoryRow, historyOf, wrongInstants } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { Member } from './cluster/member.ts';

const JOBS = 40;
const EVERY_MS = 3_000;
/** Half of the jobs are done long before the next occurrence, half of them are not. */
const SHORT_MS = 500;
const LONG_MS = 4_000;
/** From when an outcome is stamped to when the other server can see it: far less than a short run leaves until the next occurrence. */
const RECORDED_MS_MAX = 2_000;
const SOON = { withinMs: 120_000 };
const FLAGS = ['--worker-silent-seconds', '4', '--node-ttl-seconds', '3', '--shutdown-grace-seconds', '1'];

let stage: ServerStage;
let jobIds: string[];

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

async function submit(member: Member): Promise<void> {
  const jobs = Array.from({ length: JOBS }, (_, i) => ({
    name: `skipping ${i}`,
    interval: `${EVERY_MS / 1_000}s`,
    overlap: 'skip',
    payload: { url: stage.receiver.url(i % 2 === 0 ? SHORT_MS : LONG_MS, `job-${i}`) },
  }));
  jobIds = await submitJobs(member.process, jobs);
}

/** Every job was called this often since the moment. */
async function untilCalledSince(sinceMs: number, times: number): Promise<void> {
  await eventually(() => {
    const counts = new Map<string, number>();
    for (const { path, startedAt } of stage.receiver.calls) {
      if (startedAt > sinceMs) counts.set(path, (counts.get(path) ?? 0) + 1);
    }
    const behind = Array.from({ length: JOBS }, (_, i) => i).filter((i) => {
      const path = new URL(stage.receiver.url(i % 2 === 0 ? SHORT_MS : LONG_MS, `job-${i}`)).pathname;
      return (counts.get(path) ?? 0) < times;
    });
    expect(behind, 'jobs that were not called').toEqual([]);
  }, SOON);
}

/** Skips at a moment at which no run of the job was open or alive. */
function unjustified(rows: readonly HistoryRow[]): string[] {
  const runs = Map.groupBy(
    rows.filter((row) => row.status !== 'SKIPPED'),
    (row) => row.runId,
  );
  const lives = [...runs.values()].map((attempts) => ({
    fromMs: attempts[0]!.nominalAtMs,
    toMs: Math.max(...attempts.map((row) => row.recordedAtMs)) + RECORDED_MS_MAX,
  }));
  return rows
    .filter((row) => row.status === 'SKIPPED' && row.reason === 'overlap')
    .filter(
      ({ createdAtMs }) => !lives.some(({ fromMs, toMs }) => fromMs <= createdAtMs && createdAtMs <= toMs),
    )
    .map((row) => `${row.jobId} skipped ${new Date(row.nominalAtMs).toISOString()} for no run`);
}

it('after a stop and after kill -9 every job goes on where the other server is, and no skip is without reason', async () => {
  const { postgres, receiver } = stage;
  const [a, b] = await Promise.all([stage.member('a', FLAGS), stage.member('b', FLAGS)]);
  await submit(a);
  await untilCalledSince(0, 1);

  await a.stop();
  await untilCalledSince(performance.now(), 2);
  await a.restart();
  await a.process.ready();
  await untilCalledSince(performance.now(), 1);

  await b.process.kill();
  await untilCalledSince(performance.now(), 2);

  for (const jobId of jobIds) await callApi(a.process, `/api/jobs/${jobId}/pause`, { method: 'POST' });
  await eventually(async () => {
    expect(await postgres.query('SELECT FROM leases')).toEqual([]);
    expect(await postgres.query('SELECT FROM due WHERE NOT held')).toEqual([]);
  }, SOON);
  const byJob = Map.groupBy(await historyOf(postgres, 'skipping'), (row) => row.jobId);
  expect(byJob.size).toBe(JOBS);
  for (const rows of byJob.values()) {
    expect(wrongInstants(rows, EVERY_MS)).toEqual([]);
    expect(unjustified(rows)).toEqual([]);
    const verdicts = Map.groupBy(rows, (row) => row.runId).values();
    for (const attempts of verdicts) expect(attempts.at(-1)?.status).toMatch(/^(SUCCESS|SKIPPED)$/);
  }
  expect(receiver.overlaps()).toEqual([]);
  const skipped = [...byJob.values()].flat().filter((row) => row.status === 'SKIPPED');
  console.log(
    `${receiver.calls.length} calls, skipped: ${[...Map.groupBy(skipped, (row) => row.reason)].map(([reason, rows]) => `${rows.length} ${reason}`)}`,
  );
});
