/**
 * Workers in TypeScript, Python and Go and two servers on one PostgreSQL, while all of them are killed, stopped and cut off in an order
 * that follows from a seed: no job is lost, no run is executed twice at once, and what saved a checkpoint goes on from it (hazards 14, 20,
 * 22, 28, 33). CHAOS_SEED repeats an order. It is part of `npm run test:long`, with 5,000 jobs.
 */
import { SeededRandom } from '@carillon/foundation';
import { afterEach, expect, it } from 'vitest';
import { type Member, pause } from '../../faults/cluster/member.ts';
import { callApi, JobRefused, submitJobs } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { ServerStage } from '../../support/server-stage.ts';
import { judge } from './chaos/judge.ts';
import { Visitor } from './chaos/visitor.ts';
import { Visits } from './chaos/visits.ts';
import { findVisitingWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { endWorkers } from './worker-process.ts';

const JOBS = 5_000;
const ROUNDS = 12;
const SLOTS = 12;
const LIMIT_MS = 3_600_000;
const FINISH_MS_MAX = LIMIT_MS / 2;
const SEED = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const FLAGS = ['--worker-silent-seconds', '8', '--node-ttl-seconds', '3', '--shutdown-grace-seconds', '1'];
const RETRY = { max_retries: 100, retry: { strategy: 'fixed', delay_seconds: 0, jitter: false } };
/** A server that is stopped does not answer: the batch goes to the other one, with the same key. */
const ANSWER_MS_MAX = 4_000;
/** Between two events, so that most attempts of a second or two meet none. */
const GAP_MS = 2_000;

const found = await findVisitingWorkers();
const missing = found.filter(isLeftOut).map(nameOf);

let stage: ServerStage | undefined;
let visits: Visits | undefined;
let visitors: Visitor[] = [];

afterEach(async () => {
  await Promise.all(visitors.map((visitor) => visitor.end()));
  await endWorkers();
  await stage?.close();
  await visits?.stop();
});

it.skipIf(missing.length > 0)(
  `three languages, two servers, kills, stops and cut connections: 0 lost, 0 at once twice, checkpoints resumed${missing.map((name) => `; not without ${name}`).join('')}`,
  async () => {
    console.log(`chaos seed ${SEED}`);
    const random = new SeededRandom(SEED);
    stage = await ServerStage.open();
    visits = await new Visits().start();
    const { folder, postgres } = stage;
    const members = [await stage.member('one', FLAGS), await stage.member('two', FLAGS)];
    const key = await workerKey(members[0]!);
    const ports = members.map((member) => Number(new URL(member.process.address).port));
    visitors = await Promise.all(
      found.map((worker) =>
        Visitor.start({
          ...{ language: worker.language, program: programOf(worker), folder, key, slots: SLOTS },
          // Each begins with another server.
          ports: worker.language === 'python' ? ports.toReversed() : ports,
        }),
      ),
    );
    await eventually(
      async () => {
        const [row] = await postgres.query<{ count: number }>(
          `SELECT count(*)::int FROM workers WHERE worker_id LIKE '%@%' AND NOT dead`,
        );
        expect(row?.count).toBe(visitors.length);
      },
      { withinMs: 120_000 },
    );

    const events = Array.from({ length: ROUNDS }, () => round(random, members, visitors)).flat();
    const underWay: Promise<void>[] = [];
    const accepted: string[] = [];
    for (const [i, event] of events.entries()) {
      const upTo = Math.ceil((JOBS * (i + 1)) / events.length);
      const jobs = Array.from({ length: upTo - accepted.length }, () => job(random, visits!.port));
      accepted.push(...(await submit(members, jobs, `event-${i}`)));
      await pause(GAP_MS * (0.5 + random.next()));
      underWay.push(event());
    }
    await Promise.all(underWay);
    await Promise.all(members.map((member) => member.process.ready()));

    expect(new Set(accepted).size).toBe(JOBS);
    await eventually(async () => expect(await notSucceeded(accepted)).toEqual([]), {
      withinMs: FINISH_MS_MAX,
    });
    const results = await postgres.query<{ run_id: string; epoch: number; result: { started_at: number } }>(
      `SELECT run_id, epoch, result_text::jsonb AS result FROM job_runs WHERE status = 'SUCCESS'`,
    );
    expect(results).toHaveLength(JOBS);
    const begun = new Map(
      visits.attempts.map(({ runId, epoch, words }) => [`${runId} ${epoch}`, words[0]!.at]),
    );
    const told = results.filter(
      ({ run_id, epoch, result }) => begun.get(`${run_id} ${epoch}`) !== result.started_at,
    );
    expect(told).toEqual([]);
    const { wrong, resumed, fenced } = judge(visits.attempts, visitors);
    expect(wrong).toEqual([]);
    expect(resumed).toBeGreaterThan(0);
    expect([...members, ...visitors].flatMap(({ mishaps }) => mishaps)).toEqual([]);
    const by = Map.groupBy(visits.attempts, ({ visitor }) => visitor);
    expect([...by.keys()].sort()).toEqual(['go', 'python', 'typescript']);
    console.log(
      `seed ${SEED}: ${events.length} events, ${JOBS} jobs, ${visits.attempts.length} attempts ` +
        `(${[...by].map(([language, { length }]) => `${language} ${length}`).join(', ')}), ${resumed} resumed from a checkpoint, ` +
        `${fenced} words of stopped attempts refused`,
    );
  },
  LIMIT_MS,
);

type Event = () => Promise<void>;

/** Everything is done to everybody once, in an order of its own. What is done to one is done one after the other. */
function round(random: SeededRandom, members: readonly Member[], all: readonly Visitor[]): Event[] {
  const amount = () => random.next();
  const events = [
    ...all.flatMap((visitor) => [
      [visitor, visitor.kill.bind(visitor, 1_000 * amount())],
      // Some end before the silence is too long, some after it.
      [visitor, visitor.stop.bind(visitor, 1_000 + 12_000 * amount(), amount() < 0.5)],
      [visitor, visitor.cut.bind(visitor, 12_000 * amount())],
    ]),
    ...members.flatMap((member) => [
      [member, member.kill.bind(member, 3_000 * amount())],
      [member, member.pause.bind(member, 1_000 + 5_000 * amount())],
    ]),
  ] as [object, Event][];
  return shuffled(random, events).map(
    ([target, event]) =>
      () =>
        inTurn(target, event),
  );
}

const turns = new WeakMap<object, Promise<void>>();

function inTurn(target: object, event: Event): Promise<void> {
  const turn = (turns.get(target) ?? Promise.resolve()).then(event);
  turns.set(target, turn);
  return turn;
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  const rest = [...items];
  return items.map(() => rest.splice(random.below(rest.length), 1)[0]!);
}

function job(random: SeededRandom, port: number): object {
  const saves = random.next() < 0.6;
  const payload = { port, saves, to: saves ? 4 + random.below(8) : 1, step_ms: 100 + random.below(200) };
  return { name: saves ? 'visit in steps' : 'visit', handler: 'visit', payload, ...RETRY };
}

/** Through whichever server answers; sent again with its key, a batch is made once. */
async function submit(members: readonly Member[], jobs: readonly object[], key: string): Promise<string[]> {
  let turn = 0;
  return eventually(
    async () => {
      const member = members[turn++ % members.length]!;
      try {
        return await submitJobs(member.process, jobs, { idempotencyKey: key, withinMs: ANSWER_MS_MAX });
      } catch (error) {
        if (error instanceof JobRefused) expect.fail(error.message);
        throw error;
      }
    },
    { withinMs: 240_000 },
  );
}

async function workerKey({ process }: Member): Promise<string> {
  const { status, body } = await callApi<{ key: string }>(process, '/api/keys', {
    method: 'POST',
    body: { name: 'worker', grants: [{ namespace: '*', role: 'admin' }], scopes: ['workers.connect'] },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.key;
}

/** Jobs without exactly one success, with how their attempts ended. */
async function notSucceeded(accepted: readonly string[]): Promise<object[]> {
  return stage!.postgres.query(
    `SELECT a.job_id, array_agg(r.epoch || ' ' || r.status || ' ' || coalesce(r.error_message, '') ORDER BY r.epoch) AS attempts
      FROM unnest($1::uuid[]) AS a(job_id) LEFT JOIN job_runs r USING (job_id)
      GROUP BY a.job_id HAVING count(*) FILTER (WHERE r.status = 'SUCCESS') <> 1 LIMIT 5`,
    [accepted],
  );
}
