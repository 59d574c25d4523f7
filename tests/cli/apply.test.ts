/** Schedules kept in files: apply, diff and export against a real server, and names where an id is taken. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

const SOON = { withinMs: 60_000 };

let one: OneServer;
let client: Carillon;

beforeAll(async () => {
  one = await startOneServer();
  client = new Carillon({ url: one.server.address, key: await one.server.adminKey() });
  for (const name of ['git', 'other', 'names']) await client.namespaces.create({ name });
});

afterAll(() => one?.stop());

const { run, ok, json } = commandsIn(() => one.folder);
const write = (name: string, text: string) => writeFile(join(one.folder, name), text);
/** What a change leaves behind. */
const traces = async (namespace: string) => ({
  jobs: (await client.jobs.list({ namespace }).toArray()).map(({ job_id: id, version }) => [id, version]),
  audit: (await client.audit.list({ namespace }).toArray()).length,
  events: (await client.events.latest({ namespace, count: 200 })).events.length,
});

const FILE = `namespace: git
set: main
jobs:
  - key: report
    cron_expression: 0 9 * * 1-5
    time_zone: Europe/Paris
    payload: {url: 'http://127.0.0.1:9/report', method: POST}
  - key: poll
    name: Poll
    interval: 15m
    handler: nobody
    labels: {team: billing}
`;

describe('apply', () => {
  test('tells of a job that was taken out of its file and stays, as --prune is not given', async () => {
    const jobs = (...keys: string[]) =>
      write(
        'less.yaml',
        `set: less\njobs:\n${keys.map((key) => `- {key: ${key}, interval: 1d, handler: nobody}\n`).join('')}`,
      );
    await jobs('stays', 'goes');
    await ok(['apply', '-f', 'less.yaml']);
    await jobs('stays');
    const { code, stderr } = await run(['apply', '-f', 'less.yaml']);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/1 job of the set less .* stays .*goes.*--prune/),
    ]);
    expect((await run(['apply', '-f', 'less.yaml', '--prune', '--yes'])).stderr).not.toContain('stays');
  });

  test('says in words when what it makes or changes runs', async () => {
    const file = (interval: string) =>
      write('often.yaml', `- {key: often, interval: ${interval}, handler: nobody}\n`);
    await file('15');
    for (const flags of [['--dry-run'], []])
      expect(await ok(['apply', '-f', 'often.yaml', ...flags])).toMatch(/created +often .* every 15 seconds/);
    await file('1d');
    expect(await ok(['apply', '-f', 'often.yaml'])).toMatch(/updated +often .* interval .*every day at /);
  });

  test('makes what a file describes, and the second time changes nothing at all', async () => {
    await write('jobs.yaml', FILE);
    expect(await ok(['apply', '-f', 'jobs.yaml', '--dry-run'])).toMatch(/created +report +git .*every/);
    expect(await client.jobs.list({ namespace: 'git' }).toArray()).toEqual([]);
    expect(await ok(['apply', '-f', 'jobs.yaml'])).toMatch(/created +poll +git/);
    const before = await traces('git');
    expect(before.jobs).toHaveLength(2);
    const { code, stdout, stderr } = await run(['apply', '-f', 'jobs.yaml']);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('Nothing changes: 2 jobs');
    expect(await traces('git')).toEqual(before);
    expect((await run(['diff', '-f', 'jobs.yaml'])).code).toBe(0);
  });

  test('a difference is shown as one, and an export that is applied changes nothing', async () => {
    await write('changed.yaml', FILE.replace('0 9 * * 1-5', '30 9 * * 1-5'));
    const { code, stdout } = await run(['diff', '-f', 'changed.yaml']);
    expect(code).toBe(1);
    const trouble: [string[], RegExp][] = [
      [['--url', 'http://127.0.0.1:1'], /cannot be reached/],
      [['--url', one.server.address, '--key', 'ck_no'], /carillon login/],
      [['--namespace', 'nowhere', '-f', 'apart.yaml'], /nowhere/],
    ];
    await write('apart.yaml', 'key: apart\ninterval: 1d\n');
    for (const [flags, words] of trouble)
      expect(await run(['diff', '-f', 'changed.yaml', ...flags])).toMatchObject({
        ...{ code: 2, stdout: '', stderr: expect.stringMatching(words) },
      });
    expect(stdout).toContain('-cron_expression: 0 9 * * 1-5\n+cron_expression: 30 9 * * 1-5\n time_zone');
    expect(await ok(['apply', '-f', 'changed.yaml'])).toMatch(/updated +report +git +cron_expression/);
    const exported = await ok(['export', '--namespace', 'git']);
    expect(exported).toContain('cron_expression: 30 9 * * 1-5');
    expect(exported).not.toContain('priority');
    const again = await run(['apply', '-f', '-'], { input: exported });
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('Nothing changes')]);
    const asJson = await ok(['export', '--namespace', 'git', '--json']);
    expect((await run(['apply', '-f', '-'], { input: asJson })).stderr).toContain('Nothing changes');
  });

  test('everything that is wrong is said with file, line and field, and nothing is applied', async () => {
    await write(
      'bad.yaml',
      'namespace: git\njobs:\n  - key: good\n    interval: 1h\n  - key: bad\n    interval: soon\n',
    );
    await write('worse.yaml', 'jobs:\n  - key: worse\n    cron_expresion: 0 9 * * *\n  - name: no key\n');
    const { code, stderr } = await run(['apply', '-f', 'bad.yaml', '-f', 'worse.yaml']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/bad\.yaml:6: interval: bad: /);
    expect(stderr).toMatch(/worse\.yaml:3: cron_expresion: .*Did you mean "cron_expression"/);
    await write('flags.yaml', 'jobs:\n  - key: a\n    retries: 2\n  - key: b\n    every: 1h\n');
    const flags = await run(['apply', '-f', 'flags.yaml']);
    expect(flags.stderr).toMatch(/flags\.yaml:3: retries: .*"retries"\. Did you mean "max_retries"\?/);
    expect(flags.stderr).toMatch(/flags\.yaml:5: every: .*"every"\. Did you mean "interval"\?/);
    expect(stderr).toMatch(/worse\.yaml:4: key: A job needs a key/);
    expect(await client.jobs.list({ key: 'good' }).toArray()).toEqual([]);
  });

  test('prune removes what an earlier apply of the set made, and nothing else', async () => {
    const payload = { url: 'http://127.0.0.1:9/' };
    const hands = { interval: '1d', namespace: 'git', payload } as const;
    const kept = [
      await client.jobs.create({ ...hands, name: 'by hand' }),
      await client.jobs.create({ ...hands, name: 'by hand with a key', key: 'by-hand' }),
      await client.jobs.create({ ...hands, name: 'label alone', labels: { 'carillon/set': 'main' } }),
      await client.jobs.apply({ ...hands, key: 'of-another-set', labels: { 'carillon/set': 'other' } }),
      await client.jobs.apply({
        ...hands,
        key: 'elsewhere',
        namespace: 'other',
        labels: { 'carillon/set': 'main' },
      }),
    ];
    await write('fewer.yaml', FILE.slice(0, FILE.indexOf('  - key: poll')));
    expect((await run(['apply', '-f', 'fewer.yaml'])).code).toBe(0);
    expect((await client.jobs.getByKey('poll', { namespace: 'git' })).name).toBe('Poll');
    const asked = await run(['apply', '-f', 'fewer.yaml', '--prune']);
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await ok(['apply', '-f', 'fewer.yaml', '--prune', '--dry-run'])).toMatch(/removed +poll/);
    expect(await ok(['apply', '-f', 'fewer.yaml', '--prune', '--yes'])).toMatch(/removed +poll/);
    await expect(client.jobs.getByKey('poll', { namespace: 'git' })).rejects.toMatchObject({ status: 404 });
    for (const { job_id: id } of kept) expect((await client.jobs.get(id ?? '')).status).toBe('SCHEDULED');
    await write('no-set.yaml', 'namespace: git\njobs: []\n');
    expect((await run(['apply', '-f', 'no-set.yaml', '--prune', '--yes'])).stderr).toContain('--set');
  });

  test('files that were applied with a set say so when it is left out', async () => {
    await write('shop.yaml', 'namespace: git\njobs:\n  - key: shop\n    interval: 1h\n');
    expect((await run(['apply', '-f', 'shop.yaml', '--set', 'shop'])).stderr).not.toContain('Applied before');
    const hint = expect.stringContaining('Applied before with --set shop');
    expect(await run(['diff', '-f', 'shop.yaml'])).toMatchObject({ code: 1, stderr: hint });
    expect(await run(['apply', '-f', 'shop.yaml', '--dry-run'])).toMatchObject({ code: 0, stderr: hint });
    const { code, stderr } = await run(['diff', '-f', 'shop.yaml', '--set', 'shop']);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('Applied before')]);
  });

  test('two commands at the same moment make each job once', async () => {
    const jobs = Array.from({ length: 20 }, (_, i) => `  - key: same-${i}\n    interval: 1h\n`).join('');
    await write('many.yaml', `namespace: other\njobs:\n${jobs}`);
    const ended = await Promise.all([1, 2].map(() => run(['apply', '-f', 'many.yaml'])));
    expect(ended.map(({ code, stderr }) => [code, stderr.includes('failed')])).toEqual([
      [0, false],
      [0, false],
    ]);
    const made = await client.jobs.list({ namespace: 'other', key_prefix: 'same-' }).toArray();
    expect(made.map(({ key, version }) => [key, version])).toHaveLength(20);
    expect(new Set(made.map(({ key }) => key)).size).toBe(20);
  });

  test('a job that runs at the moment is exported like any other', async () => {
    const receiver = await new Receiver().start();
    try {
      const namespace = 'going-on';
      await ok(['namespaces', 'create', namespace]);
      const payload = { url: receiver.url(600_000) };
      const { job_id: id } = await client.jobs.create({ name: 'long', key: 'long', namespace, payload });
      await eventually(async () => expect((await client.jobs.get(id)).status).toBe('RUNNING'), SOON);
      expect(await ok(['export', '--namespace', namespace])).toContain('key: long\n');
      await client.jobs.cancel(id);
    } finally {
      await receiver.stop();
    }
  });

  test('jobs without a key get one when asked for', async () => {
    const job = { interval: '1d', handler: 'nobody', namespace: 'names' } as const;
    for (const name of ['Nightly report!', 'Nightly report?']) await client.jobs.create({ ...job, name });
    const left = await run(['export', '--namespace', 'names']);
    expect([left.stdout, left.stderr]).toEqual(['', expect.stringContaining('2 jobs without a key')]);
    expect(left.stderr).toContain('jobs update <job> --job-key <key>');
    expect(await ok(['export', '--namespace', 'names', '--type', 'one-time'])).toBe('');
    const exported = await ok(['export', '--namespace', 'names', '--add-keys']);
    expect(exported).toContain('key: nightly-report\n');
    expect(exported).toContain('key: nightly-report-2\n');
    expect((await run(['apply', '-f', '-'], { input: exported })).stderr).toContain(
      'Nothing changes: 2 jobs',
    );
  });
});

describe('names where an id is taken', () => {
  test('the key, a name that only one has, and the beginning of an id say the job', async () => {
    const job = { interval: '1d', handler: 'nobody', namespace: 'names' } as const;
    const made = await client.jobs.apply({ ...job, key: 'known', name: 'Well known' });
    const id = made.job_id ?? '';
    for (const called of ['known', 'Well known', id.slice(0, 18)])
      expect((await json<{ job_id: string }>(['jobs', 'show', called])).job_id).toBe(id);
    await ok(['jobs', 'pause', 'known']);
    await ok(['jobs', 'resume', 'Well known']);
    const { run_id: runId } = await json<{ run_id: string }>(['jobs', 'run', 'known']);
    expect((await json<{ run_id: string }[]>(['runs', 'list', 'known'])).map((one) => one.run_id)).toContain(
      runId,
    );
    const missing = await run(['jobs', 'show', 'nothing-of-this-name']);
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('nothing-of-this-name')]);
  });

  test('what fits several is refused with all of them', async () => {
    const job = { interval: '1d', handler: 'nobody', namespace: 'names', name: 'twin' } as const;
    const twins = [await client.jobs.create(job), await client.jobs.create(job)];
    const { code, stderr } = await run(['jobs', 'delete', 'twin', '--yes']);
    expect(code).toBe(2);
    for (const { job_id: id } of twins) {
      expect(stderr).toContain(id);
      expect((await client.jobs.get(id)).status).toBe('SCHEDULED');
    }
  });

  test('a second job of one name is noted', async () => {
    const args = ['jobs', 'create', 'namesake', '--every', '1d', '--handler', 'nobody'];
    expect((await run(args)).stderr).not.toContain('--job-key');
    const { job_id: first } = (await client.jobs.list({ name: 'namesake' }).toArray())[0]!;
    const { stderr } = await run(args);
    expect(stderr).toContain('--job-key');
    expect(stderr).toContain(first.slice(0, 13));
    expect((await run([...args, '--job-key', 'third'])).stderr).not.toContain('--job-key');
    expect((await client.jobs.getByKey('third')).name).toBe('namesake');
  });

  test('users and keys are called by their names', async () => {
    await client.users.create({ name: 'nell', password: 'a long phrase of her own', grants: [] });
    expect(await ok(['users', 'grant', 'nell', 'viewer'])).toContain('nell may: viewer');
    await client.keys.create({ name: 'deploy', role: 'viewer' });
    await ok(['keys', 'revoke', 'deploy', '--yes']);
    expect((await run(['keys', 'revoke', 'deploy', '--yes'])).code).toBe(3);
  });
});
