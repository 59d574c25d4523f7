/** Starts a server of the submit workload as a process that ends with the bench, and talks to it. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forkApart } from '../ask-process.ts';
import { keyHeaders } from '../servers/carillon-process.ts';
import type { ExecutionFigures } from './carillon-server.ts';

export type Serving = Awaited<ReturnType<typeof serve>>;

const startPatienceMs = 60_000;

export type ServerModule = 'bare-server.ts' | 'carillon-server.ts';

export async function serve(module: ServerModule, databaseUrl: string) {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-submit-'));
  const child = forkApart(new URL(module, import.meta.url), {
    DATABASE_URL: databaseUrl,
    DATA_FOLDER: folder,
  });
  const exited = once(child, 'exit');
  const { address, key } = (await answerOf(child, 'start')) as { address: string; key?: string };
  return {
    /** Where jobs are posted, and as whom: bare Fastify knows no keys. */
    async target() {
      if (key === undefined) return { address, path: '/jobs', headers: {} };
      return { address, path: '/api/jobs', headers: await keyHeaders({ address, key }) };
    },
    /** What its handler saw. */
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
