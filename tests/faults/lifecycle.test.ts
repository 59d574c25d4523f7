/**
 * A server as people start and stop it, with the PostgreSQL it brings along: it comes back after kill -9, leaves nothing
 * behind when it is stopped, and says in a sentence why it cannot start.
 */
import { symlinkSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { jobsWithStatus, runsOf, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import {
  ANOTHER_USER,
  folderOfAnotherUser,
  secretFile,
  testAsRoot,
} from '../support/folder-of-another-user.ts';
import { fixedPort, type ListedProcess, processesOf, signalProcess } from '../support/processes.ts';
import { Receiver } from '../support/receiver.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const SOON = { withinMs: 120_000 };
const FLAGS = ['--worker-silent-seconds', '5', '--node-ttl-seconds', '3'];

let folder: string;
let port: number;
let receiver: Receiver;

beforeEach(async () => {
  folder = makeTestFolder();
  port = await fixedPort();
  receiver = await new Receiver().start();
});

afterEach(async () => {
  await endServers();
  await receiver.stop();
  await eventually(async () => expect(await processesOf(folder)).toEqual([]), SOON);
});

const launch = (flags: readonly string[] = FLAGS) => launchServer({ name: 'server', folder, port, flags });

/** A child that was forked a moment ago still bears its parent's command line; a second postmaster would have another parent. */
async function postmasters(server: ServerProcess): Promise<ListedProcess[]> {
  const listed = (await processesOf(server.dataDir)).filter(({ command }) =>
    /^\S*postgres -D /.test(command),
  );
  const pids = new Set(listed.map(({ pid }) => pid));
  return listed.filter(({ parentPid }) => !pids.has(parentPid));
}

async function submitTagged(
  server: ServerProcess,
  count: number,
  job: (i: number) => object,
): Promise<string[]> {
  const jobs = Array.from({ length: count }, (_, i) => ({ name: `job ${i}`, max_retries: 20, ...job(i) }));
  return submitJobs(server, jobs, { idempotencyKey: 'all' });
}

async function untilCompleted(server: ServerProcess, ids: readonly string[]): Promise<void> {
  const wanted = ids.toSorted();
  await eventually(
    async () => expect((await jobsWithStatus(server, 'completed')).toSorted()).toEqual(wanted),
    {
      withinMs: 60_000,
    },
  );
}

function expectEachRanAndNoneTwiceAtOnce(count: number): void {
  const answered = new Set(receiver.calls.filter((call) => call.answered).map((call) => call.path));
  expect(answered.size).toBe(count);
  expect(receiver.overlaps()).toEqual([]);
  expect(receiver.repeatedEpochs()).toEqual([]);
}

it('after kill -9 with 1,000 jobs pending and running, the next start runs every one of them', async () => {
  const server = await launch().ready();
  const [before] = await postmasters(server);
  const startAt = Date.now() + 2_000;
  const ids = await submitTagged(server, 1_000, (i) => ({
    // The last are due when the server is gone: however fast it is, some are pending then.
    schedule_time: new Date(startAt + (i < 900 ? i * 4 : 15_000)).toISOString(),
    payload: { url: receiver.url(i % 10 === 0 ? 700 : 5, `job-${i}`) },
  }));
  await eventually(() => expect(receiver.calls.length).toBeGreaterThan(300), SOON);
  await server.kill();
  expect(receiver.calls.length).toBeLessThan(1_000);

  const again = await launch().ready();
  const after = await postmasters(again);
  expect(after.map(({ pid }) => pid)).not.toContain(before?.pid);
  expect(after, JSON.stringify(after)).toHaveLength(1);
  await untilCompleted(again, ids);
  expectEachRanAndNoneTwiceAtOnce(1_000);
});

it('the PostgreSQL of a killed server ends by itself, without a next start', async () => {
  const server = await launch().ready();
  expect(await postmasters(server)).toHaveLength(1);
  await server.kill();
  await eventually(async () => expect(await processesOf(folder)).toEqual([]), SOON);
});

it('Ctrl-C lets a running job end, leaves no process and no listener, and the next start finds its data', async () => {
  const server = await launch().ready();
  const [id = ''] = await submitTagged(server, 1, () => ({ payload: { url: receiver.url(1_000, 'one') } }));
  await eventually(() => expect(receiver.inProgress).toHaveLength(1), SOON);
  server.signal('SIGINT');
  expect(await server.exitWithin(60_000)).toEqual({ code: 0, signal: null });
  expect(receiver.tagged('one').map((call) => call.answered)).toEqual([true]);
  expect(await processesOf(folder)).toEqual([]);
  expect(await server.output()).toMatch(/^Stopping \(Ctrl-C\)[\s\S]*^Stopped\.$/m);
  await expect(fetch(`${server.address}/health/live`)).rejects.toThrow();

  const again = await launch().ready();
  expect(await runsOf(again, id)).toMatchObject([{ status: 'SUCCESS', attempt_number: 1 }]);
  expect(receiver.calls).toHaveLength(1);
});

it('the admin key is readable by its owner only, and stays the same over restarts and crashes', async () => {
  const server = await launch().ready();
  const key = await server.adminKey();
  expect((await stat(join(server.dataDir, 'admin.key'))).mode & 0o777).toBe(0o600);
  expect((await server.stop(60_000)).code).toBe(0);
  const again = await launch().ready();
  await again.kill();
  const third = await launch().ready();
  expect(await third.adminKey()).toBe(key);
  expect((await stat(join(third.dataDir, 'admin.key'))).mode & 0o777).toBe(0o600);
  expect(await jobsWithStatus(third, 'completed')).toEqual([]);
});

it('a second start on the same data says who runs there and where, and harms nobody', async () => {
  const server = await launch().ready();
  const second = launchServer({ name: 'server', folder, port: await fixedPort(), flags: FLAGS });
  expect(await second.exitWithin(60_000)).toEqual({ code: 1, signal: null });
  const output = await second.output();
  expect(output).toContain(`is in use by the server with process id ${server.pid} at ${server.address}`);
  expect((await server.readiness()).status).toBe(200);
  expect(await postmasters(server)).toHaveLength(1);
});

it('a taken port is named, with a way out, and nothing stays behind', async () => {
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(port, '127.0.0.1', resolve));
  const server = launch();
  expect(await server.exitWithin(60_000)).toEqual({ code: 1, signal: null });
  expect(await server.output()).toContain(`port ${port} on 127.0.0.1 is taken by another program`);
  expect(await server.output()).toContain('--port');
  expect(await processesOf(folder)).toEqual([]);
  await new Promise((resolve) => squatter.close(resolve));
});

it('an unknown flag is answered with the nearest one and exit code 2', async () => {
  const server = launch(['--databse-url', 'postgres://localhost/x']);
  expect(await server.exitWithin(60_000)).toEqual({ code: 2, signal: null });
  expect(await server.output()).toMatch(/Unknown flag --databse-url\. Did you mean --database-url\?/);
});

it('when its PostgreSQL is killed while jobs run, the server starts it again and all jobs finish', async () => {
  const server = await launch().ready();
  const startAt = Date.now() + 1_000;
  const ids = await submitTagged(server, 500, (i) => ({
    schedule_time: new Date(startAt + i * 10).toISOString(),
    payload: { url: receiver.url(i % 10 === 0 ? 1_500 : 20, `job-${i}`) },
  }));
  await eventually(() => expect(receiver.calls.length).toBeGreaterThan(100), SOON);
  const [postmaster] = await postmasters(server);
  signalProcess(postmaster?.pid ?? 0, 'SIGKILL');
  await eventually(async () => {
    const [revived, ...others] = await postmasters(server);
    expect(others).toEqual([]);
    expect(revived?.pid).toBeGreaterThan(0);
    expect(revived?.pid).not.toBe(postmaster?.pid);
  }, SOON);
  await untilCompleted(server, ids);
  expectEachRanAndNoneTwiceAtOnce(500);
  expect(server.hasExited).toBe(false);
  expect(await readFile(join(folder, 'server.log'), 'utf8')).toContain('the embedded PostgreSQL died');
});

testAsRoot(
  'root starts on the folder of another user, whose links lead nowhere, and leaves all of it to them',
  async () => {
    const data = folderOfAnotherUser(folder, 'server');
    const names = ['server.lock', 'boots', 'incarnation', 'admin.key', 'node.id'];
    const targets = await Promise.all(names.map((name) => secretFile(join(folder, `root-${name}`))));
    for (const [index, name] of names.entries())
      symlinkSync(targets[index]!.path, join(data, `${name}.incoming`));
    for (let round = 0; round < 2; round += 1) {
      const server = await launch().ready();
      expect((await server.stop(60_000)).code).toBe(0);
    }
    for (const target of targets) expect(await target.look()).toEqual(target.untouched);
    for (const name of await readdir(data, { recursive: true }))
      if (!name.startsWith('postgres/binaries') && !name.endsWith('.incoming'))
        expect(await lstat(join(data, name)), name).toMatchObject({ uid: ANOTHER_USER.uid });
  },
);

it('a link in the place of the database is named, with a way out, and nothing is made where it leads', async () => {
  const target = join(folder, 'elsewhere');
  await mkdir(target);
  await mkdir(join(folder, 'server'), { mode: 0o700 });
  symlinkSync(target, join(folder, 'server', 'postgres'));
  const server = launch();
  expect(await server.exitWithin(60_000)).toEqual({ code: 1, signal: null });
  expect(await server.output()).toMatch(/^carillon: \S+\/server\/postgres is a link, .* remove the link\.$/m);
  expect(await readdir(target)).toEqual([]);
});
