/** Fair shares between tenants: one with thousands of waiting runs does not make the others wait behind them. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { historyOf } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import { pause } from './cluster/member.ts';

const SLOTS = 50;
const WAITING = 4_000;
const SINGLES = 20;
/** Far fewer than wait. A claim takes so many as there are slots, and how many claims begin before a job is seen is a matter of speed. */
const BEFORE_MAX = 5 * SLOTS;
const SOON = { withinMs: 120_000 };

let stage: ServerStage;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

it.each([
  {
    title: 'single jobs of one user start with the next free slots while another has thousands waiting',
    busyUser: () => 'busy',
    namespace: 'default',
  },
  {
    title: 'single jobs of one namespace do so while another has thousands waiting, each of another user',
    busyUser: (i: number) => `busy-${i}`,
    namespace: 'quiet',
  },
])('$title', async ({ busyUser, namespace }) => {
  const { postgres, receiver } = stage;
  const server = await stage.launch('server', ['--executor-slots', String(SLOTS)]);
  await callApi(server, '/api/namespaces', { method: 'POST', body: { name: 'quiet' } });
  const payload = { url: receiver.url(500, 'busy') };
  for (let i = 0; i < WAITING; i += 1_000)
    await submitJobs(
      server,
      Array.from({ length: 1_000 }, (_, j) => ({ name: `busy ${i + j}`, user_id: busyUser(i + j), payload })),
    );
  await eventually(() => expect(receiver.calls.length).toBeGreaterThan(2 * SLOTS), SOON);

  for (let i = 0; i < SINGLES; i += 1) {
    await submitJobs(server, [
      { name: `single ${i}`, namespace, user_id: 'single', payload: { url: receiver.url(10, 'single') } },
    ]);
    // At no fixed distance from the ends of the busy runs, which come in waves.
    await pause(50 + 37 * (i % 7));
  }
  const singles = await eventually(async () => {
    const rows = await historyOf(postgres, 'single');
    expect(rows.map((row) => row.status)).toEqual(Array.from({ length: SINGLES }, () => 'SUCCESS'));
    return rows;
  }, SOON);
  const [waiting] = await postgres.query<{ count: number }>('SELECT count(*)::int FROM due');

  const started = await historyOf(postgres, 'busy');
  const between = singles.map(
    (single) =>
      started.filter((row) => row.createdAtMs > single.nominalAtMs && row.createdAtMs < single.createdAtMs)
        .length,
  );
  console.log(`runs of the busy user that started before each single one: ${between.join(' ')}`);
  expect(Math.max(...between)).toBeLessThanOrEqual(BEFORE_MAX);
  expect(waiting?.count, 'the test is about a backlog, and there was none at its end').toBeGreaterThan(
    WAITING / 10,
  );
});

it('a namespace whose runs never end leaves slots to another (DISP-8)', async () => {
  const { postgres, receiver } = stage;
  const writer = await stage.launch('writer', ['--roles', 'gateway']);
  await callApi(writer, '/api/namespaces', { method: 'POST', body: { name: 'quiet' } });
  // It starts when there are two namespaces: one that runs looks for them every few seconds.
  const server = await stage.launch('server', ['--executor-slots', '32']);
  await submitJobs(
    server,
    Array.from({ length: 100 }, (_, i) => ({
      ...{ name: `busy ${i}`, timeout_seconds: 86_400, payload: { url: receiver.url(3_600_000, 'busy') } },
    })),
  );
  await eventually(() => expect(receiver.calls).toHaveLength(30), SOON);
  for (let i = 0; i < 5; i += 1) {
    const name = `single ${i}`;
    await submitJobs(server, [{ name, namespace: 'quiet', payload: { url: receiver.url(10, 'single') } }]);
  }
  await eventually(async () => {
    const rows = await historyOf(postgres, 'single');
    expect(rows.map((row) => row.status)).toEqual(Array.from({ length: 5 }, () => 'SUCCESS'));
  }, SOON);
  expect(receiver.tagged('busy')).toHaveLength(30);
});
