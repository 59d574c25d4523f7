/**
 * A data folder that was copied: two servers start with one identity (hazard 44). They are told apart, both run jobs, and
 * neither takes, marks dead or returns what the other has.
 */
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { OwnPostgres } from '../support/own-postgres.ts';
import type { Receiver } from '../support/receiver.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 120_000 };
const JOBS = 60;
const SILENT_SECONDS = 4;
const FLAGS = ['--worker-silent-seconds', String(SILENT_SECONDS), '--node-ttl-seconds', '3'];
/** Longer than silence is waited for: a server that marks a living worker dead has done so by then. */
const LONG_RUN_MS = 3 * SILENT_SECONDS * 1_000;

let stage: ServerStage;
let receiver: Receiver;
let postgres: OwnPostgres;

beforeEach(async () => {
  stage = await ServerStage.open();
  ({ receiver, postgres } = stage);
});

afterEach(() => stage.close());

const TRUSTED = ['--trust-folder'];
const launch = (name: string) => stage.launch(name, name === 'copy' ? [...FLAGS, ...TRUSTED] : FLAGS);
const copyFolder = () => cp(join(stage.folder, 'original'), join(stage.folder, 'copy'), { recursive: true });
const nodeOf = async (server: ServerProcess) =>
  (await readFile(join(server.dataDir, 'node.id'), 'utf8')).trim();

async function submit(server: ServerProcess, count: number, { tag, ms }: { tag: string; ms: number }) {
  const jobs = Array.from({ length: count }, (_, i) => ({
    name: `${tag} ${i}`,
    payload: { url: receiver.url(ms, `${tag}-${i}`) },
  }));
  await submitJobs(server, jobs);
}

const answered = () => receiver.calls.filter((call) => call.answered).length;

async function nodesThatRan(): Promise<string[]> {
  const rows = await postgres.query<{ executor_id: string }>(
    `SELECT DISTINCT executor_id FROM job_runs WHERE status = 'SUCCESS'`,
  );
  return [...new Set(rows.map((row) => row.executor_id.split('.')[0]!))].sort();
}

/** Every run was handed out once and called once. */
async function nothingWasTaken(): Promise<void> {
  expect(receiver.overlaps()).toEqual([]);
  expect(receiver.calls.map(({ epoch }) => epoch).filter((epoch) => epoch !== 1)).toEqual([]);
  const others = (condition: string) =>
    postgres.query(`SELECT status, error_message FROM job_runs WHERE status <> 'SUCCESS' AND ${condition}`);
  // What was answered a moment ago may not be recorded yet.
  await eventually(async () => expect(await others(`status = 'RUNNING'`)).toEqual([]), SOON);
  expect(await others('true')).toEqual([]);
}

/** Both hold shards, so that both are given runs. */
async function bothOwnShards(servers: readonly ServerProcess[]): Promise<void> {
  const nodes = await Promise.all(servers.map(nodeOf));
  expect(new Set(nodes).size).toBe(servers.length);
  await eventually(async () => {
    const owners = await postgres.query<{ node_id: string }>(
      'SELECT DISTINCT node_id::text FROM shards WHERE node_id IS NOT NULL ORDER BY 1',
    );
    expect(owners.map((row) => row.node_id)).toEqual(nodes.toSorted());
  }, SOON);
}

it('hazard 44: a copy of a running server’s folder becomes a node of its own, and the original keeps its runs', async () => {
  const original = await launch('original');
  const identity = await nodeOf(original);
  await submit(original, 5, { tag: 'long', ms: LONG_RUN_MS });
  await eventually(() => expect(receiver.calls).toHaveLength(5), SOON);
  await copyFolder();
  const copy = await launch('copy');
  await bothOwnShards([original, copy]);
  expect(await nodeOf(original)).toBe(identity);
  expect(await copy.output()).toContain('another process runs under the node id of this folder');

  await submit(copy, JOBS, { tag: 'short', ms: 300 });
  await eventually(() => expect(answered()).toBe(JOBS + 5), SOON);
  await eventually(async () => expect(await nodesThatRan()).toHaveLength(2), SOON);
  await nothingWasTaken();
  expect([original.hasExited, copy.hasExited]).toEqual([false, false]);

  // The new identity is the copy's for good: killed and started again, it has what it had.
  const own = await nodeOf(copy);
  await copy.kill();
  const again = await launch('copy');
  expect(await nodeOf(again)).toBe(own);
  await bothOwnShards([original, again]);
});

it('hazard 44: two servers that start at once on copies of one folder both run jobs, and nothing twice', async () => {
  const first = await launch('original');
  expect(await first.stop(120_000)).toEqual({ code: 0, signal: null });
  await copyFolder();
  const servers = await Promise.all([launch('original'), launch('copy')]);
  await bothOwnShards(servers);
  await submit(servers[0]!, 10, { tag: 'long', ms: LONG_RUN_MS });
  await submit(servers[1]!, JOBS, { tag: 'short', ms: 300 });
  await eventually(() => expect(answered()).toBe(JOBS + 10), SOON);
  await eventually(async () => expect(await nodesThatRan()).toHaveLength(2), SOON);
  await nothingWasTaken();
  expect(servers.map((server) => server.hasExited)).toEqual([false, false]);
});

it('hazard 44: a server that is killed beside its copy takes its own shards back at once, under its own id', async () => {
  const original = await launch('original');
  const identity = await nodeOf(original);
  await copyFolder();
  const copy = await launch('copy');
  await bothOwnShards([original, copy]);
  await original.kill();
  const again = await launch('original');
  expect(await nodeOf(again)).toBe(identity);
  await bothOwnShards([again, copy]);
  expect(copy.hasExited).toBe(false);
});
