/** Many dead letters of a job with a limit, redriven at once: its limit holds for them as for any of its runs. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { historyOf } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';

const LETTERS = 300;
const FINISH = { withinMs: 240_000 };

let stage: ServerStage;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

it(`${LETTERS} dead letters of a job with concurrency 1 are redriven: all run, one at a time`, async () => {
  const { postgres, receiver } = stage;
  const [server] = await Promise.all([stage.launch('a'), stage.launch('b')]);
  receiver.statusOf = () => 500;
  const [jobId = ''] = await submitJobs(server, [
    {
      name: 'limited',
      schedule_time: new Date(Date.now() + 24 * 3_600_000).toISOString(),
      max_retries: 0,
      max_concurrency: 100,
      payload: { url: receiver.url(5) },
    },
  ]);
  for (let i = 0; i < LETTERS; i += 1) await callApi(server, `/api/jobs/${jobId}/runNow`, { method: 'POST' });
  const letters = async () =>
    (await postgres.query<{ redriven_as: string | null }>('SELECT redriven_as FROM dead_letters')).map(
      (row) => row.redriven_as,
    );
  await eventually(async () => expect(await letters()).toHaveLength(LETTERS), FINISH);

  const { status } = await callApi(server, `/api/jobs/${jobId}`, {
    method: 'PATCH',
    body: { max_concurrency: 1 },
  });
  expect(status).toBe(200);
  receiver.statusOf = () => 200;
  receiver.calls.length = 0;
  const redriven = await callApi<{ redriven: number }>(server, '/api/dead-letters/redrive', {
    method: 'POST',
    body: { filter: { job_id: jobId } },
  });
  expect(redriven.body).toMatchObject({ redriven: LETTERS, refused: 0 });

  await eventually(async () => {
    const done = (await historyOf(postgres, 'limited')).filter((row) => row.status === 'SUCCESS');
    expect(done).toHaveLength(LETTERS);
  }, FINISH);
  const done = (await historyOf(postgres, 'limited')).filter((row) => row.status === 'SUCCESS');
  expect(new Set(done.map((row) => row.runId))).toEqual(new Set(await letters()));
  expect(receiver.calls).toHaveLength(LETTERS);
  const calls = receiver.calls.toSorted((a, b) => a.startedAt - b.startedAt);
  const together = calls.filter((call, i) => i > 0 && call.startedAt < calls[i - 1]!.endedAt);
  expect(together).toEqual([]);
});
