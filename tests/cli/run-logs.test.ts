/** The log of a run at the command line, against a server whose handlers write it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';
import {
  type StartedTestServer,
  startTestServer,
} from '../../packages/server/src/testing/start-test-server.ts';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { launchCarillon } from './run-carillon.ts';

const SOON = { withinMs: 60_000 };

let server: StartedTestServer;
let folder: string;
let client: Carillon;
let release = () => {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-cli-logs-'));
  server = await startTestServer({
    handlers: {
      async twice(run) {
        run.log.info(`words of attempt ${run.attempt}`);
        if (run.attempt === 1) throw new Error('not yet');
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      },
      large: () => ({ text: 'x'.repeat(100_000) }),
      async steps(run) {
        run.log.info('step one');
        run.log.error('careful \u001b[2Jcleared');
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        run.log.info('step two');
      },
    },
  });
  client = new Carillon({ url: server.url, key: server.key });
});

afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const { ok, run, json } = commandsIn(() => folder);
const here = (key = server.key) => ['--url', server.url, '--key', key];

async function begin(name: string): Promise<string> {
  const { job_id: id } = await client.jobs.create({ name, schedule_type: 'IMMEDIATE', handler: 'steps' });
  await eventually(async () => expect(await client.runs.logText(id)).toContain('careful'), SOON);
  return id;
}

test('runs logs -f shows lines while the run goes on, and ends with it', async () => {
  const id = await begin('followed');
  // A run is recorded as started when it has gone on for a moment.
  const early = await eventually(async () => {
    const text = await ok(['runs', 'logs', id, ...here()]);
    expect(text).toMatch(/attempt 1 started\n.*step one\n.*careful/);
    return text;
  }, SOON);
  expect(early).not.toContain('step two');
  const following = ok(['runs', 'logs', '-f', id, ...here()]);
  const ofJob = ok(['jobs', 'logs', '-f', 'followed', ...here()]);
  release();
  for (const text of [await following, await ofJob]) {
    expect(text).toMatch(/step one\n.*careful.*step two\n.*attempt 1 ended: SUCCESS/s);
    expect(text.match(/step one/g)).toHaveLength(1);
  }
  const whole = await ok(['runs', 'logs', id, ...here()]);
  expect(whole).toMatch(/started\n.*step one\n.*careful.*\n.*step two\n.*attempt 1 ended: SUCCESS/);
  expect(await ok(['jobs', 'logs', 'followed', ...here()])).toBe(`run ${id}\n${whole}`);
});

test('runs logs -f of a later attempt tells attempt by attempt, as runs logs does', async () => {
  const { job_id: id } = await client.jobs.create({
    ...{ name: 'twice', schedule_type: 'IMMEDIATE', handler: 'twice', retry: { delay_seconds: 0 } },
  });
  await eventually(async () => expect(await client.runs.logText(id)).toContain('words of attempt 2'), SOON);
  const following = launchCarillon(['runs', 'logs', '-f', id, ...here()], { cwd: folder });
  await eventually(async () => expect(following.said.stdout).toContain('words of attempt 2'), SOON);
  release();
  const { code, stdout } = await following.ended;
  expect(code).toBe(0);
  const told = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^[\d-]+ [\d:.]+(?:Z|[+-][\d:]+) {2}/, ''));
  const worker = expect.stringMatching(/^handed to worker /);
  expect(told).toEqual([
    ...[worker, 'attempt 1 started', 'words of attempt 1'],
    ...[expect.stringMatching(/^attempt 1 ended: FAILED/), 'error: not yet'],
    ...[worker, 'attempt 2 started', 'words of attempt 2'],
    expect.stringMatching(/^attempt 2 ended: SUCCESS/),
  ]);
  expect(await ok(['runs', 'logs', id, ...here()])).toBe(stdout);
});

test('parts of a log, and as JSON', async () => {
  const id = await begin('parts');
  release();
  await eventually(async () => expect((await client.runs.get(id)).status).toBe('SUCCESS'), SOON);
  expect(await ok(['runs', 'logs', id, '--stderr', ...here()])).toMatch(/^\S+ \S+ {2}careful[^\n]*\n$/);
  expect(await ok(['runs', 'logs', id, '--search', 'step', '--tail', '1', ...here()])).toMatch(
    /^[^\n]*step two\n$/,
  );
  expect(await ok(['runs', 'logs', id, '--since', '1h', '--tail', '1', ...here()])).toContain('step two');
  expect(await json(['jobs', 'logs', 'parts', '--stderr', ...here()])).toMatchObject({
    ...{ stream: 'stderr', text: 'careful \u001b[2Jcleared' },
  });
});

test('without the permission logs.read the story alone is shown, and the command says so', async () => {
  const id = await begin('hidden');
  release();
  await eventually(async () => expect((await client.runs.get(id)).status).toBe('SUCCESS'), SOON);
  const { key } = await client.keys.create({
    ...{ name: 'viewer', grants: [{ namespace: 'default', role: 'viewer' }] },
  });
  const { code, stdout, stderr } = await run(['runs', 'logs', id, ...here(key)]);
  expect(code).toBe(0);
  expect(stdout).toContain('attempt 1 ended: SUCCESS');
  expect(stdout).not.toContain('step');
  expect(stderr).toContain('logs.read');
  expect((await run(['runs', 'logs', id, '--stderr', ...here(key)])).code).not.toBe(0);
});

test('runs result prints what a handler answered, however large; runs show names the command', async () => {
  const { job_id: id } = await client.jobs.create({
    ...{ name: 'large', schedule_type: 'IMMEDIATE', handler: 'large' },
  });
  await eventually(async () => expect((await client.runs.get(id)).status).toBe('SUCCESS'), SOON);
  expect(JSON.parse(await ok(['runs', 'result', id, ...here()]))).toEqual({ text: 'x'.repeat(100_000) });
  expect(await ok(['runs', 'show', id, ...here()])).toContain(`100011 bytes: carillon runs result ${id}`);
});

test('runs artifacts lists the files that a script left, and writes one to stdout or to a new file', async () => {
  const { job_id: id } = await client.jobs.create({
    ...{ name: 'files', schedule_type: 'IMMEDIATE', handler: 'script' },
    payload: { interpreter: 'bash', script: 'printf "a\\0b" > "$CARILLON_ARTIFACTS/a.bin"' },
  });
  await eventually(async () => expect((await client.runs.get(id)).status).toBe('SUCCESS'), SOON);
  expect(await ok(['runs', 'artifacts', id, ...here()])).toMatch(/^NAME .*\na\.bin +3 +1 /);
  expect(await json(['runs', 'artifacts', id, ...here()])).toMatchObject([{ name: 'a.bin', bytes: 3 }]);
  expect(await ok(['runs', 'artifacts', id, 'a.bin', ...here()])).toBe('a\0b');
  const file = join(folder, 'a.bin');
  await ok(['runs', 'artifacts', id, 'a.bin', '--save', file, ...here()]);
  expect(await readFile(file, 'latin1')).toBe('a\0b');
  expect((await run(['runs', 'artifacts', id, 'a.bin', '--save', file, ...here()])).code).not.toBe(0);
  expect((await run(['runs', 'artifacts', id, '--save', file, ...here()])).stderr).toContain('--save');
  expect((await run(['runs', 'artifacts', id, 'b.bin', ...here()])).stderr).toContain('no file of this name');
});
