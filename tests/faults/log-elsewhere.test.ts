/** Two servers, each with logs in a folder of its own: what one wrote is read at the other, also while it is written; and what is read when one is gone. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Carillon, type LogMessage } from '../../packages/client/src/index.ts';
import { commandsIn } from '../cli/commands-in.ts';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 120_000 };

let stage: ServerStage;
let folder: string;
beforeEach(async () => {
  stage = await ServerStage.open();
  folder = await mkdtemp(join(tmpdir(), 'carillon-elsewhere-'));
  // Scripts run as another user, and look for a file there.
  await chmod(folder, 0o755);
});
afterEach(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const { ok } = commandsIn(() => folder, { inProcesses: true });
const clientOf = async (server: ServerProcess) =>
  new Carillon({ url: server.address, key: await server.adminKey() });

it('a log of one server is read, searched and followed at another, and named there when its server is killed', async () => {
  const writer = await stage.launch('writer');
  const reader = await stage.launch('reader', ['--roles', 'gateway']);
  const [there, here] = [await clientOf(writer), await clientOf(reader)];
  const go = join(folder, 'go');
  const script = `echo first; seq 1 20000; echo careful >&2; while [ ! -e ${go} ]; do sleep 0.1; done; echo last`;
  const [runId = ''] = await submitJobs(reader, [
    { name: 'chatty', handler: 'script', payload: { interpreter: 'bash', script } },
  ]);

  const messages: LogMessage[] = [];
  const following = (async () => {
    for await (const message of here.runs.tailLogs(runId)) messages.push(message);
  })();
  const lines = (stream: string) =>
    messages.flatMap((message) =>
      message.kind === 'line' && message.stream === stream ? [message.text] : [],
    );
  // The two streams reach the log in any order.
  await eventually(
    () => expect([lines('stdout').at(-1), lines('stderr')]).toEqual(['20000', ['careful']]),
    SOON,
  );
  expect((await here.runs.get(runId)).status).toMatch(/CLAIMED|RUNNING/);
  const atCommand = ok([
    'runs',
    'logs',
    '-f',
    runId,
    '--url',
    reader.address,
    '--key',
    await reader.adminKey(),
  ]);
  await writeFile(go, '');
  await following;
  const numbers = Array.from({ length: 20_000 }, (_, i) => String(i + 1));
  expect(lines('stdout')).toEqual(['first', ...numbers, 'last']);
  expect(messages.at(-1)).toEqual({ kind: 'end', status: 'SUCCESS' });
  expect(await atCommand).toMatch(/ first\n[\s\S]* 20000\n[\s\S]* last\n/);

  const whole = await there.runs.logText(runId);
  expect(await here.runs.logText(runId)).toBe(whole);
  expect(await here.runs.logText(runId, { stream: 'stderr' })).toMatch(/^\d+ e careful\n$/);
  expect(await here.runs.logText(runId, { search: '1999', tail: 1 })).toMatch(/^\d+ o 19999\n$/);
  const part = await fetch(`${reader.address}/api/runs/${runId}/logs`, {
    headers: {
      authorization: `Bearer ${await reader.adminKey()}`,
      accept: 'text/plain',
      range: 'bytes=100000-100999',
    },
  });
  expect([part.status, await part.text()]).toEqual([206, whole.slice(100_000, 101_000)]);

  // The key of a person opens nothing there.
  const refused = await fetch(`${writer.address}/internal/logs/2030-01-01/${runId}/1.log`, {
    headers: { authorization: `Bearer ${await writer.adminKey()}` },
  });
  expect(refused.status).toBe(401);

  const [node] = await stage.postgres.query<{ node_id: string }>('SELECT DISTINCT node_id FROM run_logs');
  await writer.kill();
  const marked = await here.runs.logText(runId);
  expect(marked).toMatch(
    new RegExp(
      `^# attempt 1, .*\n\\d+ s The log of this attempt is missing here: .* server ${node?.node_id}, .*\n$`,
    ),
  );
  expect(await here.runs.logText(runId, { stream: 'stderr' })).toContain('is missing here');
  const told: LogMessage[] = [];
  for await (const message of here.runs.tailLogs(runId)) told.push(message);
  expect(told).toMatchObject([
    { kind: 'attempt', epoch: 1 },
    { kind: 'line', stream: 'system', text: expect.stringContaining(`server ${node?.node_id}`) },
    { kind: 'end', status: 'SUCCESS' },
  ]);

  // The same folder again is the same server again.
  await stage.launch('writer');
  await eventually(async () => expect(await here.runs.logText(runId)).toBe(whole), SOON);
});
