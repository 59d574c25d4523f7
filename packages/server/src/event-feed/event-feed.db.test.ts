/** The feed over a whole engine on PostgreSQL: what ran is told, live and to whoever comes later, each end once. */
import {
  type Caller,
  compareEventCursors,
  FIRST_EVENT_CURSOR,
  type RecordedEvent,
  SERVER,
} from '@carillon/domain';
import { silentLog, systemClock } from '@carillon/foundation';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeOldestPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import { type StartedEngine, startEngine } from '../start-engine.ts';
import { EventFeed } from './event-feed.ts';

const JOBS = 600;

describeOldestPostgres('the event feed', (server) => {
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

  it('tells nothing of a namespace that was removed and made again, on a server that holds its events too', async () => {
    const storage = openTestStorage(database.url);
    const feed = new EventFeed({
      ...{ store: storage.events, clock: systemClock, log: silentLog },
      listenersMax: 10,
    });
    const heard: RecordedEvent[] = [];
    const stream = feed.open(SERVER, { namespace: 'team' });
    const listening = (async () => {
      for await (const event of stream) heard.push(event);
    })();
    const hears = (kind: string, name: string) =>
      eventually(() => expect(heard.some((one) => one.kind === kind && one.job?.name === name)).toBe(true), {
        withinMs: 60_000,
      });
    try {
      const makeJob = (name: string) =>
        engine.operations.createJob({ name, handler: 'quick', payload: {}, namespace: 'team' });
      await stream.ready();
      await engine.operations.createNamespace({ name: 'team' });
      const { jobId } = await makeJob('secret plan');
      await hears('run.succeeded', 'secret plan');
      await engine.operations.deleteJob(jobId);
      await engine.operations.deleteNamespace('team');
      await restNames(database.url);
      await engine.operations.createNamespace({ name: 'team' });
      await makeJob('own work');
      await hears('run.succeeded', 'own work');
      const member: Caller = { ...SERVER, grants: [{ namespace: 'team', role: 'admin', ownOnly: false }] };
      const page = await feed.read(member, { filter: {}, after: undefined, limit: 100 });
      const resumed: RecordedEvent[] = [];
      for await (const event of feed.open(member, {}, heard[0]!.cursor)) {
        resumed.push(event);
        if (event.kind === 'run.succeeded' && event.job?.name === 'own work') break;
      }
      for (const events of [page.events, resumed]) {
        expect(new Set(events.map(({ job }) => job?.name))).toEqual(new Set(['own work']));
      }
    } finally {
      feed.close();
      await listening;
      await storage.close();
    }
  });
});

/** As if the namespaces that are gone had been removed long ago. */
async function restNames(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query('UPDATE removed_namespaces SET removed_at = 0');
  await client.end();
}
