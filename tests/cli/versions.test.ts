/** The versions of a job, one of them brought back, and its owner by name, from the command line, against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

let one: OneServer;
beforeAll(async () => {
  one = await startOneServer();
});
afterAll(() => one?.stop());

const { run, ok, json, createJob } = commandsIn(() => one.folder);

test('an earlier version is looked at, brought back, and listed as that', async () => {
  const id = await createJob('report', '--http', 'http://127.0.0.1:9/', '--cron', '0 9 * * *');
  await ok(['jobs', 'update', id, '--cron', '0 18 * * *', '--priority', 'high']);
  const looked = await ok(['jobs', 'restore', id, '--to', '1', '--dry-run']);
  expect(looked).toContain('cron_expression: "0 18 * * *" -> "0 9 * * *"');
  expect(looked).toContain('priority: "high" -> "medium"');
  expect(await json(['jobs', 'show', id])).toMatchObject({ cron_expression: '0 18 * * *', version: 2 });
  expect(await ok(['jobs', 'restore', id, '--to', '1', '--yes'])).toContain('it is version 3 now');
  expect(await json(['jobs', 'show', id])).toMatchObject({
    ...{ cron_expression: '0 9 * * *', priority: 'medium', version: 3 },
  });
  expect(await ok(['jobs', 'versions', id])).toMatch(
    /3 .*admin key.*restore of version 1.*priority schedule/,
  );
  expect(await ok(['jobs', 'restore', id, '--to', '1', '--yes'])).toContain('is as it was in version 1');
});

test('what a version does not bring back is told: a credential that will be missing, and a time that has passed', async () => {
  const kept = ['--header', 'Authorization: Bearer one'];
  const id = await createJob('calls', '--http', 'http://127.0.0.1:9/a', '--cron', '0 9 * * *', ...kept);
  await ok(['jobs', 'update', id, '--http', 'http://127.0.0.1:9/b', '--header', 'Authorization: Bearer two']);
  const stays = await run(['jobs', 'restore', id, '--to', '1', '--dry-run']);
  expect(stays.stderr).toContain('payload.headers.Authorization is not recorded, and stays');
  await ok(['jobs', 'update', id, '--payload', '{"url":"http://127.0.0.1:9/c"}']);
  const missing = await run(['jobs', 'restore', id, '--to', '1', '--dry-run']);
  expect(missing.stderr).toContain('payload.headers.Authorization is not recorded, and will be missing');

  const past = '2020-01-01T00:00:00Z';
  const once = await createJob('once', '--http', 'http://127.0.0.1:9/', '--at', past);
  await ok(['jobs', 'update', once, '--at', '2040-01-01T00:00:00Z']);
  const late = await run(['jobs', 'restore', once, '--to', '1', '--dry-run']);
  expect(late.stderr).toMatch(/2020-01-01T00:00:00.*Z has passed: it runs now/);
});

test('whoever may read a job is told its owner by name, and may not list users', async () => {
  await ok(['users', 'create', 'grace'], { input: 'correct horse battery staple\n' });
  const [grace] = await json<{ user_id: string }[]>(['users', 'list']);
  const id = await createJob('hers', '--http', 'http://127.0.0.1:9/', '--cron', '0 9 * * *');
  await ok(['jobs', 'update', id, '--user', grace!.user_id]);
  const { key } = await json<{ key: string }>(['keys', 'create', 'looks', '--grant', 'viewer@default']);
  const asViewer = ['--url', one.server.address, '--key', key];
  expect(await run(['users', 'list', ...asViewer])).toMatchObject({
    stderr: expect.stringContaining('users.read'),
  });
  expect(await ok(['jobs', 'list', ...asViewer])).toMatch(/hers .*grace/);
  const shown = await ok(['jobs', 'show', id, ...asViewer]);
  expect(shown).toMatch(/user +grace/);
  expect(shown).not.toContain(grace!.user_id);
});

test('a version that was never there is refused, and one has to be named', async () => {
  const id = await createJob('plain', '--http', 'http://127.0.0.1:9/', '--cron', '0 9 * * *');
  expect(await run(['jobs', 'restore', id, '--to', '7', '--yes'])).toMatchObject({
    stderr: expect.stringContaining('it has no version 7 yet'),
  });
  expect(await run(['jobs', 'restore', id])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Say which version is meant.'),
  });
});
