/** A backlog of tens of thousands of runs stands before nothing: schedules fire at their instants, and urgent runs start first. */
import { type JobId, occurrenceRunId } from '@carillon/domain';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { median } from '../../bench/median.ts';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { type HistoryRow, historyOf, wrongInstants } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';

const WAITING = 20_000;
const BATCH = 1_000;
const EVERY_MS = 2_000;
const OCCURRENCES = 10;
const SOON = { withinMs: 180_000 };

let stage: ServerStage;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

it('urgent schedules fire at their instants and get slots before a backlog of less urgent runs', async () => {
  const { postgres, receiver } = stage;
  const server = await stage.launch('server');
  const backlogFromMs = Date.now();
  for (let i = 0; i < WAITING; i += BATCH) {
    const jobs = Array.from({ length: BATCH }, (_, j) => ({
      name: `backlog ${i + j}`,
      priority: 'low',
      payload: { url: receiver.url(1_000 + (j % 1_000), 'backlog') },
    }));
    await submitJobs(server, jobs);
  }
  const crons = (['high', 'medium'] as const).map((priority) => ({
    name: `cron ${priority}`,
    priority,
    cron_expression: '*/2 * * * * *',
    payload: { url: receiver.url(10, `cron-${priority}`) },
  }));
  const [highId = '', mediumId = ''] = await submitJobs(server, crons);

  const all = await eventually(async () => {
    const rows = Map.groupBy(await historyOf(postgres, 'cron'), (row) => row.jobId);
    for (const jobId of [highId, mediumId])
      expect(rows.get(jobId)?.length ?? 0).toBeGreaterThanOrEqual(OCCURRENCES);
    return rows;
  }, SOON);
  const [waiting] = await postgres.query<{ count: number }>(
    'SELECT count(*)::int FROM due WHERE priority = 0',
  );

  const backlog = await historyOf(postgres, 'backlog');
  for (const [priority, jobId] of Object.entries({ high: highId, medium: mediumId })) {
    const rows = all.get(jobId) ?? [];
    expect(rows.map((row) => row.status)).toEqual(rows.map(() => 'SUCCESS'));
    expect(wrongInstants(rows, EVERY_MS)).toEqual([]);
    expect(rows.map((row) => row.runId)).toEqual(
      rows.map((row) => occurrenceRunId(jobId as JobId, row.nominalAtMs)),
    );
    const between = rows.map((row) => startedBetween(backlog, row));
    const delays = rows.map((row) => Math.round(row.createdAtMs - row.nominalAtMs));
    console.log(
      `${priority}: claimed after ${delays.join(' ')} ms and ${between.join(' ')} runs of the backlog`,
    );
    // Without precedence all that waited at its instant is started first. How many are depends on how late it fires, which is a
    // matter of how busy the machine is: so each is compared with what waited then.
    const overtaken = rows.map((row, i) => 1 - (between[i] ?? 0) / waitedAt(backlog, row.nominalAtMs));
    expect(Math.min(...overtaken)).toBeGreaterThan(0.75);
    expect(median(overtaken)).toBeGreaterThan(0.9);
  }
  expect(waiting?.count, 'the test is about a backlog, and there was none at its end').toBeGreaterThan(
    WAITING / 10,
  );
  console.log(
    `${backlog.length} runs of the backlog ended in ${Date.now() - backlogFromMs} ms, ${waiting?.count} wait`,
  );
});

function waitedAt(backlog: readonly HistoryRow[], atMs: number): number {
  return WAITING - backlog.filter(({ createdAtMs }) => createdAtMs <= atMs).length;
}

/** Runs of the backlog that were claimed after the instant of the row and before the row. */
function startedBetween(backlog: readonly HistoryRow[], row: HistoryRow): number {
  return backlog.filter(({ createdAtMs }) => createdAtMs > row.nominalAtMs && createdAtMs < row.createdAtMs)
    .length;
}
