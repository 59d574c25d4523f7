/**
 * The border to PostgreSQL: what the world does to a call comes out as StorageUnavailable or, where only this call took too
 * long, as StorageTimeout, and the pool survives it.
 */
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { Database, type DatabaseOptions, RollBack, type Statement } from './database.ts';

const ONE = { name: 'one', text: 'SELECT 1' };
const PID = { name: 'pid', text: 'SELECT pg_backend_pid()' };
const ADD: Statement = { name: 'add', text: 'INSERT INTO notes (note) VALUES ($1)' };
const NOTES: Statement = { name: 'notes', text: 'SELECT note FROM notes ORDER BY note' };
const LOCK: Statement = { name: 'lock', text: 'SELECT FROM notes WHERE note = $1 FOR UPDATE' };
const COLLIDE = { name: 'collide', text: `SELECT fail_with('40001')` };

/**
 * Says "ready for queries" and "terminated by an administrator" in one breath, as a server does that is killed at that
 * moment: both reach the driver in one read, before the new owner of the connection has had a turn.
 */
class FarewellProxy {
  static readonly #READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
  farewells = 0;
  readonly url: string;
  readonly #server: Server;

  private constructor(target: URL, server: Server) {
    const url = new URL(target);
    url.port = String((server.address() as AddressInfo).port);
    this.url = url.href;
    this.#server = server;
    server.on('connection', (near) => {
      const far = connect(Number(target.port), target.hostname);
      near.on('data', (chunk) => far.write(chunk));
      far.on('data', (chunk) => {
        if (!chunk.includes(FarewellProxy.#READY)) return near.write(chunk);
        this.farewells += 1;
        far.pause();
        return near.end(Buffer.concat([chunk, fatal('57P01', 'terminating connection')]));
      });
      for (const socket of [near, far]) {
        socket.on('error', () => undefined);
        socket.on('close', () => {
          near.destroy();
          far.destroy();
        });
      }
    });
  }

  static async start(targetUrl: string): Promise<FarewellProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FarewellProxy(new URL(targetUrl), server);
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

describeEachPostgres('the database', (server) => {
  let home: TestDatabase;
  let admin: pg.Client;
  const opened: Database[] = [];

  beforeAll(async () => {
    home = await createTestDatabase(server.url);
    admin = new pg.Client({ connectionString: home.url });
    await admin.connect();
    await admin.query(`CREATE TABLE notes (note text PRIMARY KEY);
      CREATE FUNCTION fail_with(state text) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'made to fail'; END $$`);
    // A deadlock is looked for after this long; the default would only make the test slow.
    await admin.query(`ALTER DATABASE ${new URL(home.url).pathname.slice(1)} SET deadlock_timeout = '20ms'`);
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
    // A failed test may have left its transaction open.
    await admin.query('ROLLBACK; DELETE FROM notes');
  });

  afterAll(async () => {
    await admin.end();
    await home.drop();
  });

  function open(over: Partial<DatabaseOptions> = {}): Database {
    const database = new Database({
      url: home.url,
      connectionsMax: 4,
      statementTimeoutMs: 60_000,
      connectTimeoutMs: 60_000,
      ...over,
    });
    opened.push(database);
    return database;
  }

  it('answers rows as arrays and 64-bit integers as numbers', async () => {
    const statement = { name: 'types', text: `SELECT 4102444800000::bigint, 'a'::text, NULL::int` };
    expect(await open().query(statement, [])).toEqual([[4_102_444_800_000, 'a', null]]);
  });

  it('a statement that runs too long is broken off as StorageTimeout: the database is there (hazards 28, 47)', async () => {
    const database = open({ statementTimeoutMs: 2_000 });
    const slow = await database
      .query({ name: 'slow', text: 'SELECT pg_sleep(60)' }, [])
      .catch((error: unknown) => error);
    expect(slow).toBeInstanceOf(StorageTimeout);
    expect(slow).not.toBeInstanceOf(StorageUnavailable);
    expect(await database.query(ONE, [])).toEqual([[1]]);
  });

  it('a statement that waits too long for a lock is broken off as StorageTimeout (hazard 47)', async () => {
    const database = open({ lockTimeoutMs: 2_000 });
    await database.query(ADD, ['a']);
    await admin.query(`BEGIN; SELECT FROM notes WHERE note = 'a' FOR UPDATE`);
    await expect(database.query(LOCK, ['a'])).rejects.toThrow(StorageTimeout);
    await admin.query('COMMIT');
    expect(await database.query(LOCK, ['a'])).toHaveLength(1);
  });

  it('a transaction that runs into the time limit is undone, and its connection goes on being used', async () => {
    const database = open({ statementTimeoutMs: 2_000, connectionsMax: 1 });
    const [before] = await database.query(PID, []);
    const slow = database.transaction(async (session) => {
      await session.query(ADD, ['lost']);
      await session.query({ name: 'slow', text: 'SELECT pg_sleep(60)' }, []);
    });
    await expect(slow).rejects.toThrow(StorageTimeout);
    expect(await database.query(NOTES, [])).toEqual([]);
    expect(await database.query(PID, [])).toEqual([before]);
  });

  it('a connection killed inside a transaction is StorageUnavailable, and the pool recovers (hazard 28)', async () => {
    const database = open({ connectionsMax: 1 });
    const broken = database.transaction(async (session) => {
      const [row] = await session.query<[number]>(PID, []);
      await session.query(ADD, ['lost']);
      await admin.query('SELECT pg_terminate_backend($1)', [row![0]]);
      await session.query(ONE, []);
    });
    await expect(broken).rejects.toThrow(StorageUnavailable);
    expect(await database.query(NOTES, [])).toEqual([]);
  });

  it('a connection killed during a statement is StorageUnavailable', async () => {
    const database = open({ connectionsMax: 1 });
    const [row] = await database.query<[number]>(PID, []);
    const running = database.query({ name: 'wait', text: 'SELECT pg_sleep(60)' }, []);
    const refused = expect(running).rejects.toThrow(StorageUnavailable);
    await eventually(
      async () => {
        const { rows } = await admin.query(
          `SELECT pg_terminate_backend(pid) AS killed FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep%'`,
          [row![0]],
        );
        expect(rows).toEqual([{ killed: true }]);
      },
      { withinMs: 60_000 },
    );
    await refused;
    expect(await database.query(ONE, [])).toEqual([[1]]);
  });

  it('connections killed while idle are replaced without ending the process', async () => {
    const database = open();
    await Promise.all([database.query(ONE, []), database.query(ONE, [])]);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'carillon'`);
    await eventually(async () => expect(await database.query(ONE, [])).toEqual([[1]]), { withinMs: 60_000 });
  });

  it('a connection whose end arrives with its readiness does not end the process (hazard 28)', async () => {
    const proxy = await FarewellProxy.start(home.url);
    const database = open({ url: proxy.url, connectionsMax: 1 });
    await expect(database.query(ONE, [])).rejects.toThrow(StorageUnavailable);
    await expect(database.transaction((session) => session.query(ONE, []))).rejects.toThrow(
      StorageUnavailable,
    );
    expect(proxy.farewells).toBe(2);
    await proxy.stop();
  });

  it('a deadlock is tried again until both have done their work once', async () => {
    const database = open();
    await database.query(ADD, ['a']);
    await database.query(ADD, ['b']);
    const tries = { ab: 0, ba: 0 };
    const done = { ab: Promise.withResolvers<void>(), ba: Promise.withResolvers<void>() };
    const bothHold = Promise.withResolvers<void>();
    let holding = 0;
    const work = async (order: 'ab' | 'ba') => {
      await database.transaction(async (session) => {
        tries[order] += 1;
        // The victim lets the other finish first: coming back at once, it might collide a second time.
        if (tries[order] > 1) await done[order === 'ab' ? 'ba' : 'ab'].promise;
        await session.query(LOCK, [order[0]]);
        holding += 1;
        if (holding === 2) bothHold.resolve();
        await bothHold.promise;
        await session.query(LOCK, [order[1]]);
        await session.query(ADD, [`done ${order}`]);
      });
      done[order].resolve();
    };
    await Promise.all([work('ab'), work('ba')]);
    expect(tries.ab + tries.ba).toBe(3);
    expect(await database.query(NOTES, [])).toEqual([['a'], ['b'], ['done ab'], ['done ba']]);
  });

  it('a transaction that keeps colliding is given up after a bounded number of tries', async () => {
    let tries = 0;
    const colliding = open().transaction(async (session) => {
      tries += 1;
      await session.query(COLLIDE, []);
    });
    await expect(colliding).rejects.toThrow(StorageUnavailable);
    expect(tries).toBe(5);
  });

  it('RollBack undoes everything and is the answer of the transaction', async () => {
    const database = open();
    const answer = await database.transaction(async (session) => {
      await session.query(ADD, ['undone']);
      throw new RollBack({ refused: true });
    });
    expect(answer).toEqual({ refused: true });
    expect(await database.query(NOTES, [])).toEqual([]);
  });

  it('an error of the caller undoes the transaction, comes out as it is, and leaves the connection usable', async () => {
    const database = open({ connectionsMax: 1 });
    const [before] = await database.query(PID, []);
    const mistake = new Error('changed my mind');
    const broken = database.transaction(async (session) => {
      await session.query(ADD, ['undone']);
      throw mistake;
    });
    await expect(broken).rejects.toBe(mistake);
    expect(await database.query(NOTES, [])).toEqual([]);
    expect(await database.query(PID, [])).toEqual([before]);
  });

  it('a statement that is wrong is a bug and not an outage', async () => {
    const database = open();
    await database.query(ADD, ['twice']);
    const again = await database.query(ADD, ['twice']).catch((error: unknown) => error);
    expect(again).not.toBeInstanceOf(StorageUnavailable);
    expect(again).toMatchObject({ code: '23505' });
  });

  it.each([
    ['too many connections', '53300'],
    ['a disk that is full', '53100'],
    ['a server that shuts down', '57P01'],
    ['a server that starts', '57P03'],
    ['a standby that cannot write', '25006'],
    ['a system error', '58030'],
  ])('%s (%s) is StorageUnavailable', async (_, state) => {
    const failing = open().query({ name: 'fail', text: 'SELECT fail_with($1)' }, [state]);
    await expect(failing).rejects.toThrow(StorageUnavailable);
  });

  it('who finds every connection taken waits for a bounded time and is told StorageUnavailable', async () => {
    const database = open({ connectionsMax: 1, connectTimeoutMs: 2_000 });
    const release = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    const holder = database.transaction(async (session) => {
      await session.query(ONE, []);
      taken.resolve();
      await release.promise;
    });
    await taken.promise;
    await expect(database.query(ONE, [])).rejects.toThrow(StorageUnavailable);
    await expect(database.transaction((session) => session.query(ONE, []))).rejects.toThrow(
      StorageUnavailable,
    );
    release.resolve();
    await holder;
    expect(await database.query(ONE, [])).toEqual([[1]]);
  });

  it('a server that is not there is StorageUnavailable', async () => {
    const nowhere = open({ url: 'postgres://nobody@127.0.0.1:1/nothing' });
    await expect(nowhere.query(ONE, [])).rejects.toThrow(StorageUnavailable);
    await expect(nowhere.transaction(async () => undefined)).rejects.toThrow(StorageUnavailable);
  });
});
