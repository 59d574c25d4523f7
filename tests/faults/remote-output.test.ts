/**
 * What a run on another machine says and saves while its server restarts, is killed or stands still: its log goes on, and an older
 * checkpoint never takes the place of a later one (C7, F3, hazard 33).
 */
import { silentLog } from '@carillon/foundation';
import { createWorker, type RunContext, type Worker } from '@carillon/worker';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 120_000 };
/** Long enough for a server to start again on a busy machine: the run must go on meanwhile. */
const PATIENT = ['--worker-silent-seconds', '120', '--shutdown-grace-seconds', '1'];
const QUICK = ['--worker-silent-seconds', '60', '--node-ttl-seconds', '3', '--shutdown-grace-seconds', '1'];

let stage: ServerStage;
let worker: Worker | undefined;
let running: RunContext | undefined;
let end: (error?: Error) => void;

beforeEach(async () => {
  [worker, running] = [undefined, undefined];
  stage = await ServerStage.open();
});
afterEach(async () => {
  end();
  await worker?.stop();
  await stage.close();
});

/** A worker whose only run does what the test says; answers the id of the run. */
async function begin(servers: readonly ServerProcess[]): Promise<string> {
  const [server] = servers;
  const { body } = await callApi<{ key: string }>(server!, '/api/keys', {
    method: 'POST',
    body: { name: 'worker', grants: [{ namespace: '*', role: 'admin' }], scopes: ['workers.connect'] },
  });
  worker = createWorker({
    ...{ servers: servers.map(({ address }) => address), key: body.key, slots: 1, log: silentLog },
    drainSeconds: 1,
  });
  worker.handle('told', (run) => {
    running = run;
    return new Promise<void>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve());
    });
  });
  void worker.run().catch(() => undefined);
  await submitJobs(server!, [
    { name: 'told', handler: 'told', max_retries: 1, retry: { strategy: 'fixed', delay_seconds: 1 } },
  ]);
  await eventually(() => expect(running).toBeDefined(), SOON);
  return running!.runId;
}

async function logOf(server: ServerProcess, runId: string): Promise<string[]> {
  const response = await fetch(`${server.address}/api/runs/${runId}/logs?tail=1000`, {
    headers: { authorization: `Bearer ${await server.adminKey()}`, accept: 'text/plain' },
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replace(/^\d+ [oes] /, ''));
}

const untilLogged = (server: ServerProcess, runId: string, line: string) =>
  eventually(async () => expect(await logOf(server, runId)).toContain(line), SOON);

it.each(['restarts', 'is killed'])(
  'the log of a run goes on when its server %s and its worker is elsewhere: nothing is lost without a mark, nothing stands there twice',
  async (how) => {
    const server = await stage.member('server', PATIENT);
    const runId = await begin([server.process]);
    for (let i = 1; i <= 3; i += 1) running!.log.info(`line ${i}`);
    await untilLogged(server.process, runId, 'line 3');
    if (how === 'restarts') await server.restart();
    else await server.kill(0);
    running!.log.info('meanwhile');
    await server.process.ready();
    await untilLogged(server.process, runId, 'meanwhile');
    running!.log.info('line 4');
    end();
    await untilLogged(server.process, runId, 'line 4');
    const said = (await logOf(server.process, runId)).filter(
      (line) => !/may be missing|is missing/.test(line),
    );
    expect(said).toEqual(['line 1', 'line 2', 'line 3', 'meanwhile', 'line 4']);
    await eventually(async () => {
      const records = await stage.postgres.query('SELECT epoch, ended FROM run_logs');
      expect(records).toEqual([{ epoch: 1, ended: true }]);
    }, SOON);
  },
);

it('a checkpoint that sat in the socket of a server that stood still takes the place of no later one', async () => {
  const frozen = await stage.launch('frozen', QUICK);
  const other = await stage.launch('other', QUICK);
  const runId = await begin([frozen, other]);
  const saved = async () => {
    const [row] = await stage.postgres.query<{ data: string }>(
      'SELECT data FROM checkpoints WHERE run_id = $1',
      [runId],
    );
    return row?.data;
  };
  await running!.checkpoint.save(1);
  expect(await saved()).toBe('1');
  frozen.signal('SIGSTOP');
  // Sent to the server that stands still, and, when the worker has gone to the other one, there again.
  await running!.checkpoint.save(2);
  for (let value = 3; value <= 30; value += 1) await running!.checkpoint.save(value);
  expect(await saved()).toBe('30');
  frozen.signal('SIGCONT');
  await frozen.ready();
  for (let looks = 0; looks < 50; looks += 1) expect(await saved()).toBe('30');
  const first = running!;
  end(new Error('on purpose'));
  await eventually(() => expect(running).not.toBe(first), SOON);
  expect([running!.attempt, running!.checkpoint.value]).toEqual([2, 30]);
});
