import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DataDirectoryInUse, openDataDirectory } from './data-directory.ts';

let folder = '';
let path = '';
const started = new Set<ChildProcess>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-data-'));
  path = join(folder, 'data');
});
afterEach(async () => {
  for (const child of started) child.kill('SIGKILL');
  started.clear();
  await rm(folder, { recursive: true, force: true });
});

/** A process of its own that opens the folder, runs `then` with it as `data`, and stays until killed. */
async function holder(then: string): Promise<{ pid: number; kill(): Promise<void> }> {
  const module = new URL('./data-directory.ts', import.meta.url).href;
  const script = `
    const { openDataDirectory } = await import(${JSON.stringify(module)});
    const data = await openDataDirectory(${JSON.stringify(path)});
    ${then}
    console.log('open');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.add(child);
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  for await (const line of createInterface({ input: child.stdout })) {
    expect(line).toBe('open');
    return {
      pid: child.pid ?? 0,
      kill: async () => {
        child.kill('SIGKILL');
        await ended;
      },
    };
  }
  throw new Error('it ended before the folder was open');
}

it('a folder in use is refused with the process and the address of its server', async () => {
  const other = await holder(`await data.announce('http://127.0.0.1:7420');`);
  const refusal = await openDataDirectory(path).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(DataDirectoryInUse);
  expect(refusal).toMatchObject({ pid: other.pid, address: 'http://127.0.0.1:7420' });
  expect(String(refusal)).toContain(`process id ${other.pid} at http://127.0.0.1:7420`);
  await other.kill();
});

it('stays locked by a server that never looks at it again, however much garbage is collected', async () => {
  await holder(
    'for (let round = 0; round < 20; round += 1) { gc(); await new Promise((done) => setTimeout(done, 1)); }',
  );
  await expect(openDataDirectory(path)).rejects.toBeInstanceOf(DataDirectoryInUse);
});

it('a folder whose server was killed opens at once, whoever has its process id now', async () => {
  const other = await holder('');
  await other.kill();
  await writeFile(
    join(path, 'server.lock'),
    JSON.stringify({ pid: process.pid, startedAt: 'then', address: 'gone' }),
  );
  const data = await openDataDirectory(path);
  expect(JSON.parse(await readFile(join(path, 'server.lock'), 'utf8'))).not.toHaveProperty('address');
  await data.close();
});

it('a server that is stopping is waited for', async () => {
  const other = await holder('await data.announceLeaving(); setTimeout(() => data.close(), 2500);');
  const data = await openDataDirectory(path);
  await data.close();
  await other.kill();
});

it('whoever waits for a server that is stopping is told once which one it is', async () => {
  const other = await holder('await data.announceLeaving();');
  const told: number[] = [];
  const onWait = (pid: number) => {
    told.push(pid);
    setTimeout(() => process.kill(pid, 'SIGKILL'), 100);
  };
  const data = await openDataDirectory(path, { onWait });
  expect(told).toEqual([other.pid]);
  await data.close();
  await other.kill();
});

it('the same process cannot open it twice either, until it is closed', async () => {
  const data = await openDataDirectory(path);
  await expect(openDataDirectory(path)).rejects.toBeInstanceOf(DataDirectoryInUse);
  await data.close();
  await data.close();
  await (await openDataDirectory(path)).close();
});

it('of many that start at once exactly one gets it', async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => openDataDirectory(path)));
  const won = outcomes.filter((outcome) => outcome.status === 'fulfilled');
  expect(won).toHaveLength(1);
  await won[0]?.value.close();
});

it('hazard 44: a copy of the folder knows of no process that has ended; the folder itself knows of all before', async () => {
  const start = async (folder = path) => {
    const data = await openDataDirectory(folder, { isTrusted: folder !== path });
    const boot = await data.boot();
    expect(await data.boot()).toBe(boot);
    return { data, ...boot };
  };
  const first = await start();
  const nodeId = await first.data.nodeId();
  await cp(path, join(folder, 'copy'), { recursive: true });
  const copy = await start(join(folder, 'copy'));
  expect(copy.ended).toEqual([]);
  expect(copy.bootId).not.toBe(first.bootId);
  expect(await copy.data.nodeId()).toBe(nodeId);
  const own = await copy.data.renewNodeId();
  expect(own).not.toBe(nodeId);
  expect(await first.data.nodeId()).toBe(nodeId);
  expect(await copy.data.nodeId()).toBe(own);
  for (const { data } of [first, copy]) await data.close();
  const second = await start();
  expect(second.ended).toEqual([first.bootId]);
  await second.data.close();
});

it('the admin key and the node id are made once and stay; each start is a new incarnation', async () => {
  const seen: { key: string; id: string; incarnation: number }[] = [];
  for (let start = 0; start < 3; start += 1) {
    const data = await openDataDirectory(path);
    expect(await data.incarnation()).toBe(await data.incarnation());
    seen.push({ key: await data.adminKey(), id: await data.nodeId(), incarnation: await data.incarnation() });
    await data.close();
  }
  expect(seen.map(({ incarnation }) => incarnation)).toEqual([1, 2, 3]);
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(1);
  expect(await readFile(join(path, 'admin.key'), 'utf8')).toMatch(/^ck_admin_[A-Za-z0-9_-]{43}\n$/);
});

it('nobody else can read the folder or the key', async () => {
  const data = await openDataDirectory(path);
  await data.adminKey();
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  expect((await stat(join(path, 'admin.key'))).mode & 0o777).toBe(0o600);
  await data.close();
});

it('a damaged key or counter is reported, never replaced', async () => {
  const data = await openDataDirectory(path);
  await writeFile(join(path, 'admin.key'), 'ck_admin_short\n', { mode: 0o600 });
  await writeFile(join(path, 'incarnation'), '');
  await expect(data.adminKey()).rejects.toThrow(/admin\.key is damaged/);
  await expect(data.incarnation()).rejects.toThrow(/incarnation is damaged/);
  await data.close();
});
