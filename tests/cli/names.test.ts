/** What people call things by: names, keys and beginnings of ids wherever an id is taken, in the namespace of the context. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';
import { launchCarillon } from './run-carillon.ts';

const SOON = { withinMs: 60_000 };
/** Some of them wait for runs. */
const MANY_COMMANDS = { timeout: 600_000 };
const NOBODY = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

let one: OneServer;
let alive = '';
const { run, ok, json, createJob } = commandsIn(() => one.folder);

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
});

afterAll(() => one?.stop());

const daily = (name: string, ...more: string[]) => createJob(name, '--http', alive, '--every', '1d', ...more);

/** Answers the first line, which tells of what was made; the others tell how it went. */
async function ended<T>(args: string[]): Promise<T> {
  const [made = ''] = (await ok([...args, '--wait', '--json'])).split('\n');
  return JSON.parse(made) as T;
}

async function ran(name: string): Promise<string> {
  const { job_id: id } = await ended<{ job_id: string }>(['jobs', 'create', name, '--http', alive]);
  return id;
}

describe('the user of a job', () => {
  const PASSWORD = 'a long phrase of her own';
  let ada = '';
  let key = '';

  beforeAll(async () => {
    const grant = ['--grant', 'editor'];
    const made = await json<{ user_id: string }>(['users', 'create', 'ada', ...grant], { input: PASSWORD });
    ada = made.user_id;
    key = (await json<{ key: string }>(['keys', 'create', 'hers', '--role', 'editor', '--user', 'ada'])).key;
  });

  test('is given by name, and stored by id', MANY_COMMANDS, async () => {
    const id = await daily('of ada', '--user', 'ada');
    expect(await json(['jobs', 'show', id])).toMatchObject({ user_id: ada });
    expect(await json(['jobs', 'list', '--user', 'Ada'])).toMatchObject([{ job_id: id }]);
    expect(await json(['jobs', 'bulk', 'pause', '--user', 'ada', '--dry-run'])).toMatchObject({ matched: 1 });
    await ok(['jobs', 'run', id]);
    await eventually(
      async () => expect(await json(['runs', 'list', '--user', 'ada'])).toMatchObject([{ job_id: id }]),
      SOON,
    );
    await ok(['jobs', 'update', id, '--user', 'id:of-another-system']);
    expect(await json(['jobs', 'list', '--user', 'id:of-another-system'])).toMatchObject([{ job_id: id }]);
  });

  test('who is not there is an error, and not an empty list', async () => {
    for (const command of [
      ['jobs', 'list'],
      ['runs', 'list'],
      ['jobs', 'create', 'x', '--http', alive],
    ]) {
      const { code, stderr } = await run([...command, '--user', 'nobody-here']);
      expect(code, stderr).toBe(3);
      expect(stderr).toMatch(/There is no user .*"nobody-here"\.\n.*carillon users list/);
    }
  });

  test('may be oneself for those who may not look up users', MANY_COMMANDS, async () => {
    const hers = ['--url', one.server.address, '--key', key];
    for (const name of ['ada', 'me']) {
      const id = await daily(`by ${name}`, '--user', name, ...hers);
      expect(await json(['jobs', 'list', '--user', name, ...hers])).toContainEqual(
        expect.objectContaining({ job_id: id, user_id: ada }),
      );
    }
    const other = await run(['jobs', 'list', '--user', 'bob', ...hers]);
    expect([other.code, other.stderr]).toEqual([4, expect.stringContaining('instead of "bob"')]);
    const nobody = await run(['jobs', 'list', '--user', 'me']);
    expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining('your key belongs to nobody')]);
  });
});

describe('a job', () => {
  test('of a name that another has had is made with a note, also when that one has ended', async () => {
    const ledger = ['jobs', 'create', 'ledger', '--http', alive, '--wait'];
    expect((await run(ledger)).stderr).not.toContain('name already');
    expect((await run(ledger)).stderr).toMatch(/there was a job of this name already \([0-9a-f-]+\)/);
    expect((await run(['jobs', 'show', 'ledger'])).stderr).toContain('fits more than one job');
  });

  test('whose name is misspelled is suggested', MANY_COMMANDS, async () => {
    await daily('invoice-mailer');
    for (const command of [
      ['jobs', 'run'],
      ['runs', 'logs'],
    ]) {
      const { code, stderr } = await run([...command, 'invoce-mailer']);
      expect([code, stderr]).toEqual([3, expect.stringContaining('Did you mean "invoice-mailer"?')]);
    }
    expect((await run(['jobs', 'run', 'nothing like it'])).stderr).not.toContain('Did you mean');
  });
});

describe('a run', () => {
  test('is called by the beginning of its id, also one that was run again', MANY_COMMANDS, async () => {
    const id = await ran('short');
    const { run_id: again } = await json<{ run_id: string }>(['runs', 'rerun', id.slice(0, 18)]);
    for (const runId of [id, again]) {
      expect(await json(['runs', 'show', runId.slice(0, 18)])).toMatchObject({ run_id: runId });
      await eventually(
        async () => expect(await ok(['runs', 'logs', runId.slice(0, 18)])).toContain('attempt 1 ended'),
        SOON,
      );
    }
    const { worker_id: worker } = await json<{ worker_id: string }>(['runs', 'show', id]);
    expect(await json(['runs', 'list', '--worker', worker.slice(0, 8)])).not.toEqual([]);
    expect(await json(['runs', 'list', '--worker', worker])).not.toEqual([]);
    expect(await ok(['events', '--run', id.slice(0, 18)])).toContain(id);
  });

  test('is called by the key or name of its job: the latest one', MANY_COMMANDS, async () => {
    await daily('Poll the orders', '--job-key', 'poll');
    const { code, stderr } = await run(['runs', 'show', 'poll']);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/Poll the orders has not run yet; next at \d{4}-\d\d-\d\d /),
    ]);
    await ok(['jobs', 'run', 'poll', '--wait']);
    const { run_id: latest } = await ended<{ run_id: string }>(['jobs', 'run', 'poll']);
    expect(await json(['runs', 'show', 'poll'])).toMatchObject({ run_id: latest });
    expect(await ok(['runs', 'logs', 'Poll the orders'])).toContain('attempt 1 ended: SUCCESS');
  });

  test('that several fit is refused with them', MANY_COMMANDS, async () => {
    const first = await ran('first twin');
    const second = await ran('second twin');
    const { code, stderr } = await run(['runs', 'show', first.slice(0, 6)]);
    expect(code, stderr).toBe(2);
    expect(stderr).toMatch(/fits more than one run/);
    expect(stderr).toContain(second);
    // All of them are in one namespace.
    expect(stderr).toMatch(/Give the id\.$/m);
  });

  test('the first run of a job is waited for by those who follow its log', MANY_COMMANDS, async () => {
    for (const [noun, name] of [
      ['runs', 'first of all'],
      ['jobs', 'first of others'],
    ] as const) {
      await daily(name);
      const following = launchCarillon([noun, 'logs', '-f', name], { cwd: one.folder });
      await eventually(
        () => expect(following.said.stderr).toContain(`${name} has not run yet; next at`),
        SOON,
      );
      await ok(['jobs', 'run', name]);
      const { code, stdout } = await following.ended;
      expect([code, stdout]).toEqual([0, expect.stringContaining('attempt 1 ended: SUCCESS')]);
    }
    await daily('off at once');
    await ok(['jobs', 'cancel', 'off at once', '--yes']);
    const { code, stderr } = await run(['runs', 'logs', '-f', 'off at once']);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('has not run, and will not: it is cancelled'),
    ]);
  });
});

test('names are those of the namespace of the context', MANY_COMMANDS, async () => {
  const home = await mkdtemp(join(tmpdir(), 'carillon-names-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const there = commandsIn(() => home);
  await ok(['namespaces', 'create', 'billing']);
  const outside = await daily('same');
  const inside = await daily('same', '--namespace', 'billing');
  await daily('only outside');
  const env = { CARILLON_KEY: await one.server.adminKey() };
  const url = ['--url', one.server.address];
  await there.ok(['context', 'add', 'here', ...url, '--namespace', 'billing'], { env });
  expect(await there.json(['jobs', 'show', 'same'])).toMatchObject({ job_id: inside });
  expect(await there.json(['jobs', 'show', outside])).toMatchObject({ job_id: outside });
  expect((await there.run(['jobs', 'show', 'same', '--all-namespaces'])).stderr).toContain(
    'more than one job',
  );
  const update = ['jobs', 'update', 'same', '--namespace', 'default', '--priority', 'high'];
  expect(await there.json(update)).toMatchObject({ job_id: outside });
  const missing = await there.run(['jobs', 'pause', 'only outside']);
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('in the namespace billing') });
  expect(missing.stderr).toContain('--all-namespaces looks everywhere');
  await there.ok(['jobs', 'pause', 'only outside', '--all-namespaces']);
});

test('several jobs are changed by one request, with a result for each', MANY_COMMANDS, async () => {
  const asked: string[] = [];
  const proxy = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const { method, url = '', headers } = request;
    const body = Buffer.concat(await request.toArray());
    const authorization = headers.authorization ?? '';
    const type = body.length > 0 ? { 'content-type': 'application/json' } : undefined;
    const answer = await fetch(`${one.server.address}${url}`, {
      method: method ?? 'GET',
      headers: { authorization, ...type },
      ...(body.length > 0 && { body }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const through = ['--url', url, '--key', await one.server.adminKey()];
  const ids = [await daily('first of two'), await daily('second of two')];
  const { code, stdout, stderr } = await run(['jobs', 'pause', ...ids, NOBODY, '--json', ...through]);
  expect(asked).toEqual(['POST /api/jobs/bulk']);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(ids.map((job_id) => ({ job_id, outcome: 'paused', changed: true })));
  expect(JSON.parse(stderr)).toMatchObject({
    error: { code: 'job_not_found', message: expect.stringContaining(NOBODY) },
  });
  expect(code).toBe(3);
  expect(await ok(['jobs', 'resume', ...ids])).toBe(ids.map((id) => `Resumed ${id}\n`).join(''));
  const done = await ran('done');
  const cancelled = await run(['jobs', 'cancel', ids[0] ?? '', done, '--yes']);
  expect(cancelled).toMatchObject({ code: 1, stdout: `Cancelled ${ids[0]}\n` });
  expect(cancelled.stderr).toContain('has ended (COMPLETED)');
});

test('dead letters are listed by whether they are handled', MANY_COMMANDS, async () => {
  const id = await createJob('dead', '--http', 'http://127.0.0.1:1/', '--retries', '0');
  const letters = (...more: string[]) => json<unknown[]>(['dlq', 'list', '--job', id, ...more]);
  await eventually(async () => expect(await letters()).toHaveLength(1), SOON);
  expect(await letters('--handled', 'true')).toEqual([]);
  expect(await letters('--handled', 'false')).toHaveLength(1);
  const { run_id: again } = await json<{ run_id: string }>(['dlq', 'redrive', id]);
  expect(await letters('--handled', 'false')).not.toContainEqual(expect.objectContaining({ run_id: id }));
  expect(await letters('--handled', 'true')).toMatchObject([{ run_id: id, redriven_run_id: again }]);
  expect(await ok(['dlq', 'show', id])).toMatch(new RegExp(`handled by +${again}`));
  expect(await letters('--handled', 'all')).not.toEqual([]);
});

test('a signing key is called by the beginning of its id', MANY_COMMANDS, async () => {
  const made = await json<{ signing_key_id: string }>(['signing-keys', 'create', 'default']);
  const id = made.signing_key_id;
  const missing = await run(['signing-keys', 'delete', '000000', '--yes']);
  expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('There is no signing key')]);
  const args = ['signing-keys', 'delete', id.slice(0, 18), '--yes', '--namespace', 'default'];
  expect(await ok(args)).toBe(`Deleted ${id}\n`);
});

test(
  'changes are found by the name of what was changed, also of what is removed',
  MANY_COMMANDS,
  async () => {
    const changes = async (subject: string) =>
      (await json<{ action: string }[]>(['audit', '--subject', subject])).map(({ action }) => action);
    const id = await daily('Yearly report', '--job-key', 'yearly');
    for (const called of ['Yearly report', 'yearly', id.slice(0, 18), id])
      expect(await changes(called)).toEqual(['jobs.create']);
    await ok(['jobs', 'delete', id, '--yes']);
    for (const called of ['Yearly report', id.slice(0, 18), id])
      expect(await changes(called)).toEqual(['jobs.delete', 'jobs.cancel', 'jobs.create']);
    await ok(['namespaces', 'create', 'reports']);
    expect(await changes('reports')).toEqual(['namespaces.create']);
    const key = await json<{ key_id: string }>(['keys', 'create', 'reporter', '--role', 'viewer']);
    expect(await changes('reporter')).toEqual(await changes(key.key_id));
    const nothing = await run(['audit', '--subject', 'nobody-here']);
    expect([nothing.code, nothing.stderr]).toEqual([3, expect.stringContaining('Nothing that was changed')]);
  },
);
