/**
 * A failover that lost its tail, with a real one: a copy of the data directory from some time ago takes the cursor of the database,
 * once promoted to a timeline of its own and once as it is.
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ClaimedRun,
  compareEventCursors,
  generationOf,
  type LeaseId,
  type RecordedEvent,
} from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { OwnPostgres } from '../../../../../tests/support/own-postgres.ts';
import { copyFiles } from '../../../../../tests/support/prepared-database.ts';
import { makeTestFolder } from '../../../../../tests/support/test-folder.ts';
import { openTestStorage } from '../../../../../tests/support/test-storage.ts';
import { newId } from '../conformance/sample-job.ts';
import { BASE_MS } from '../conformance/storage-under-test.ts';
import { manualRun, StorageWorld } from '../conformance/storage-world.ts';
import { LANE_START, laneOf } from '../lane.ts';
import type { PostgresStorage } from './postgres-storage.ts';

describe('hazard 43: a database that was replaced by one that had not heard of its last moments', () => {
  let folder: string;
  let postgres: OwnPostgres;
  let storage: PostgresStorage;
  let world: StorageWorld;

  const open = () => openTestStorage(postgres.url, { connectionsMax: 2 });

  beforeEach(async () => {
    folder = makeTestFolder();
    postgres = await OwnPostgres.start(folder, { isMigrated: true });
    storage = open();
    world = new StorageWorld(storage);
    await storage.generations.look();
    await world.prepare();
  });

  afterEach(async () => {
    await storage.close();
    await postgres.stop();
  });

  /** Copies the data as it is now. */
  async function copyData(): Promise<void> {
    await postgres.stop();
    await copyFiles(join(folder, 'postgres'), join(folder, 'standby'));
    await postgres.start();
  }

  async function startCopy({ isPromoted }: { isPromoted: boolean }): Promise<void> {
    await postgres.stop();
    await rm(join(folder, 'postgres'), { recursive: true });
    await rename(join(folder, 'standby'), join(folder, 'postgres'));
    if (isPromoted) {
      // Recovery from an archive that has nothing more ends at once, on a new timeline.
      const cluster = join(folder, 'postgres', 'cluster');
      await writeFile(join(cluster, 'recovery.signal'), '');
      await writeFile(join(cluster, 'postgresql.auto.conf'), "restore_command = 'false'\n");
    }
    await postgres.start();
    await eventually(
      async () => {
        const [row] = await postgres.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
        expect(row?.standby).toBe(false);
      },
      { withinMs: 60_000 },
    );
  }

  const timeline = async () =>
    Number(
      (await postgres.query<{ timeline: number }>('SELECT database_timeline() AS timeline'))[0]!.timeline,
    );

  /** All that was told until now: even here PostgreSQL may have a transaction of its own under way, behind which nobody reads. */
  async function readOn(after: Parameters<PostgresStorage['events']['read']>[0]): Promise<RecordedEvent[]> {
    const [now] = await postgres.query<{ xid: string }>('SELECT event_xid()::text AS xid');
    await eventually(
      async () => expect((await storage.events.end()).xid).toBeGreaterThanOrEqual(Number(now!.xid)),
      { withinMs: 60_000 },
    );
    const { events } = await storage.events.read(after, 10_000);
    return [...events];
  }

  /** Handed out and told of, then forgotten by the database. */
  async function loseTail(isPromoted: boolean) {
    const { job } = await world.oneOff();
    const lost: ClaimedRun[] = [];
    await copyData();
    lost.push(await world.claimOne(job));
    for (let i = 0; i < 20; i += 1) await world.oneOff();
    await storage.generations.look();
    const through = await storage.events.end();
    await startCopy({ isPromoted });
    return { job, lost: lost[0]!, through };
  }

  it('a promoted one hands out epochs above all before, from its first statement on, and every event is read', async () => {
    expect(await timeline()).toBe(1);
    const { job, lost, through } = await loseTail(true);
    expect(await timeline()).toBeGreaterThan(1);
    // Nobody has looked yet.
    const again = await world.claimOne(job);
    expect(again.runId).toBe(lost.runId);
    expect(again.epoch).toBeGreaterThan(lost.epoch + 1_000);
    expect(await world.settle(lost)).toBe('stale');
    await world.settle(again);
    const created = (await world.oneOff()).job;

    const told = await readOn(through);
    expect(told.map(({ kind, job: about }) => [kind, about?.jobId])).toEqual([
      ['run.succeeded', job.jobId],
      ['job.created', created.jobId],
    ]);
    expect(told.every(({ cursor }) => generationOf(cursor) === 1)).toBe(true);
    expect(compareEventCursors(told[0]!.cursor, through)).toBeGreaterThan(0);

    expect(await storage.generations.look()).toEqual({ generation: 1, isNew: true });
    expect(await storage.generations.look()).toEqual({ generation: 1, isNew: false });
    const { epoch } = await world.claimOne((await world.oneOff()).job);
    expect(epoch).toBe(again.epoch);
  });

  it('a restored copy on the same timeline is noticed by a server that had seen more of it', async () => {
    const { job, lost, through } = await loseTail(false);
    expect(await timeline()).toBe(1);
    expect(await storage.generations.look()).toEqual({ generation: 1, isNew: true });
    expect((await world.claimOne(job)).epoch).toBeGreaterThan(lost.epoch + 1_000);
    const created = (await world.oneOff()).job;
    expect((await readOn(through)).map(({ job: about }) => about?.jobId)).toContain(created.jobId);
  });

  it('of several servers that notice it, one begins the generation', async () => {
    const servers = Array.from({ length: 4 }, open);
    try {
      for (const server of servers) await server.generations.look();
      const { job } = await world.oneOff();
      await copyData();
      for (let i = 0; i < 20; i += 1) await world.oneOff();
      for (const server of servers) await server.generations.look();
      await startCopy({ isPromoted: false });
      const looks = await Promise.all(servers.map((server) => server.generations.look()));
      expect(looks).toEqual(servers.map(() => ({ generation: 1, isNew: true })));
      expect((await world.claimOne(job)).epoch).toBeGreaterThan(1_000);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  });

  it.each([
    ['restored into another database', false],
    ['promoted', true],
  ])(
    'one that was %s while every server was stopped is told by the first that starts',
    async (_, isPromoted) => {
      await copyData();
      await startCopy({ isPromoted });
      if (!isPromoted) await postgres.query('UPDATE storage_generation SET database = 0');
      const [first, second] = [open(), open()];
      try {
        expect(await first.generations.look()).toEqual({ generation: 1, isNew: true });
        expect(await first.generations.look()).toEqual({ generation: 1, isNew: false });
        expect(await second.generations.look()).toEqual({ generation: 1, isNew: false });
      } finally {
        await Promise.all([first.close(), second.close()]);
      }
    },
  );

  it('of several servers that start on it at once, one tells', async () => {
    await copyData();
    await startCopy({ isPromoted: true });
    const servers = Array.from({ length: 4 }, open);
    try {
      const looks = await Promise.all(servers.map((server) => server.generations.look()));
      expect(looks.map(({ generation }) => generation)).toEqual([1, 1, 1, 1]);
      expect(looks.filter(({ isNew }) => isNew)).toHaveLength(1);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  });

  it('a database that nobody has looked at before is no new generation', async () => {
    await postgres.query('DELETE FROM storage_generation');
    const first = open();
    try {
      expect(await first.generations.look()).toEqual({ generation: 0, isNew: false });
    } finally {
      await first.close();
    }
  });

  it('a worker learns which of its leases were lost', async () => {
    const { lost } = await loseTail(true);
    expect(await storage.members.unknownLeases([lost.leaseId])).toEqual([lost.leaseId]);
  });

  it('another database of the same cluster, restored from a dump, is a new generation', async () => {
    await postgres.query('UPDATE storage_generation SET database = 0');
    expect(await storage.generations.look()).toEqual({ generation: 1, isNew: true });
  });

  it('another cluster is a new generation; one that may not be told from the last is none', async () => {
    await postgres.query(`UPDATE storage_generation SET system_identifier = '1'`);
    expect((await storage.generations.look()).generation).toBe(1);
    await postgres.query('REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn(), pg_control_system() FROM PUBLIC');
    const role = `CREATE ROLE plain LOGIN PASSWORD 'plain'; GRANT ALL ON ALL TABLES IN SCHEMA public TO plain`;
    await postgres.query(`${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO plain`);
    const url = new URL(postgres.url);
    url.username = 'plain';
    url.password = 'plain';
    const plain = openTestStorage(url.href, { connectionsMax: 1 });
    try {
      expect(await plain.generations.look()).toEqual({ generation: 1, isNew: false });
      const { job } = await world.oneOff();
      const claimed = await plain.leases.claim({
        ...{ leaseId: newId<LeaseId>(), workerId: world.workerId, nowMs: BASE_MS },
        pick: { lanes: [{ lane: laneOf(job), after: LANE_START, runsMax: 1 }], runsMax: 1 },
      });
      expect(claimed.runs).toMatchObject([{ jobId: job.jobId }]);
      expect(await plain.jobs.enqueue(job.jobId, manualRun())).toBe(true);
    } finally {
      await plain.close();
    }
  });

  it('who records an event while a generation begins is waited for, and readers miss nothing', async () => {
    const before = await storage.events.end();
    const late = await storage.database.transaction(async (session) => {
      await session.query(
        { name: '', text: `INSERT INTO events (kind, data) VALUES ('worker.joined', '{"node_id":"n"}')` },
        [],
      );
      const begun = storage.generations.begin();
      const { events: read } = await storage.events.read(before, 10_000);
      return { begun, read };
    });
    expect(late.read).toEqual([]);
    expect(await late.begun).toBe(1);
    expect((await readOn(before)).map(({ kind }) => kind)).toEqual(['worker.joined']);
  });
});
