/**
 * A transaction that somebody left open keeps PostgreSQL from clearing away what was updated and deleted since. Everything
 * the servers do under load goes on all the same: no heartbeat comes late, nothing is taken away or given back (hazard 29).
 */
import { type NodeId, ownerOf } from '@carillon/domain';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { median } from '../../bench/median.ts';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { historyOf, wrongInstants } from '../support/run-history.ts';
import { ServerStage } from '../support/server-stage.ts';
import { pause } from './cluster/member.ts';

const JOBS = 6_000;
const BATCH = 10;
const BATCH_EVERY_MS = 25;
const RECURRING = 20;
/** What is kept must not make claims slower and slower; other work on the machine may. */
const SLOWER_MAX = 5;
const SLACK_MS = 1_000;
const FINISH = { withinMs: 180_000 };
/** What servers write when one of them, or a run, is given up. */
const LOST_TRUST =
  /marked dead|given up for dead|giving back|took back|taken back|broke off|lost its shards|could not be reached in time/;

let stage: ServerStage;
let holder: pg.Client;

beforeEach(async () => {
  stage = await ServerStage.open();
});

afterEach(async () => {
  await holder.end();
  await stage.close();
});

/** Its snapshot is held until the test ends. */
async function leaveTransactionOpen(): Promise<void> {
  holder = new pg.Client({ connectionString: stage.postgres.url });
  await holder.connect();
  await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await holder.query('SELECT count(*) FROM jobs');
}

const members = () =>
  stage.postgres.query(
    `SELECT 'worker' AS kind, worker_id AS id, dead::text AS state FROM workers
     UNION ALL SELECT 'node', node_id::text, incarnation::text FROM nodes
     UNION ALL SELECT 'shard', shard::text, node_id || ' ' || epoch FROM shards ORDER BY kind, id`,
  );

/** From then on no shard changes hands, unless somebody is given up. */
async function untilShardsAreSpread(): Promise<void> {
  await eventually(async () => {
    const shards = await stage.postgres.query<{ shard: number; node_id: NodeId }>(
      'SELECT shard, node_id FROM shards',
    );
    const nodes = await stage.postgres.query<{ node_id: NodeId }>('SELECT node_id FROM nodes');
    const nodeIds = nodes.map((node) => node.node_id);
    expect(nodeIds).toHaveLength(2);
    expect(shards.filter(({ shard, node_id }) => ownerOf(shard, nodeIds) !== node_id)).toEqual([]);
  }, FINISH);
}

it('thousands of runs under a held snapshot all run once, and no server or run is given up', async () => {
  const { postgres, receiver } = stage;
  const servers = await Promise.all([stage.launch('a'), stage.launch('b')]);
  const [server] = servers;
  await untilShardsAreSpread();
  const before = await members();
  await leaveTransactionOpen();

  const recurring = Array.from({ length: RECURRING }, (_, i) => ({
    name: `recurring ${i}`,
    interval: '1s',
    payload: { url: receiver.url(50, 'recurring') },
  }));
  const recurringIds = await submitJobs(server, recurring);
  for (let i = 0; i < JOBS; i += BATCH) {
    const jobs = Array.from({ length: BATCH }, (_, j) => ({
      name: `once ${i + j}`,
      payload: { url: receiver.url(20, 'once') },
    }));
    await submitJobs(servers[(i / BATCH) % servers.length]!, jobs);
    await pause(BATCH_EVERY_MS);
  }
  await eventually(() => expect(receiver.tagged('once').length).toBeGreaterThanOrEqual(JOBS), FINISH);
  for (const jobId of recurringIds) await callApi(server, `/api/jobs/${jobId}/pause`, { method: 'POST' });
  await eventually(async () => {
    expect(await postgres.query('SELECT FROM due WHERE NOT held UNION ALL SELECT FROM leases')).toEqual([]);
  }, FINISH);

  const once = await historyOf(postgres, 'once');
  const again = await historyOf(postgres, 'recurring');
  expect([...once, ...again].filter((row) => row.status !== 'SUCCESS' || row.epoch !== 1)).toEqual([]);
  expect(once).toHaveLength(JOBS);
  expect(receiver.calls).toHaveLength(once.length + again.length);
  for (const rows of Map.groupBy(again, (row) => row.jobId).values())
    expect(wrongInstants(rows, 1_000)).toEqual([]);

  expect(await members()).toEqual(before);
  for (const one of servers) {
    const words = (await one.output()).split('\n').filter((line) => LOST_TRUST.test(line));
    expect(words).toEqual([]);
  }
  const delays = once
    .toSorted((one, other) => one.nominalAtMs - other.nominalAtMs)
    .map((row) => row.createdAtMs - row.nominalAtMs);
  const third = JOBS / 3;
  const [first, last] = [median(delays.slice(0, third)), median(delays.slice(-third))];
  console.log(
    `median start delay of the first third ${first.toFixed(0)} ms, of the last ${last.toFixed(0)} ms`,
  );
  expect(last).toBeLessThan(SLOWER_MAX * first + SLACK_MS);
});
