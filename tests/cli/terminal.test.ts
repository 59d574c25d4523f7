/** The command as the person at a terminal meets it: Ctrl-C, questions, tables that fit, bars that move. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { widthOf } from '../../packages/cli/src/output/table.ts';
import { Carillon } from '../../packages/client/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { type OneServer, startOneServer } from './one-server.ts';
import { launchCarillon, runCarillon } from './run-carillon.ts';
import { CTRL_C, linesOf, runOnTerminal, whyNoTerminal } from './terminal/run-on-terminal.ts';

const isLeftOut = whyNoTerminal !== undefined && process.env.CI !== 'true';
const name = isLeftOut ? `on a terminal (${whyNoTerminal})` : 'on a terminal';
const COLUMNS = 80;
const SOON = { withinMs: 60_000 };
/** Each command is two processes that start. */
const MANY_COMMANDS = { timeout: 600_000 };

let one: OneServer;
let carillon: Carillon;
let alive = '';

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
  carillon = new Carillon({ url: one.server.address, key: await one.server.adminKey() });
});

afterAll(() => one?.stop());

const create = async (more: object) =>
  (await carillon.jobs.create({ name: 'a job', payload: { url: alive }, ...more })).job_id;

async function jobsFile(count: number): Promise<string> {
  const file = join(one.folder, `jobs-${count}.json`);
  const jobs = Array.from({ length: count }, (_, i) => ({
    name: `one of many ${i}`,
    interval: '1d',
    payload: { url: alive },
  }));
  await writeFile(file, JSON.stringify(jobs));
  return file;
}

describe.skipIf(isLeftOut)(name, () => {
  const interrupt = (args: string[], see: string) =>
    runOnTerminal(args, { cwd: one.folder, steps: [{ see, type: CTRL_C }] });

  test('Ctrl-C ends the watching of a job with 130, and the job goes on', async () => {
    const id = await create({ interval: '1d' });
    const seen = await interrupt(['jobs', 'show', id, '--watch'], 'scheduled');
    expect(seen).toMatchObject({ code: 130, isClean: true, unseen: [] });
    expect(linesOf(seen.written).at(-2)).toMatch(/^Watching ended; the job goes on/);
    expect(await carillon.jobs.get(id)).toMatchObject({ status: 'SCHEDULED' });
  });

  test('Ctrl-C ends the waiting for a new job with 130, after its id was told', async () => {
    const args = ['jobs', 'create', 'later', '--http', alive, '--in', '1h', '--wait'];
    const { code, written, isClean } = await interrupt(args, 'scheduled');
    expect({ code, isClean }).toEqual({ code: 130, isClean: true });
    expect(written).toMatch(/Created later: [0-9a-f-]{36}/);
  });

  test('Ctrl-C ends the following of events with 130', async () => {
    await create({ name: 'told of', interval: '1d' });
    const seen = await interrupt(['events', '-f', '--since', '1h'], 'told of');
    expect(seen).toMatchObject({ code: 130, isClean: true, unseen: [] });
  });

  test('Ctrl-C ends the following of a run with 130', async () => {
    const id = await create({ handler: 'nobody-has-this', payload: {} });
    const [run] = await carillon.jobs.runs(id).toArray();
    const runId = run?.run_id ?? expect.fail('there is no run');
    for (const args of [
      ['runs', 'logs', '-f', runId],
      ['runs', 'show', '--watch', runId],
    ]) {
      // The time that a line begins with.
      const seen = await interrupt(args, ':');
      expect(seen, args.join(' ')).toMatchObject({ code: 130, isClean: true, unseen: [] });
    }
  });

  test('Ctrl-C at a question ends with 130 and does nothing', async () => {
    const id = await create({ interval: '1d' });
    const seen = await interrupt(['jobs', 'delete', id], '[y/N]');
    expect(seen).toMatchObject({ code: 130, isClean: true, unseen: [] });
    expect(await carillon.jobs.get(id)).toMatchObject({ job_id: id });
  });

  test('Ctrl-C at a password ends with 130, and what is typed next can be seen', async () => {
    const seen = await interrupt(['users', 'create', 'eve'], 'Password for eve: ');
    expect(seen).toMatchObject({ code: 130, isClean: true, unseen: [] });
  });

  test('a question is answered, and a password is not shown', async () => {
    const password = 'a phrase nobody may see';
    const steps = ['Password for mallory: ', 'Once more: '].map((see) => ({ see, type: `${password}\r` }));
    const seen = await runOnTerminal(['users', 'create', 'mallory'], { cwd: one.folder, steps });
    expect(seen).toMatchObject({ code: 0, unseen: [] });
    expect(seen.written).not.toContain(password);
    const id = await create({ interval: '1d' });
    const yes = [{ see: '[y/N]', type: 'y\r' }];
    expect(await runOnTerminal(['jobs', 'delete', id], { cwd: one.folder, steps: yes })).toMatchObject({
      code: 0,
      written: expect.stringContaining(`Removed ${id}`),
    });
  });

  test.each(['Password for twin: ', 'Server: '])(
    'passwords that arrive together at "%s" are all read',
    async (see) => {
      const name = see.startsWith('S') ? 'early' : 'twin';
      const password = 'a phrase nobody may see';
      const steps = [{ see, type: `${password}\r${password}\r` }];
      const seen = await runOnTerminal(['users', 'create', name], { cwd: one.folder, steps });
      expect(seen).toMatchObject({ code: 0, unseen: [], isClean: true });
      expect(seen.written).toContain(`Added ${name}`);
    },
  );

  test('who has signed in is asked for their own password where it is needed', async () => {
    const password = 'a phrase of the administrator';
    const grants = [{ namespace: '*', role: 'admin' as const, own_only: false }];
    await carillon.users.create({ name: 'kim', password, grants });
    const { key } = await carillon.session.createKeyWithPassword({ name: 'kim', password }, () => ({
      ...{ name: 'login of kim', grants },
    }));
    const env = { CARILLON_URL: one.server.address, CARILLON_KEY: key.key };
    const grant = ['users', 'grant', 'kim', 'viewer@default'];
    const steps = [{ see: 'Your password: ', type: `${password}\r` }];
    const seen = await runOnTerminal(grant, { cwd: one.folder, env, steps });
    expect(seen).toMatchObject({ code: 0, unseen: [] });
    expect(seen.written).not.toContain(password);
    expect(seen.written).toContain(`Server: ${one.server.address}`);
  });

  test('tables and lines fit, and ids are whole', MANY_COMMANDS, async () => {
    const id = await create({ name: 'a job with a rather long name that goes on and on', max_retries: 0 });
    await create({ name: 'fails', max_retries: 0, payload: { url: 'http://127.0.0.1:1/' } });
    for await (const _ of carillon.watch(id));
    await carillon.keys.create({ name: 'a key with a rather long name', role: 'viewer' });
    const words = [
      'jobs list',
      'jobs upcoming --within 2d',
      `runs list ${id}`,
      'dlq list',
      'events',
      'workers',
    ];
    for (const line of [
      ...words,
      'keys list',
      'users list',
      'namespaces list',
      'audit',
      'status',
      `jobs show ${id}`,
    ]) {
      const { written, code } = await runOnTerminal(line.split(' '), { cwd: one.folder, columns: COLUMNS });
      expect(code, written).toBe(0);
      for (const shown of linesOf(written)) expect(widthOf(shown), shown).toBeLessThanOrEqual(COLUMNS);
      expect(written, line).not.toMatch(/\b01[0-9a-f-]{3,33}…/);
    }
  });

  test('in 80 columns dead letters are shown with their error, and with -o wide everything is', async () => {
    await create({ name: 'refused at once', max_retries: 0, payload: { url: 'http://127.0.0.1:1/' } });
    const shown = async (...more: string[]) => {
      const { written } = await runOnTerminal(['dlq', 'list', ...more], {
        cwd: one.folder,
        columns: COLUMNS,
      });
      return linesOf(written).join('\n');
    };
    const table = await eventually(async () => {
      const written = await shown();
      expect(written).toContain('refused at once');
      return written;
    }, SOON);
    expect(table).toMatch(/^ID +JOB +ERROR$/m);
    expect(table).toMatch(/refused at once {2}\S.{20}/);
    for (const line of table.split('\n')) expect(widthOf(line), line).toBeLessThanOrEqual(COLUMNS);
    expect(await shown('-o', 'wide')).toMatch(/^ID +JOB +DIED +ERROR +REASON +TRIES +HANDLED BY$/m);
  });

  test(
    'in 80 columns runs are shown with their error, and workers with their name, state and handlers',
    MANY_COMMANDS,
    async () => {
      const id = await create({ name: 'refused', max_retries: 0, payload: { url: 'http://127.0.0.1:1/' } });
      for await (const _ of carillon.watch(id));
      const shown = async (...args: string[]) => {
        const { written } = await runOnTerminal(args, { cwd: one.folder, columns: COLUMNS });
        const lines = linesOf(written);
        for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(COLUMNS);
        return lines.join('\n');
      };
      expect(await shown('runs', 'list', id)).toMatch(/^ID +STATUS .*ERROR/m);
      expect(await shown('runs', 'list', id)).toMatch(new RegExp(`^${id} +FAILED .*GET http://127`, 'm'));
      const failed = await shown('runs', 'list', '--status', 'failed');
      expect(failed).toMatch(/^FAILED +refused .*GET http/m);
      const [beginning = ''] = /[0-9a-f]{8}-[0-9a-f]{4}\S*$/m.exec(failed) ?? [];
      const told = await runOnTerminal(['runs', 'show', beginning], { cwd: one.folder, columns: 200 });
      expect(told.written).toContain('refused');
      expect(await shown('keys', 'list')).toMatch(/^ID .* MAY/m);

      const machine = 'a-machine-with-a-long-name-in-the-third-rack.example.org';
      const { key } = await carillon.keys.create({ name: 'w', worker: { handlers: ['http'] } });
      const flags = ['--url', one.server.address, '--handlers', 'http', '--name', machine];
      const away = launchCarillon(['worker', ...flags], { cwd: one.folder, env: { CARILLON_KEY: key } });
      try {
        const workerId = await eventually(async () => {
          const found = (await carillon.workers.list().toArray()).find(({ name }) => name === machine);
          expect(found, away.said.stderr).toBeDefined();
          return found!.worker_id;
        }, SOON);
        const table = await shown('workers');
        expect(table).toMatch(/^ID +NAME +ALIVE +RUNNING +STUCK +SLOTS +HANDLERS$/m);
        const [, short = ''] = /^(\S+) +a-machine-\S*… +yes +0 +0 +8 +http$/m.exec(table) ?? [];
        expect(short, table).not.toBe('');
        expect(workerId.startsWith(short)).toBe(true);
        const wide = await runOnTerminal(['workers', '-o', 'wide'], { cwd: one.folder, columns: COLUMNS });
        expect(wide.written).toContain(workerId);
        const drained = await runOnTerminal(['workers', 'drain', short], { cwd: one.folder, columns: 200 });
        expect(drained).toMatchObject({ code: 0, written: expect.stringContaining(workerId) });
      } finally {
        away.signal('SIGTERM');
        await away.ended;
      }
    },
  );

  test('the list tells when a job runs that runs once, also in 80 columns', async () => {
    await create({ name: 'once, with a rather long name', schedule_time: '2100-03-01T12:00:00Z' });
    const { written } = await runOnTerminal(['jobs', 'list', '--text', 'once, with'], {
      cwd: one.folder,
      columns: COLUMNS,
    });
    expect(linesOf(written).join('\n')).toMatch(/scheduled +2100-03-01 12:00 +on 2100-03-01$/m);
    expect(linesOf(written).join('\n')).toMatch(/^Times are in \S+\.$/m);
  });

  test('in 80 columns jobs are shown by the beginning of their id, with their last run', async () => {
    const id = await create({ name: 'ran', labels: { shown: 'short' } });
    for await (const _ of carillon.watch(id));
    const shown = async (...more: string[]) => {
      const args = ['jobs', 'list', '--label', 'shown=short', ...more];
      return linesOf((await runOnTerminal(args, { cwd: one.folder, columns: COLUMNS })).written).join('\n');
    };
    const table = await shown();
    expect(table).toMatch(/^ID +NAME +STATUS +NEXT RUN +LAST RUN +SCHEDULE/m);
    expect(table).toMatch(new RegExp(`^${id.slice(0, 13)} +ran +completed +SUCCESS `, 'm'));
    expect(await shown('-o', 'wide')).toContain(id);
    expect(await carillon.jobs.get(id)).toMatchObject({ status: 'COMPLETED' });
  });

  test('many jobs move a bar that is gone in the end', async () => {
    const file = await jobsFile(250);
    const { code, written } = await runOnTerminal(['jobs', 'create', '--file', file], { cwd: one.folder });
    expect(code).toBe(0);
    expect(written).toMatch(/█+░+ 100\/250/);
    expect(linesOf(written).join('\n')).not.toMatch(/[█░]/);
  });

  test('Ctrl-C in the middle of an import ends with 130 on a clean line', async () => {
    const lines = Array.from({ length: 400 }, (_, i) => `${i % 60} 3 * * * /bin/job-${i}`);
    const crontab = join(one.folder, 'crontab.txt');
    await writeFile(crontab, `${lines.join('\n')}\n`);
    const seen = await interrupt(['import', 'crontab', crontab, '--yes', '--paused'], '10/400 made');
    expect(seen).toMatchObject({ code: 130, isClean: true, unseen: [] });
    expect(linesOf(seen.written).join('\n')).not.toMatch(/[█░]/);
    expect(seen.written).toMatch(/\d+ jobs made so far; the same command again makes only the others/);
  });
});

test('without a terminal no bar is drawn', async () => {
  const file = await jobsFile(150);
  const { code, stdout, stderr } = await runCarillon(['jobs', 'create', '--file', file], { cwd: one.folder });
  expect(code, stderr).toBe(0);
  expect(`${stdout}${stderr}`).not.toMatch(/[█░\r]/);
});
