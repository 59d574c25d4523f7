import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { isRunning } from './postmaster-file.ts';
import { type StartEmbeddedPostgresOptions, startEmbeddedPostgres } from './start-embedded-postgres.ts';

const WAIT = { withinMs: 60_000 };
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const started = new Set<ChildProcess>();
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-embedded-'));
});
afterEach(async () => {
  for (const child of started) child.kill('SIGKILL');
  started.clear();
  await rm(folder, { recursive: true, force: true });
});

const start = (options: Partial<StartEmbeddedPostgresOptions> = {}) =>
  startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), log: silent, ...options });

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A server process of its own, to be killed: answers with its pid and where its PostgreSQL is. */
async function startElsewhere(): Promise<{ pid: number; postgres: { pid: number; url: string } }> {
  const module = new URL('./start-embedded-postgres.ts', import.meta.url).href;
  const script = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const { pid, url } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(join(folder, 'postgres'))}, log });
    console.log(JSON.stringify({ pid, url }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.add(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return { pid: child.pid ?? 0, postgres: JSON.parse(line) as { pid: number; url: string } };
  }
  throw new Error('it ended before PostgreSQL was up');
}

function processes(): { pid: number; parent: number }[] {
  const list = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return list
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parent] = line.trim().split(/\s+/).map(Number);
      return { pid: pid ?? 0, parent: parent ?? 0 };
    });
}

async function untilGone(pid: number): Promise<void> {
  await eventually(async () => expect(await isRunning(pid), `process ${pid} runs`).toBe(false), WAIT);
}

describe('a database that is started', () => {
  it('keeps its data from one start to the next, and ends when told to', async () => {
    const first = await start();
    expect(first.version).toMatch(/^18\./);
    await query(first.url, `CREATE TABLE kept AS SELECT 'é' AS word`);
    await first.stop();
    expect(await isRunning(first.pid)).toBe(false);

    const second = await start();
    expect(await query(second.url, 'SELECT word FROM kept')).toEqual([{ word: 'é' }]);
    await second.stop();
    await second.stop();
  });

  it('can be had without a port that others could reach', async () => {
    const server = await start({ socketOnly: true });
    expect(await query(server.url, 'SELECT inet_server_addr() AS address')).toEqual([{ address: null }]);
    const record = await readFile(join(folder, 'postgres/cluster/postmaster.pid'), 'utf8');
    expect(record.split('\n')[5]).toBe('');
    await server.stop();
  });

  it('is durable, and lets in nobody without the password, which only its owner can read', async () => {
    const server = await start();
    expect(
      await query(
        server.url,
        `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`,
      ),
    ).toEqual([{ fsync: 'on', commit: 'on' }]);
    const stranger = new URL(server.url);
    stranger.password = 'guess';
    await expect(query(stranger.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect((await stat(join(folder, 'postgres/password'))).mode & 0o777).toBe(0o600);
    await server.stop();
  });

  it('is not fooled by what an interrupted first start left', async () => {
    await mkdir(join(folder, 'postgres/cluster.incoming/base'), { recursive: true });
    await writeFile(join(folder, 'postgres/cluster.incoming/PG_VERSION'), '18\n');
    await writeFile(join(folder, 'postgres/password'), 'half');
    const server = await start();
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
  });

  it('tells when PostgreSQL dies by itself', async () => {
    const server = await start();
    const exit = new Promise((resolve) => server.onExit(resolve));
    process.kill(server.pid, 'SIGKILL');
    expect(await exit).toMatchObject({ requested: false });
    await server.stop();
  });

  it('runs on the same files whichever way root gives up its rights', async () => {
    const ways =
      process.geteuid?.() === 0
        ? (['system_user', 'namespace', 'system_user'] as const)
        : (['self', 'self'] as const);
    for (const runAs of ways) {
      const server = await start({ runAs }).catch((error: unknown) => {
        // A machine that forbids namespaces has one way only.
        if (runAs !== 'namespace') throw error;
      });
      if (!server) continue;
      await query(server.url, 'CREATE TABLE IF NOT EXISTS shared (x int)');
      await server.stop();
    }
  });
});

describe('a killed server', () => {
  it('takes its PostgreSQL with it', async () => {
    const server = await startElsewhere();
    process.kill(server.pid, 'SIGKILL');
    await untilGone(server.postgres.pid);
  });

  it('loses nothing that was committed when everything is killed at once', async () => {
    const server = await startElsewhere();
    await query(server.postgres.url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    const guardian = processes().find(({ pid }) => pid === server.postgres.pid)?.parent;
    const victims = processes().filter(({ parent }) => parent === server.postgres.pid || parent === guardian);
    for (const pid of [server.pid, guardian ?? 0, ...victims.map((victim) => victim.pid)])
      if (pid > 1) kill(pid);

    const next = await start();
    expect(await query(next.url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 1000 }]);
    await next.stop();
  });

  it('that left its PostgreSQL alive does not stop the next one from starting', async () => {
    const server = await startElsewhere();
    const guardian = processes().find(({ pid }) => pid === server.postgres.pid)?.parent ?? 0;
    const helpers = processes().filter(
      ({ pid, parent }) => parent === guardian && pid !== server.postgres.pid,
    );
    for (const pid of [guardian, ...helpers.map((helper) => helper.pid), server.pid]) kill(pid);

    const next = await start();
    expect(next.pid).not.toBe(server.postgres.pid);
    expect(await isRunning(server.postgres.pid)).toBe(false);
    await next.stop();
  });

  it('whose process id now belongs to a stranger does not stop the next one either', async () => {
    const first = await start();
    const pidFile = join(folder, 'postgres/cluster/postmaster.pid');
    const recorded = await readFile(pidFile, 'utf8');
    await first.stop();
    await writeFile(pidFile, recorded.replace(/^\d+/, String(process.pid)));

    const next = await start();
    expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await next.stop();
  });
});

describe('what cannot work is refused with the way out', () => {
  it('files of another major version', async () => {
    await (await start()).stop();
    await writeFile(join(folder, 'postgres/cluster/PG_VERSION'), '14\n');
    await expect(start()).rejects.toMatchObject({
      problem: 'other_version',
      message: expect.stringContaining('14'),
    });
  });

  it('damaged files, which stay as they are', async () => {
    await (await start()).stop();
    const control = join(folder, 'postgres/cluster/global/pg_control');
    await truncate(control, 100);
    const digest = async () =>
      createHash('sha256')
        .update(await readFile(control))
        .digest('hex');
    const before = await digest();
    await expect(start()).rejects.toMatchObject({ problem: 'data_corrupt' });
    expect(await digest()).toBe(before);
    await rm(join(folder, 'postgres/cluster/PG_VERSION'));
    await expect(start()).rejects.toMatchObject({ problem: 'data_corrupt' });
  });

  it('a fixed port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    await expect(start({ port })).rejects.toMatchObject({ problem: 'port_taken' });
    other.close();
  });

  it('a platform without binaries', async () => {
    await expect(start({ binaries: join(folder, 'nothing') })).rejects.toMatchObject({
      problem: 'binaries_missing',
      message: expect.stringContaining('--database-url'),
    });
  });
});

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // A backend may notice the death of its postmaster before we reach it.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
