/** Starts a server of the submit workload as a process that ends with the bench, and talks to it. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forkApart } from '../ask-process.ts';
import type { ExecutionFigures } from './carillon-server.ts';

export type Serving = {
  readonly address: string;
  /** The admin key, of the one that has one. */
  readonly key: string | undefined;
  /** What its handler saw. */
  executed(): Promise<ExecutionFigures>;
  stop(): Promise<void>;
};

const startPatienceMs = 60_000;

export type ServerModule = 'bare-server.ts' | 'carillon-server.ts';

export async function serve(module: ServerModule, databaseUrl: string): Promise<Serving> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-submit-'));
  const child = forkApart(new URL(module, import.meta.url), {
    DATABASE_URL: databaseUrl,
    DATA_FOLDER: folder,
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
