/**
 * Starts Debian's redis-server on a free loopback port, without persistence: all in memory, the fastest it can be. Where
 * it is missing it is installed if this machine allows, and otherwise the reason why not is the answer.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { eventually } from '../../tests/support/eventually.ts';
import { startTetheredProcess } from './tethered-process.ts';

const run = promisify(execFile);

/** Where it cannot be run, the reason is the answer. */
export async function startRedis({ folder, log }: { folder: string; log: (line: string) => void }) {
  const version = (await redisVersion()) ?? (await installRedis(log));
  if (typeof version !== 'string') return `no redis-server on this machine${version.problem}`;
  const port = await freePort();
  const server = await startTetheredProcess({
    command: [
      ...['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'no'],
    ],
    logFile: join(folder, 'redis.log'),
    stopSignal: 'TERM',
  });
  const url = `redis://127.0.0.1:${port}`;
  try {
    await eventually(() => ping(url), { withinMs: 10_000 });
  } catch (error) {
    await server.stop();
    throw error;
  }
  log(`Redis ${version} listens on port ${port}, pid ${server.pid}, no persistence`);
  return { url, pid: server.pid, version, stop: () => server.stop() };
}

async function installRedis(log: (line: string) => void): Promise<string | { problem: string }> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    return { problem: ': install one and put it on PATH' };
  log('no redis-server on PATH: installing it with apt-get install -y redis-server');
  try {
    await run('apt-get', ['install', '-y', 'redis-server'], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim() || String(error);
    return { problem: `: apt-get could not install it (${said.split('\n').at(-1)})` };
  }
  return (await redisVersion()) ?? { problem: ', even after apt-get installed it' };
}

async function redisVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await run('redis-server', ['--version']);
    return /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function ping(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {}); // connect() rejects with the same error
  try {
    await client.connect();
    await client.ping();
  } finally {
    client.disconnect();
  }
}

/** A loopback port nobody listens on at this moment. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
