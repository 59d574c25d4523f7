/**
 * The server as people start it, with its embedded database and a data folder of its own, gone with the bench. It has run
 * a job before it is left alone: a server that never worked would look smaller than one that has.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../servers/eventually.ts';

const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url));
const startPatienceMs = 60_000;

export type IdleServer = {
  readonly pid: number;
  runOneJob(): Promise<void>;
  assertReady(): Promise<void>;
  stop(): Promise<void>;
};

export async function startIdleServer(): Promise<IdleServer> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-idle-'));
  const data = join(folder, 'data');
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, '--data', data, '--port', '0', '--log-level', 'warn'],
    {
      cwd: folder,
      detached: true,
      // The fourth is a pipe nobody writes to: when the bench dies, however it dies, it closes and the server stops.
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
      env: { ...withoutOurs(process.env), CARILLON_PARENT_FD: '3' },
    },
  );
  const exited = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const address = await addressOf(child);
    const authorization = `Bearer ${readFileSync(join(data, 'admin.key'), 'utf8').trim()}`;
    return {
      pid: child.pid!,
      runOneJob: () => runOneJob(address, authorization),
      assertReady: async () => {
        const answer = await fetch(`${address}/health/ready`);
        if (!answer.ok) throw new Error(`the server is not ready: ${await answer.text()}`);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Settings in the environment of whoever runs the bench are not the server's defaults. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('CARILLON_')));
}

/** From the greeting, which the server prints once jobs can run. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error('the server did not start in time')), startPatienceMs);
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const address = /^\s*address\s+(http\S+)/m.exec(text)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`the server ended with ${code} instead of starting`));
    });
  });
}

async function runOneJob(address: string, authorization: string): Promise<void> {
  const created = await fetch(`${address}/api/jobs`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'hello', handler: 'http', payload: { url: `${address}/health/live` } }),
  });
  if (created.status !== 201) throw new Error(`a job was refused: ${await created.text()}`);
  const { job_id: jobId } = (await created.json()) as { job_id: string };
  await eventually(async () => {
    const answer = await fetch(`${address}/api/jobs/${jobId}/status`, { headers: { authorization } });
    const { status } = (await answer.json()) as { status: string };
    if (status !== 'completed') throw new Error(`a job that calls the server itself is ${status}`);
  }, 10_000);
}
