/** Three servers under load are restarted one after the other: nothing is lost, nothing runs twice, and nobody waits for the silence of one that left. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { median } from '../../bench/median.ts';
import { percentile } from '../../bench/percentile.ts';
import { JobRefused, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { historyOf } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';
import { type Member, pause } from './cluster/member.ts';

const JOBS_PER_SECOND = 300;
const BATCH = 15;
const CALL_MS = 20;
const SETTLED_MS = 2_000;
const ACCEPTED_MS_MAX = 120_000;
/** What a server says when it or a neighbour left without releasing what it held: others then wait for its silence. */
const NOT_RELEASED = ['could not release the shards', 'took back the runs of dead workers'];
const FINISH = { withinMs: 120_000 };

let stage: ServerStage;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(() => stage.close());

/** Sends batches at a steady pace, each to the next server that answers, until it is told to stop; answers how many jobs. */
class Load {
  readonly #members: readonly Member[];
  readonly #sending = new Set<Promise<void>>();
  #running: Promise<void> | undefined;
  #isStopped = false;
  #batches = 0;
  repeats = 0;

  constructor(members: readonly Member[]) {
    this.#members = members;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<number> {
    this.#isStopped = true;
    await this.#running;
    await Promise.all(this.#sending);
    return this.#batches * BATCH;
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    while (!this.#isStopped) {
      const dueAt = startedAt + (this.#batches * BATCH * 1_000) / JOBS_PER_SECOND;
      await pause(Math.max(0, dueAt - performance.now()));
      const sending = this.#send(this.#batches).finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
      this.#batches += 1;
    }
  }

  async #send(batch: number): Promise<void> {
    const jobs = Array.from({ length: BATCH }, (_, i) => ({
      name: `rolling ${batch}.${i}`,
      payload: { url: stage.receiver.url(CALL_MS) },
    }));
    const giveUpAt = performance.now() + ACCEPTED_MS_MAX;
    for (let tries = 0; ; tries += 1) {
      const member = this.#members[(batch + tries) % this.#members.length]!;
      try {
        await submitJobs(member.process, jobs, { idempotencyKey: `batch-${batch}`, withinMs: 60_000 });
        return;
      } catch (error) {
        if (error instanceof JobRefused || performance.now() > giveUpAt) throw error;
        this.repeats += 1;
        await pause(20);
      }
    }
  }
}

it('three servers that are stopped and started one after the other under load lose nothing and double nothing', async () => {
  const { postgres, receiver } = stage;
  const members = await Promise.all(['a', 'b', 'c'].map((name) => stage.member(name)));
  const load = new Load(members);
  load.start();
  const left: ServerProcess[] = [];
  for (const member of members) {
    await pause(SETTLED_MS);
    left.push(member.process);
    await member.restart();
    await member.process.ready();
  }
  await pause(SETTLED_MS);
  const count = await load.stop();

  const rows = await eventually(async () => {
    const [row] = await postgres.query<{ open: number }>(
      'SELECT ((SELECT count(*) FROM due) + (SELECT count(*) FROM leases))::int AS open',
    );
    expect(row?.open).toBe(0);
    return historyOf(postgres, 'rolling');
  }, FINISH);
  const delays = rows.map((row) => row.createdAtMs - row.nominalAtMs).sort((a, b) => a - b);
  const p99Ms = percentile(delays, 0.99);
  console.log(
    `${count} jobs, start delay: median ${median(delays).toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ` +
      `max ${delays.at(-1)!.toFixed(0)} ms, ${load.repeats} batches sent again`,
  );
  expect(members.flatMap((member) => member.mishaps)).toEqual([]);
  expect(rows.filter((row) => row.status !== 'SUCCESS' || row.epoch !== 1)).toEqual([]);
  expect(rows).toHaveLength(count);
  expect(new Set(rows.map((row) => row.jobId)).size).toBe(count);
  expect(receiver.calls).toHaveLength(count);
  expect(new Set(receiver.calls.map((call) => call.runId)).size).toBe(count);
  for (const server of [...left, ...members.map((member) => member.process)]) {
    const output = await server.output();
    for (const line of NOT_RELEASED) expect(output).not.toContain(line);
  }
});
