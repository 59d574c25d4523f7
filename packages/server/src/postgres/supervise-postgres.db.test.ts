/** The embedded PostgreSQL is killed, and may not find its files again for a while. */
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Log, ManualClock, silentLog } from '@carillon/foundation';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { isRunning } from './embedded/postmaster-file.ts';
import { type SupervisedPostgres, supervisePostgres } from './supervise-postgres.ts';

const SOON = { withinMs: 60_000 };
let folder: string;
let clock: ManualClock;
let postgres: SupervisedPostgres | undefined;
let told: { facts: object; message: string }[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-supervised-'));
  clock = new ManualClock();
  told = [];
  const tell = (facts: object, message: string) => void told.push({ facts, message });
  const log: Log = { ...silentLog, info: tell, error: tell };
  postgres = await supervisePostgres({ dataDir: join(folder, 'postgres'), log, clock });
});
afterEach(async () => {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const control = () => join(folder, 'postgres', 'cluster', 'global', 'pg_control');
const pidOf = async () =>
  Number((await readFile(join(folder, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0]);
const words = () => told.map(({ message }) => message.split('\n')[0]);

async function kill(): Promise<void> {
  const pid = await pidOf();
  process.kill(pid, 'SIGKILL');
  await eventually(async () => expect(await isRunning(pid)).toBe(false), SOON);
}

/** The pause before the next try. */
const paused = () => eventually(() => clock.untilNextTimer() ?? expect.fail('there is no pause'), SOON);

test('a PostgreSQL that does not start is tried less and less often, and the reason is told once, in words', async () => {
  const first = await pidOf();
  await rename(control(), `${control()}.away`);
  await kill();
  const pauses: number[] = [];
  for (let tries = 0; tries < 8; tries += 1) {
    pauses.push(await paused());
    clock.advance(pauses.at(-1)!);
  }
  expect(pauses).toEqual([0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000]);
  await paused();
  expect(words()).toEqual([
    'the embedded PostgreSQL died; starting it again',
    expect.stringContaining('could not be started'),
  ]);
  expect(told[1]?.facts).toEqual({ problem: 'start_failed' });
  expect(told[1]?.message).toMatch(/PostgreSQL said:\n.*could not find the database system/);

  await rename(`${control()}.away`, control());
  clock.advance(await paused());
  await eventually(() => expect(words().at(-1)).toBe('the embedded PostgreSQL runs again'), SOON);
  expect(words()).toHaveLength(3);
  expect(await pidOf()).not.toBe(first);
});

test('a stop does not wait for the next try', async () => {
  await rename(control(), `${control()}.away`);
  await kill();
  clock.advance(await paused());
  expect(await paused()).toBe(250);
  await postgres?.stop();
});
