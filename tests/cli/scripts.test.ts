/** A script as a newcomer meets it from the command line: made, started, looked at while it runs, stopped. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

const SOON = { withinMs: 60_000 };
/** Some of them wait for runs. */
const MANY_COMMANDS = { timeout: 300_000 };

/** Goes on until it is told to stop. */
const ENDLESS = `echo begun
echo '{"progress": 40, "message": "four of ten", "checkpoint": {"at": 4}}' >&3
while true; do sleep 0.1; done
`;

let one: OneServer;
beforeAll(async () => {
  one = await startOneServer();
});
afterAll(() => one?.stop());

const { run, ok } = commandsIn(() => one.folder);

async function scriptJob(name: string, source: string, ...more: string[]): Promise<void> {
  const file = join(one.folder, `${name}.sh`);
  await writeFile(file, source);
  await ok(['jobs', 'create', name, '--script', file, '--interpreter', 'bash', ...more]);
}

test(
  'a run that goes on is shown with its job, its progress, its checkpoint and where its log is',
  MANY_COMMANDS,
  async () => {
    await scriptJob('endless', ENDLESS, '--cron', '0 3 1 1 *', '--retries', '2');
    await ok(['jobs', 'run', 'endless', '--input', '{"year": 2030}']);
    const shown = await eventually(async () => {
      const { stdout, stderr } = await run(['runs', 'show', 'endless']);
      expect(stdout).toMatch(/^progress +40 %, four of ten$/m);
      expect(stdout).toMatch(/^checkpoint +8 bytes/m);
      return { stdout, stderr };
    }, SOON);
    const [, id = ''] = /^id +(\S+)$/m.exec(shown.stdout) ?? [];
    expect(shown.stdout).toMatch(/^job +endless \([0-9a-f-]{36}\)$/m);
    expect(shown.stdout).toMatch(/^attempt +1 of 3$/m);
    expect(shown.stdout).toMatch(/^took .* so far$/m);
    expect(shown.stdout).toMatch(/^input +\{"year":2030\}$/m);
    expect(shown.stderr).toBe(`What it writes: carillon runs logs -f ${id}\n`);
    expect(await ok(['runs', 'list', 'endless'])).toMatch(/ so far /);
    await ok(['runs', 'cancel', 'endless', '--yes']);
    await eventually(
      async () => expect(await ok(['runs', 'show', 'endless'])).toMatch(/^status +CANCELLED$/m),
      SOON,
    );
    const ended = await run(['runs', 'show', 'endless']);
    expect([ended.stdout, ended.stderr]).toEqual([expect.not.stringContaining('so far'), '']);
  },
);

test('a job is shown with its script as it was written', MANY_COMMANDS, async () => {
  await scriptJob('readable', 'echo "first line"\necho second\n', '--every', '1d');
  const shown = await ok(['jobs', 'show', 'readable']);
  expect(shown).toMatch(/^script +echo "first line"\n +echo second$/m);
  expect(shown).toMatch(/^payload +\{\n +"interpreter": "bash"\n +\}$/m);
});

test('waiting for a run tells its id, how it ended and how long it took', MANY_COMMANDS, async () => {
  await scriptJob('failing', 'echo oops >&2; exit 3\n', '--every', '1d', '--retries', '1');
  const { code, stdout, stderr } = await run(['jobs', 'run', 'failing', '--wait']);
  expect(code, stdout).toBe(1);
  expect(stderr).toMatch(/^Started run [0-9a-f-]{36}$/m);
  expect(stdout).toMatch(/FAILED +attempt 2 in \d.* {2}the script ended with exit code 3: oops\n$/);
});

test('the last line of a log is how the script ended, also where its last line has no end', async () => {
  await scriptJob('full', 'echo start; printf "fatal: disk full" >&2; exit 1', '--retries', '0');
  const lines = await eventually(async () => {
    const log = await ok(['runs', 'logs', 'full']);
    expect(log).toContain('exit code 1 after');
    expect(log).toContain('attempt 1 ended');
    return log;
  }, SOON);
  expect(lines).toMatch(/start\n.*fatal: disk full\n.*exit code 1 after/);
});
