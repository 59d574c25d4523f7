/**
 * Random calls on the storage in memory and on PostgreSQL, in lock step: whatever one answers or shows, the other does too. The
 * simulation runs on the one and servers on the other, so a difference means that the simulation proves something else.
 *
 * CARILLON_DIFFERENTIAL_SEED plays the sequence of that seed, CARILLON_DIFFERENTIAL_SEQUENCES as many from there on.
 */
import type { WorkerId } from '@carillon/domain';
import { ManualClock, SeededRandom } from '@carillon/foundation';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  emptyTestDatabase,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import type { Call } from '../conformance/differential/call.ts';
import { CallPlayer, written } from '../conformance/differential/call-player.ts';
import {
  compareCalls,
  type Difference,
  type Pair,
  shorten,
} from '../conformance/differential/compare-storages.ts';
import { eventsOf, SEQUENCE_START_MS } from '../conformance/differential/digest.ts';
import { RandomCalls } from '../conformance/differential/random-calls.ts';
import { BASE_MS } from '../conformance/storage-under-test.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import type { PostgresStorage } from './postgres-storage.ts';

const CALLS_PER_SEQUENCE = 80;
const SEED = Number(process.env.CARILLON_DIFFERENTIAL_SEED ?? 1);
const SEQUENCES = Number(
  process.env.CARILLON_DIFFERENTIAL_SEQUENCES ?? (process.env.CARILLON_DIFFERENTIAL_SEED ? 1 : 8),
);
/** A second each, and more where one has to be shortened: this only ends a hang. */
const TIMEOUT_MS = 120_000 + SEQUENCES * 20_000;
const WORKERS = ['w-one', 'w-two'] as WorkerId[];
const NAMESPACES = ['team'];

describeEachPostgres('the storage in memory and the one on PostgreSQL', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    storage = openTestStorage(database.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await storage.close();
    await database.drop();
  });

  async function freshPair(): Promise<Pair> {
    await emptyTestDatabase(client);
    const one = new CallPlayer(new MemoryStorage({ clock: new ManualClock(BASE_MS) }));
    const other = new CallPlayer(storage);
    for (const player of [one, other]) await player.prepare(WORKERS, NAMESPACES);
    return { one, other };
  }

  /** Other databases of the server may have transactions under way, behind which events cannot be read yet. */
  async function readEvents(player: CallPlayer) {
    const { rows } = await client.query<{ xid: string }>('SELECT event_xid()::text AS xid');
    const wanted = Number(rows[0]!.xid);
    if (player.storage === storage)
      await eventually(async () => expect((await storage.events.end()).xid).toBeGreaterThanOrEqual(wanted), {
        withinMs: 60_000,
      });
    return eventsOf(player);
  }

  const replay = async (calls: readonly Call[]) =>
    compareCalls(await freshPair(), {
      ...{ next: (done) => calls[done], workers: WORKERS, everyCalls: 1, readEvents },
    });

  async function play(seed: number): Promise<Difference | undefined> {
    const pair = await freshPair();
    const random = new SeededRandom(seed);
    const calls = new RandomCalls({
      ...{ random, storage: pair.one.storage, workers: WORKERS, startMs: SEQUENCE_START_MS },
    });
    const next = (done: number) => (done < CALLS_PER_SEQUENCE ? calls.next() : undefined);
    return compareCalls(pair, { next, workers: WORKERS, everyCalls: 4, readEvents });
  }

  it(
    'answer and show the same after every call of a random sequence',
    async () => {
      for (let seed = SEED; seed < SEED + SEQUENCES; seed += 1) {
        const found = await play(seed);
        if (!found) continue;
        const { calls, where, one, other } = await shorten(found, replay);
        expect.fail(
          [
            `seed ${seed}: ${where} differs after ${calls.length} calls`,
            ...calls.map((call, i) => `${i + 1}. ${written(call)}`),
            `in memory:  ${written(one)}`,
            `PostgreSQL: ${written(other)}`,
          ].join('\n'),
        );
      }
    },
    TIMEOUT_MS,
  );
});
