/**
 * docs/remote-workers.md as a newcomer follows it, with its own commands: a server, a worker in Python on another machine (another network
 * namespace) with a worker key, killed with -9 in the middle; its run goes on from its checkpoint on the next worker.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { launchCarillon, runCarillon } from '../../cli/run-carillon.ts';
import { eventually } from '../../support/eventually.ts';
import { makeTestFolder } from '../../support/test-folder.ts';
import { findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { TwoMachines, whyNoMachines } from './two-machines.ts';
import { endWorkers, WorkerProcess } from './worker-process.ts';

const LIMIT = { withinMs: 180_000 };
const ROOT = join(import.meta.dirname, '../../..');
const PAGE = readFileSync(join(ROOT, 'docs/remote-workers.md'), 'utf8');
const [, KEY_COMMAND = ''] = /^npx carillon (keys create .* --worker .*)$/m.exec(PAGE) ?? [];

interface ShownRun {
  readonly run_id: string;
  readonly status: string;
  readonly progress?: { readonly percent: number } | null;
  readonly result?: unknown;
}

const python = (await findWorkers()).find(({ language }) => language === 'python')!;
const whyNot = await whyNoMachines();
const isLeft = isLeftOut(python) || (whyNot !== undefined && process.env.CI !== 'true');
const undo: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await endWorkers();
  for (const step of undo.splice(0).reverse()) await step();
});

test.skipIf(isLeft)(
  `on another machine ${nameOf(python)} is killed, and the run goes on from its checkpoint${whyNot ? ` (${whyNot})` : ''}`,
  async () => {
    const machines = await TwoMachines.make();
    undo.push(() => machines.remove());
    const folder = makeTestFolder();
    const port = '7420';
    const { enter, address } = machines.server;
    const program = [
      ...enter,
      ...[process.execPath, '--disable-warning=ExperimentalWarning', join(ROOT, 'packages/cli/src/main.ts')],
    ] as const;
    const env = { CARILLON_URL: `http://${address}:${port}`, CARILLON_DATA: '.carillon' };
    const carillon = async <Answer>(...args: string[]): Promise<Answer> => {
      const { code, stdout, stderr } = await runCarillon([...args, '-o', 'json'], {
        cwd: folder,
        program,
        env,
      });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as Answer;
    };
    const flags = ['--host', address, '--port', port, '--worker-silent-seconds', '6', '--log-level', 'warn'];
    const server = launchCarillon(['start', '--data', '.carillon', ...flags], { cwd: folder, program });
    undo.push(() => {
      server.signal('SIGTERM');
      return server.ended;
    });
    await eventually(() => expect(server.said.stdout, server.said.stderr).toContain('is ready'), LIMIT);

    const { key } = await carillon<{ key: string }>(...KEY_COMMAND.split(' '));
    const startWorker = async (name: string) => {
      const worker = new WorkerProcess({
        ...{ program: [...machines.worker.enter, ...programOf(python)], folder, key, name },
        servers: [`${address}:${port}`],
      });
      await eventually(async () => expect(await worker.output()).toContain('connected to'), LIMIT);
      return worker;
    };
    const first = await startWorker('first');
    const payload = '{"to": 60, "step_ms": 300}';
    await carillon('jobs', 'create', 'Count to sixty', '--handler', 'count', '--payload', payload);
    const newest = async (): Promise<ShownRun> => {
      const [run] = await carillon<readonly ShownRun[]>('runs', 'list', '--limit', '1');
      return run!;
    };
    // Progress is told after the checkpoint is durable.
    await eventually(async () => expect((await newest()).progress?.percent).toBeGreaterThan(0), LIMIT);
    first.signal('SIGKILL');
    await first.exited;
    await startWorker('second');
    const done = await eventually(async () => {
      const run = await newest();
      expect(run.status).toBe('SUCCESS');
      return run;
    }, LIMIT);
    const shown = await carillon<ShownRun>('runs', 'show', done.run_id);
    const { counted, started_at: startedAt } = shown.result as { counted: number; started_at: number };
    expect(counted).toBe(60);
    expect(startedAt).toBeGreaterThan(0);
  },
);
