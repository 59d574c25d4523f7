/** What people stumbled over: each is what they typed, and what they are told now. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allCommands } from '../../packages/cli/src/commands/all-commands.ts';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

const SOON = { withinMs: 60_000 };

let one: OneServer;
let alive = '';
const { run, ok, json, createJob } = commandsIn(() => one.folder);

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
});

afterAll(() => one?.stop());

test('another address of a call keeps its headers, method and body', async () => {
  const id = await createJob(
    ...[
      'kept',
      '--every',
      '1d',
      '--http',
      alive,
      '--method',
      'put',
      '--header',
      'X-A: 1',
      '--header',
      'X-B: 2',
    ],
    ...[
      '--body',
      'text',
      '--label',
      'a=1',
      '--label',
      'b=2',
      '--retry-strategy',
      'fixed',
      '--retry-delay',
      '2s',
    ],
  );
  await ok(['jobs', 'update', id, '--http', 'https://example.org/', '--header', 'x-a=']);
  await ok(['jobs', 'update', id, '--label', 'b=', '--label', 'c=3', '--retry-max-delay', '1m']);
  expect(await json(['jobs', 'show', id])).toMatchObject({
    payload: { url: 'https://example.org/', method: 'PUT', headers: { 'X-B': '2' }, body: 'text' },
    labels: { a: '1', c: '3' },
    retry: { strategy: 'fixed', delay_seconds: 2, max_delay_seconds: 60 },
  });
});

describe('what cannot be undone', () => {
  const ASKING: readonly (readonly [string, string, ...string[]])[] = [
    ['jobs', 'cancel'],
    ['jobs', 'delete'],
    ['namespaces', 'delete'],
    ['runs', 'cancel'],
    ['sessions', 'end'],
    ['keys', 'revoke'],
    ['keys', 'rotate', '--overlap', '0'],
    ['secrets', 'delete'],
    ['signing-keys', 'delete'],
    ['signing-keys', 'rotate', '--overlap', '0s'],
    ['users', 'delete'],
  ];
  /** They ask too, in other words: they can be undone, or first show what they would do. */
  const OTHERS = ['apply', 'context remove', 'dlq redrive', 'import crontab', 'jobs bulk', 'jobs restore'];

  test('is asked about by these commands, and no command that ends something goes without', () => {
    const asking = allCommands.filter(({ options }) => options?.yes !== undefined).map(({ name }) => name);
    const listed = [...ASKING.map(([noun, verb]) => `${noun} ${verb}`), ...OTHERS];
    expect(asking.toSorted()).toEqual(listed.toSorted());
    const ending = allCommands.filter(({ name }) => /(cancel|delete|end|remove|revoke|rotate)$/.test(name));
    expect(ending.map(({ name }) => name).filter((name) => !asking.includes(name))).toEqual([]);
  });

  test.each(ASKING)('%s %s needs --yes where nobody can be asked', async (noun, verb, ...more) => {
    const id = await createJob('asked', '--http', alive, '--every', '1d');
    const { code, stderr, stdout } = await run([noun, verb, id, ...more]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/There is nobody to ask: ".* for good\? \[y\/N\]"\n.*Give --yes/);
    expect(await json(['jobs', 'show', id])).toMatchObject({ status: 'SCHEDULED' });
  });
});

test('a job tells what its runs said', async () => {
  const id = await createJob('talks', '--http', alive);
  await eventually(
    async () => expect(await ok(['jobs', 'logs', id])).toMatch(/attempt 1 ended: SUCCESS/),
    SOON,
  );
  expect(await json(['jobs', 'logs', id])).toContainEqual(
    expect.objectContaining({ attempt_number: 1, message: expect.stringContaining('ended: SUCCESS') }),
  );
});

test('dead letters are those that nobody has sent round again, and a second redrive says that it sent nothing', async () => {
  const id = await createJob('dead', '--http', 'http://127.0.0.1:1/', '--retries', '0', '--every', '1d');
  await ok(['jobs', 'run', id]);
  const letters = (...more: string[]) => json<{ run_id: string }[]>(['dlq', 'list', '--job', id, ...more]);
  const [letter] = await eventually(async () => {
    const found = await letters();
    expect(found).toHaveLength(1);
    return found;
  }, SOON);
  const run_id = letter?.run_id ?? '';
  expect(await ok(['dlq', 'redrive', run_id])).toMatch(/^Sent .* round again as /);
  expect(await ok(['dlq', 'redrive', run_id])).toMatch(
    /was sent round again before, as .*: nothing was sent/,
  );
  expect((await letters()).map((one) => one.run_id)).not.toContain(run_id);
  expect((await letters('--all')).map((one) => one.run_id)).toContain(run_id);
  const none = ['dlq', 'redrive', '--job', id, '--reason', 'never-started', '--yes'];
  expect(await ok(none)).toBe('No dead letter matches. Nothing was changed.\n');
});

describe('times', () => {
  test('one that has passed is said to run now', async () => {
    const { stderr } = await run(['jobs', 'create', 'late', '--http', alive, '--at', '2020-01-01T00:00:00Z']);
    expect(stderr).toContain('2020-01-01T00:00:00Z has passed: it runs now.');
  });

  test('a misspelled zone is answered with the right one, and EST with a warning', async () => {
    const daily = ['jobs', 'create', 'zoned', '--http', alive, '--cron', '0 9 * * *', '--tz'];
    const misspelled = await run([...daily, 'America/NewYork']);
    expect(misspelled.code).toBe(2);
    expect(misspelled.stderr).toContain('did you mean America/New_York?');
    const winter = await run([...daily, 'EST']);
    expect(winter.code).toBe(0);
    expect(winter.stderr).toMatch(/EST is always UTC-05:00 and has no daylight saving time/);
    expect((await run([...daily, 'America/New_York'])).stderr).not.toContain('daylight');
    const preview = await run(['preview', '0 9 * * *', '--tz', 'EST']);
    expect(preview.stderr).toContain('America/New_York is the zone whose clocks change');
  });

  test('a cron expression without quotes is answered with "put it in quotes"', async () => {
    const { code, stderr } = await run(['jobs', 'create', 'x', '--cron', '0', '9', '*', '*', '*']);
    expect(code).toBe(2);
    expect(stderr).toContain('put it in quotes');
  });
});

test('results are also had as YAML, errors too', async () => {
  await createJob('yes', '--http', alive, '--every', '1d');
  const listed = await ok(['jobs', 'list', '--text', 'yes', '-o', 'yaml']);
  expect(listed).toMatch(/^- job_id: \S+\n {2}name: "yes"\n/);
  const { stderr } = await run(['jobs', 'show', 'nothing', '--output', 'yaml']);
  expect(stderr).toMatch(/^error:\n {2}code: /);
});

test('without a server in the folder, the message names the ways to another one', async () => {
  const { code, stderr } = await run(['jobs', 'list'], { cwd: '/' });
  expect(code).toBe(5);
  expect(stderr).toMatch(/--data \(or CARILLON_DATA\).*--url/);
});
