/** Three complete servers on one database take jobs like one: whoever was asked, everything starts, once, and about as soon. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { median } from '../../bench/median.ts';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { historyOf } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';
import { pause } from './cluster/member.ts';

const JOBS = 60;
const GAP_MS = 30;
const PLANNED_MS = 1_500;
const SOON = { withinMs: 120_000 };
/** Where the hints get lost and nobody looks in time, the median is a multiple of this. */
const FACTOR = 3;
const SLACK_MS = 100;

let stage: ServerStage;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

/** One job after the other, each made on the next server; answers how late the median of their calls came. */
async function medianDelay(tag: string, servers: readonly ServerProcess[], dueInMs: number): Promise<number> {
  const { receiver, postgres } = stage;
  const dueAt: number[] = [];
  for (let i = 0; i < JOBS; i += 1) {
    const name = `${tag}-${i}-`;
    const plan = dueInMs > 0 && { schedule_time: new Date(Date.now() + dueInMs).toISOString() };
    dueAt.push(performance.now() + dueInMs);
    const job = { name, payload: { url: receiver.url(5, name) }, ...plan };
    await submitJobs(servers[i % servers.length]!, [job]);
    await pause(GAP_MS);
  }
  const delays = await eventually(
    () =>
      dueAt.map((at, i) => {
        const calls = receiver.tagged(`${tag}-${i}-`);
        expect(calls.map((call) => [call.answered, call.epoch])).toEqual([[true, 1]]);
        return calls[0]!.startedAt - at;
      }),
    SOON,
  );
  await eventually(async () => {
    const rows = await historyOf(postgres, tag);
    expect(rows.map((row) => row.status)).toEqual(dueAt.map(() => 'SUCCESS'));
  }, SOON);
  return median(delays);
}

/** Apart from each other: whoever looks for planned runs finds those for now too. */
async function medianDelays(tag: string, servers: readonly ServerProcess[]) {
  return {
    now: await medianDelay(`${tag}-now`, servers, 0),
    planned: await medianDelay(`${tag}-planned`, servers, PLANNED_MS),
  };
}

it('jobs made on any of three servers all start, none twice, about as soon as with one', async () => {
  const first = await stage.launch('a');
  const alone = await medianDelays('alone', [first]);
  const others = await Promise.all([stage.launch('b'), stage.launch('c')]);
  const together = await medianDelays('together', [first, ...others]);
  expect(stage.receiver.calls).toHaveLength(4 * JOBS);
  const workers = new Set((await historyOf(stage.postgres, 'together')).map((row) => row.executorId));
  for (const kind of ['now', 'planned'] as const) {
    const [one, three] = [alone[kind], together[kind]];
    console.log(
      `median start delay of jobs (${kind}): one server ${one.toFixed(1)} ms, three ${three.toFixed(1)} ms`,
    );
    expect(three).toBeLessThan(FACTOR * one + SLACK_MS);
  }
  // Else this would be the test of one server.
  expect(workers.size).toBeGreaterThan(1);
});
