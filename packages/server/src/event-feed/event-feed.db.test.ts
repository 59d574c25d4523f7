/** The feed over a whole engine on PostgreSQL: what ran is told, live and to whoever comes later, each end once. */
import { compareEventCursors, FIRST_EVENT_CURSOR, type RecordedEvent } from '@carillon/domain';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { type StartedEngine, startEngine } from '../start-engine.ts';

const JOBS = 600;

describeEachPostgres('the event feed', (server) => {
  let database: TestDatabase;
  let engine: StartedEngine;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    engine = await startEngine({
      databaseUrl: database.url,
      handlers: {
        quick: async () => undefined,
        broken: async () => {
          throw new Error('no');
        },
      },
    });
  });

  afterAll(async () => {
    await engine.stop();
    await database.drop();
  });

  it('tells of every job and of every end of a run exactly once, live and again from the start', async () => {
    const stream = engine.operations.watchEvents({ filter: { kinds: ['job', 'run'] } });
    const live: RecordedEvent[] = [];
    const listening = (async () => {
      for await (const event of stream) live.push(event);
    })();
    await eventually(
      async () => {
        await engine.operations.createJob({ name: 'first', handler: 'quick', payload: {} });
        expect(live.length).toBeGreaterThan(0);
      },
      { withinMs: 60_000 },
    );
    const inputs = Array.from({ length: JOBS }, (_, i) => ({
      name: `job ${i}`,
      handler: i % 10 === 0 ? 'broken' : 'quick',
      payload: {},
      ...(i % 10 === 0 && { maxRetries: 0 }),
    }));
    await Promise.all(inputs.map((input) => engine.operations.createJob(input)));
    const countOf = (events: readonly RecordedEvent[], kind: string) =>
      events.filter((event) => event.kind === kind && event.job?.name.startsWith('job ')).length;
    await eventually(() => expect(countOf(live, 'run.dead_lettered')).toBe(JOBS / 10), { withinMs: 60_000 });
    await eventually(() => expect(countOf(live, 'run.succeeded')).toBe(JOBS - JOBS / 10), {
      withinMs: 60_000,
    });
    expect(countOf(live, 'job.created')).toBe(JOBS);
    expect(countOf(live, 'run.failed')).toBe(JOBS / 10);
    stream.close();
    await listening;

    const again: RecordedEvent[] = [];
    const later = engine.operations.watchEvents({
      filter: { kinds: ['job', 'run'] },
      after: FIRST_EVENT_CURSOR,
    });
    for await (const event of later) {
      again.push(event);
      if (compareEventCursors(event.cursor, live.at(-1)!.cursor) === 0) break;
    }
    const keys = (events: readonly RecordedEvent[]) =>
      events.map(({ cursor, kind }) => `${cursor.xid}-${cursor.seq}-${cursor.index} ${kind}`);
    const [replayed, told] = [keys(again), keys(live)];
    expect(new Set(replayed).size).toBe(replayed.length);
    expect(replayed.slice(replayed.indexOf(told[0]!))).toEqual(told);
  });
});
