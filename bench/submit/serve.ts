/** Starts a server of the submit workload as a process that ends with the bench, and talks to it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionFigures } from './carillon-server.ts';

export type Serving = {
  readonly address: string;
  /** The admin key, of the one that has one. */
  readonly key: string | undefined;
  /** What its handler saw since it was last told to forget. */
  executed(): Promise<ExecutionFigures>;
  forget(): void;
  stop(): Promise<void>;
};

const startPatienceMs = 60_000;

export async function serve(
  module: 'bare-server.ts' | 'carillon-server.ts',
  databaseUrl: string,
): Promise<Serving> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-submit-'));
  const child = fork(new URL(module, import.meta.url), {
    env: { ...process.env, NODE_ENV: 'production', DATABASE_URL: databaseUrl, DATA_FOLDER: folder },
    detached: true,
  });
  const exited = once(child, 'exit');
  const started = (await answerOf(child, 'start')) as { address: string; key?: string };
  return {
    address: started.address,
    key: started.key,
    executed: () => {
      child.send('tell');
      return answerOf(child, 'answer') as Promise<ExecutionFigures>;
    },
    forget: () => void child.send('forget'),
    async stop() {
      child.disconnect();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answerOf(child: ChildProcess, what: string): Promise<unknown> {
  const signal = AbortSignal.timeout(startPatienceMs);
  const [message] = await Promise.race([
    once(child, 'message', { signal }),
    once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`the server ended with ${code} before it could ${what}`);
    }),
  ]);
  return message;
}
