/** Skipping a coming fire from the command line, against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

let one: OneServer;
beforeAll(async () => {
  one = await startOneServer();
});
afterAll(() => one?.stop());

const { run, ok, json, createJob } = commandsIn(() => one.folder);

test('a fire is skipped and brought back, and the job tells of it', async () => {
  const id = await createJob('yearly', '--http', 'http://127.0.0.1:9/', '--cron', '0 9 1 1 *');
  const { next_run_at: next } = await json<{ next_run_at: string }>(['jobs', 'show', id]);
  expect(await ok(['jobs', 'skip', id, '--at', next])).toMatch(/^Skipped .*; next run: /);
  expect(await ok(['jobs', 'skip', id, '--at', next])).toContain('was skipped already');
  expect(await ok(['jobs', 'show', id])).toMatch(/skipped fires\s+\S+ \S+ by admin key/);
  expect(await ok(['jobs', 'why', id])).toContain(`carillon jobs unskip ${id} --at ${next}`);
  expect(await json(['jobs', 'show', id])).toMatchObject({ skipped_fires: [{ at: next, by: 'admin key' }] });
  expect(await ok(['jobs', 'unskip', id])).toContain('runs again');
  expect(await json(['jobs', 'show', id])).toMatchObject({ skipped_fires: [], next_run_at: next });
  expect(await run(['jobs', 'unskip', id])).toMatchObject({
    stderr: expect.stringContaining('No fire of the job is skipped.'),
  });
});

test('what is no coming fire is refused with the next ones', async () => {
  const id = await createJob('daily', '--http', 'http://127.0.0.1:9/', '--cron', '0 9 * * *');
  expect(await run(['jobs', 'skip', id, '--at', '2030-01-01T10:00:00Z'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/is no coming fire of the job .* The next ones are /),
  });
});
