/**
 * Three servers on one PostgreSQL, 20,000 jobs, and something killed, stopped or restarted every few seconds: nothing is
 * lost, nothing runs twice at once, and in the end the living hold all shards. CHAOS_SEED repeats an order of events.
 */
import { afterAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { fixedPort, processesOf } from '../support/processes.ts';
import { Receiver } from '../support/receiver.ts';
import { endServers } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { Chaos } from './cluster/chaos.ts';
import { unfinished, unownedShards, wrongCalls, wrongOccurrences, wrongOneOffs } from './cluster/judge.ts';
import { Member } from './cluster/member.ts';
import { Workload } from './cluster/workload.ts';

const ONE_OFFS = 20_000;
const RECURRING = 200;
const CHAOS_MS = 45_000;
const FINISH_MS_MAX = 240_000;
const SEED = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const FLAGS = ['--node-ttl-seconds', '3', '--worker-silent-seconds', '5', '--shutdown-grace-seconds', '3'];

afterAll(endServers);

it('three servers through kills, stops and database restarts: 0 lost, 0 at once twice, all shards with the living', async () => {
  const folder = makeTestFolder();
  const receiver = await new Receiver().start();
  const postgres = await OwnPostgres.start(folder, { isMigrated: true });
  try {
    const members = await startMembers(folder, postgres.url);
    const workload = new Workload({
      members,
      receiver,
      seed: SEED,
      oneOffs: ONE_OFFS,
      recurring: RECURRING,
      durationMs: CHAOS_MS,
    });
    const chaos = new Chaos({ members, postgres, seed: SEED });
    console.log(`chaos seed ${SEED}`);
    await Promise.all([workload.submit(), chaos.run(CHAOS_MS)]);

    await Promise.all(members.map((member) => member.process.ready()));
    const healedAt = performance.now();
    await eventually(async () => expect(await unfinished(postgres)).toEqual({}), { withinMs: FINISH_MS_MAX });
    const finishedMs = performance.now() - healedAt;

    await eventually(async () => expect(await unownedShards(postgres, members)).toEqual([]), {
      withinMs: 60_000,
    });
    expect(workload.acceptedOneOffs).toHaveLength(ONE_OFFS);
    const oneOffs = await wrongOneOffs(postgres, workload.acceptedOneOffs);
    expect(oneOffs.wrong).toEqual([]);
    expect(await wrongOccurrences(postgres, workload.acceptedRecurring, workload.grid)).toEqual([]);
    const { wrong, zombies } = await wrongCalls(postgres, receiver, members);
    expect(wrong).toEqual([]);
    expect(oneOffs.givenUp).toBeLessThan(ONE_OFFS / 1_000);

    const [again] = await postgres.query<{ count: number; late: number }>(
      'SELECT count(*)::int, count(late_report)::int AS late FROM job_runs WHERE epoch > 1 OR late_report IS NOT NULL',
    );
    await Promise.all(members.map((member) => member.stop()));
    await postgres.stop();
    expect(members.flatMap((member) => member.mishaps)).toEqual([]);
    expect(await processesOf(folder)).toEqual([]);
    console.log(
      `seed ${SEED}: ${JSON.stringify(chaos.counts)}, ${ONE_OFFS} one-offs, ${RECURRING} recurring, ` +
        `${receiver.calls.length} calls, ${again?.count} attempts again, ${again?.late} late reports refused, ` +
        `${zombies} fenced zombies, ${oneOffs.givenUp} given up, ${workload.repeats} batches sent again, finished ${Math.round(finishedMs)} ms after healing`,
    );
  } finally {
    await endServers();
    await postgres.stop();
    await receiver.stop();
  }
}, 900_000);

async function startMembers(folder: string, databaseUrl: string): Promise<Member[]> {
  const members: Member[] = [];
  for (const name of ['a', 'b', 'c']) {
    const flags = ['--database-url', databaseUrl, ...FLAGS];
    members.push(new Member({ name, folder, port: await fixedPort(), flags }));
  }
  await Promise.all(members.map((member) => member.process.ready()));
  return members;
}
