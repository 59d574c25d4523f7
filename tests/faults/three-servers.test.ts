/** Three complete servers on one database take jobs like one: whoever was asked, everything starts, once, and about as soon. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { historyOf, median } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';
import { pause } from './cluster/member.ts';

const JOBS = 120;
const GAP_MS = 20;
const PLANNED_MS = 1_500;
const SOON = { withinMs: 120_000 };
/** What a lost hint costs is a sweep of a second: a median of 500 ms and more. */
const FACTOR = 3;
const SLACK_MS = 200;

let stage: ServerStage;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

/** Every second job for now, every other planned, each made on the next server; answers how late their calls came. */
async function startDelays(tag: string, servers: readonly ServerProcess[]): Promise<number[]> {
  const { receiver, postgres } = stage;
  const dueAt: number[] = [];
  for (let i = 0; i < JOBS; i += 1) {
    const name = `${tag}-${i}-`;
    const isPlanned = i % 2 === 0;
    const dueInMs = isPlanned ? PLANNED_MS + i : 0;
    dueAt.push(performance.now() + dueInMs);
    const job = { name, payload: { url: receiver.url(5, name) } };
    const plan = { schedule_time: new Date(Date.now() + dueInMs).toISOString() };
    await submitJobs(servers[i % servers.length]!, [isPlanned ? { ...job, ...plan } : job]);
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
  return delays;
}

it('jobs made on any of three servers all start, none twice, about as soon as with one', async () => {
  const first = await stage.launch('a');
  const alone = await startDelays('alone', [first]);
  const others = await Promise.all([stage.launch('b'), stage.launch('c')]);
  const together = await startDelays('together', [first, ...others]);
  expect(stage.receiver.calls).toHaveLength(2 * JOBS);
  const workers = new Set((await historyOf(stage.postgres, 'together')).map((row) => row.executorId));
  const [one, three] = [median(alone), median(together)];
  console.log(`median start delay with one server ${one.toFixed(1)} ms, with three ${three.toFixed(1)} ms`);
  expect(three).toBeLessThan(FACTOR * one + SLACK_MS);
  // Else this would be the test of one server.
  expect(workers.size).toBeGreaterThan(1);
});
