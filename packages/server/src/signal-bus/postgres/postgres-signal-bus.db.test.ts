import { randomUUID } from 'node:crypto';
import type { JobId, RunId } from '@carillon/domain';
import { type Log, ManualClock, silentLog, systemClock, systemRandom } from '@carillon/foundation';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { StallableProxy } from '../../../../../tests/support/stallable-proxy.ts';
import { describeSignalBus } from '../conformance.ts';
import { MemorySignalBus } from '../memory-signal-bus.ts';
import type { SignalBus, Signals } from '../signal-bus.ts';
import { PostgresSignalBus, type PostgresSignalBusOptions } from './postgres-signal-bus.ts';
import { NOTIFICATIONS_MAX, unpackSignals } from './signal-format.ts';
import * as statements from './signals.sql.ts';
import { ENTRIES_MAX } from './waiting-signals.ts';

const SOON = { withinMs: 60_000 };
const NAMES = [
  'runs-open',
  'shards-due',
  'slots-freed',
  'cancel-requested',
  'workers-asked',
  'events-recorded',
] as const satisfies (keyof Signals)[];
const LANE = { part: 1, priority: 'medium', handlerKey: 2, tenant: 3, atMs: 4 } as const;
const ids = <Id extends string>(count: number) => Array.from({ length: count }, () => randomUUID() as Id);

/** A log that keeps what it is told. */
function listeningLog() {
  const told = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  return { ...silentLog, ...told } satisfies Log;
}

/** Everything a bus delivers from now on, in order. */
function heardBy(bus: SignalBus): { name: keyof Signals; signal: unknown }[] {
  const heard: { name: keyof Signals; signal: unknown }[] = [];
  for (const name of NAMES) bus.on(name, (signal) => heard.push({ name, signal }));
  return heard;
}

describeEachPostgres('the signal bus', (server) => {
  let database: TestDatabase;
  let client: pg.Client;
  const open: PostgresSignalBus[] = [];

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.stop()));
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  async function start(over: Partial<PostgresSignalBusOptions> = {}): Promise<PostgresSignalBus> {
    const { log = silentLog } = over;
    const bus = new PostgresSignalBus({
      ...{ url: database.url, statementTimeoutMs: 60_000, connectTimeoutMs: 60_000 },
      ...{ clock: systemClock, random: systemRandom, log, local: new MemorySignalBus({ log }) },
      ...over,
    });
    open.push(bus);
    await bus.start();
    return bus;
  }

  async function backends(): Promise<number[]> {
    const { rows } = await client.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'carillon signals'`,
    );
    return rows.map(({ pid }) => pid);
  }

  async function terminate(pids: readonly number[]): Promise<void> {
    await client.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [pids]);
  }

  /** From another database: PostgreSQL refuses to close the current one to connections. */
  async function allowConnections(allowed: boolean): Promise<void> {
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query(
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} ALLOW_CONNECTIONS ${allowed}`,
    );
    await admin.end();
  }

  /** What a plain listener on the channel hears; it also says things itself. */
  async function overhear(): Promise<{ payloads: string[]; notify(payload: string): Promise<void> }> {
    const payloads: string[] = [];
    const hear = ({ payload = '' }: pg.Notification) => payloads.push(payload);
    await client.query(`LISTEN ${statements.SIGNAL_CHANNEL}`);
    client.on('notification', hear);
    stopOverhearing = async () => {
      client.off('notification', hear);
      await client.query('UNLISTEN *');
    };
    const notify = async (payload: string) => {
      await client.query('SELECT pg_notify($1, $2)', [statements.SIGNAL_CHANNEL, payload]);
    };
    return { payloads, notify };
  }
  let stopOverhearing = async () => {};
  afterEach(() => stopOverhearing());

  it('speaks with a statement that can be prepared', async () => {
    const { name, text } = statements.NOTIFY_ALL;
    await client.query(`PREPARE ${name}_check AS ${text}`);
  });

  describeSignalBus('between two servers', async (log) => {
    const [sender, receiver] = [await start({ log }), await start({ log })];
    return { sender, receiver, close: async () => {} };
  });

  it('reaches every other server (hazard 39)', async () => {
    const sender = await start();
    const others = [await start(), await start(), await start()].map(heardBy);
    sender.send('runs-open', { lanes: [LANE] });
    await eventually(() => {
      for (const heard of others) expect(heard).toEqual([{ name: 'runs-open', signal: { lanes: [LANE] } }]);
    }, SOON);
  });

  it('sends the first signal at once, and those that follow closely in one notification, merged', async () => {
    const clock = new ManualClock();
    const { payloads, notify } = await overhear();
    const bus = await start({ clock });
    bus.send('shards-due', { shards: [{ shard: 1, atMs: 10 }] });
    await eventually(() => expect(payloads).toHaveLength(1), SOON);
    for (const atMs of [9, 7, 8]) bus.send('shards-due', { shards: [{ shard: 1, atMs }] });
    bus.send('runs-open', { lanes: [LANE] });
    await notify('marker');
    await eventually(() => expect(payloads.slice(1)).toEqual(['marker']), SOON);
    await eventually(() => {
      clock.advance(5);
      expect(payloads).toHaveLength(3);
    }, SOON);
    expect(unpackSignals(payloads[2]!)?.batch).toEqual({
      'shards-due': { shards: [{ shard: 1, atMs: 7 }] },
      'runs-open': { lanes: [LANE] },
    });
  });

  it('names 5,000 runs in several notifications of one statement', async () => {
    const { payloads } = await overhear();
    const [sender, receiver] = [await start(), await start()];
    const heard: RunId[] = [];
    receiver.on('cancel-requested', ({ runIds }) => heard.push(...runIds));
    const runIds = ids<RunId>(5_000);
    sender.send('cancel-requested', { runIds });
    await eventually(() => expect(heard).toHaveLength(5_000), SOON);
    expect(heard).toEqual(runIds);
    const named = () =>
      payloads.flatMap((payload) => unpackSignals(payload)?.batch['cancel-requested']?.runIds);
    await eventually(() => expect(named()).toEqual(runIds), SOON);
    expect(payloads.length).toBeGreaterThan(1);
    expect(payloads.length).toBeLessThanOrEqual(NOTIFICATIONS_MAX);
  });

  it('says "any" for more than fits into the notifications of one flush', async () => {
    const [sender, receiver] = [await start(), await start()];
    const heard = heardBy(receiver);
    sender.send('slots-freed', { jobIds: ids<JobId>(7_000) });
    sender.send('shards-due', { shards: [{ shard: 1, atMs: 2 }] });
    await eventually(() => expect(heard).toHaveLength(2), SOON);
    expect(heard).toContainEqual({ name: 'slots-freed', signal: { jobIds: [] } });
    expect(heard).toContainEqual({ name: 'shards-due', signal: { shards: [{ shard: 1, atMs: 2 }] } });
  });

  it('ignores what others say on its channel', async () => {
    const log = listeningLog();
    const { notify } = await overhear();
    const [sender, receiver] = [await start(), await start({ log })];
    const heard = heardBy(receiver);
    const foreign = ['', 'hello', '{"lanes":[]}', '1AAAAAAAAAAAA;s9', '2AAAAAAAAAAAA;e', 'ä'.repeat(3_000)];
    for (const payload of foreign) await notify(payload);
    sender.send('events-recorded', {});
    await eventually(() => expect(heard).toEqual([{ name: 'events-recorded', signal: {} }]), SOON);
    expect(log.debug).toHaveBeenCalledTimes(foreign.length);
    expect([log.warn, log.error].flatMap((told) => told.mock.calls)).toEqual([]);
  });

  describe('that loses its connection', () => {
    const ANYTHING = [
      { name: 'runs-open', signal: { lanes: [] } },
      { name: 'shards-due', signal: { shards: [] } },
      { name: 'slots-freed', signal: { jobIds: [] } },
      { name: 'cancel-requested', signal: { runIds: [] } },
      { name: 'workers-asked', signal: {} },
      { name: 'events-recorded', signal: {} },
    ];

    it('opens another, and tells its listeners that anything may have happened', async () => {
      const log = listeningLog();
      const receiver = await start({ log });
      const heard = heardBy(receiver);
      await terminate(await backends());
      await eventually(() => expect(heard).toEqual(ANYTHING), SOON);
      expect(log.warn).toHaveBeenCalledTimes(1);
      expect(log.info).toHaveBeenCalledTimes(1);
      const sender = await start();
      sender.send('runs-open', { lanes: [LANE] });
      await eventually(
        () =>
          expect(heard.slice(ANYTHING.length)).toEqual([{ name: 'runs-open', signal: { lanes: [LANE] } }]),
        SOON,
      );
    });

    it('speaks of an outage once, however often it tries, and sends what waited when it is back', async () => {
      const log = listeningLog();
      const clock = new ManualClock();
      const sender = await start({ clock, log });
      const own = await backends();
      const receiver = await start();
      const [here, there] = [heardBy(sender), heardBy(receiver)];
      await allowConnections(false);
      await terminate(own);
      await eventually(() => expect(log.warn).toHaveBeenCalledTimes(1), SOON);
      const pausesMs: number[] = [];
      for (let tries = 0; tries < 10; tries += 1) {
        const pauseMs = await eventually(() => {
          expect(clock.untilNextTimer()).toBeDefined();
          return clock.untilNextTimer()!;
        }, SOON);
        pausesMs.push(pauseMs);
        clock.advance(pauseMs);
      }
      expect(Math.max(...pausesMs)).toBeLessThanOrEqual(5_000);
      expect(pausesMs.at(-1)).toBeGreaterThanOrEqual(2_500);

      sender.send('cancel-requested', { runIds: [] });
      sender.send('slots-freed', { jobIds: ids<JobId>(ENTRIES_MAX + 1) });
      sender.send('shards-due', { shards: [{ shard: 5, atMs: 6 }] });
      expect(here).toHaveLength(3);
      await allowConnections(true);
      await eventually(() => {
        clock.advance(5_000);
        expect(there).toHaveLength(2);
      }, SOON);
      expect(there).toContainEqual({ name: 'slots-freed', signal: { jobIds: [] } });
      expect(there).toContainEqual({ name: 'shards-due', signal: { shards: [{ shard: 5, atMs: 6 }] } });
      expect(here.slice(3)).toEqual(ANYTHING);
      expect(log.warn).toHaveBeenCalledTimes(1);
      expect(log.info).toHaveBeenCalledTimes(1);
    });

    it('without a word gives it up, because an answer is missing', async () => {
      const log = listeningLog();
      const clock = new ManualClock();
      const proxy = await new StallableProxy(database.url).start();
      try {
        // Long enough for a busy machine to connect and listen in.
        const receiver = await start({ clock, log, url: proxy.url, statementTimeoutMs: 3_000 });
        const heard = heardBy(receiver);
        proxy.stall();
        clock.advance(5_000);
        await eventually(() => expect(log.warn).toHaveBeenCalledTimes(1), SOON);
        proxy.recover();
        await eventually(() => {
          clock.advance(100);
          expect(heard).toEqual(ANYTHING);
        }, SOON);
        expect(log.warn).toHaveBeenCalledTimes(1);
      } finally {
        await proxy.stop();
      }
    });
  });

  it('starts without the database, delivers within its process, and stops', async () => {
    const log = listeningLog();
    const bus = await start({ url: 'postgres://nobody@127.0.0.1:1/nowhere', log });
    const heard = heardBy(bus);
    bus.send('events-recorded', {});
    expect(heard).toHaveLength(1);
    await eventually(() => expect(log.warn).toHaveBeenCalledTimes(1), SOON);
    await bus.stop();
  });

  it('that stops sends what waits, leaves no connection, and goes on delivering within its process', async () => {
    const clock = new ManualClock();
    const [leaving, staying] = [await start({ clock }), await start()];
    const [here, there] = [heardBy(leaving), heardBy(staying)];
    leaving.send('events-recorded', {});
    await eventually(() => expect(there).toHaveLength(1), SOON);
    leaving.send('runs-open', { lanes: [LANE] });
    await leaving.stop();
    await eventually(() => expect(there[1]).toEqual({ name: 'runs-open', signal: { lanes: [LANE] } }), SOON);
    await eventually(async () => expect(await backends()).toHaveLength(1), SOON);
    leaving.send('events-recorded', {});
    expect(here).toHaveLength(3);

    await leaving.start();
    staying.send('shards-due', { shards: [] });
    await eventually(() => expect(here[3]).toEqual({ name: 'shards-due', signal: { shards: [] } }), SOON);
    expect(there).toHaveLength(3);
  });
});
