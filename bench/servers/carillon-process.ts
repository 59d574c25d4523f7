/**
 * Carillon as people start it: a process of its own with a data folder of its own, gone with the bench. Flags decide what it
 * is; everything else has the server's defaults.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url));
const startPatienceMs = 60_000;

export type CarillonProcess = Awaited<ReturnType<typeof startCarillon>>;

export async function startCarillon(flags: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-server-'));
  const data = join(folder, 'data');
  const own = ['--data', data, '--port', '0', '--log-level', 'warn'];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...own, ...flags], {
    cwd: folder,
    detached: true,
    // The fourth is a pipe nobody writes to: when the bench dies, however it dies, it closes and the server stops.
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    env: { ...withoutOurs(process.env), CARILLON_PARENT_FD: '3' },
  });
  const exited = once(child, 'exit');
  /** Resolves when it has ended. */
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const address = await addressOf(child);
    return {
      pid: child.pid!,
      address,
      adminKey: readFileSync(join(data, 'admin.key'), 'utf8').trim(),
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

/** Of a key as a program has it: of one namespace, with a role. It is made with the admin key. */
export async function keyHeaders({ address, key }: { address: string; key: string }) {
  const made = await fetch(`${address}/api/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', namespace: 'default', role: 'editor' }),
  });
  if (made.status !== 201) throw new Error(`no key: ${await made.text()}`);
  return { authorization: `Bearer ${((await made.json()) as { key: string }).key}` };
}
