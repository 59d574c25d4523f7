/** `import crontab` against a real server: what becomes of each line, and what is said of it before. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

let one: OneServer;
let alive = '';
const { run, json } = commandsIn(() => one.folder);

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
});

afterAll(() => one?.stop());

describe('import crontab', () => {
  const crontab = `CRON_TZ=Europe/Paris\n*/5 * * * * curl -fsS http://127.0.0.1:1/\n@reboot x\n`;

  test('shows what it would make, makes it, and makes nothing twice', async () => {
    const dry = await run(['import', 'crontab', '-', '--dry-run'], { input: crontab });
    expect(dry.code).toBe(1);
    expect(dry.stdout).toMatch(/\*\/5 \* \* \* \*\s+Europe\/Paris\s+http/);
    expect(dry.stderr).toMatch(/line 3 is left out: @reboot/);
    const count = async () =>
      (await json<unknown[]>(['jobs', 'list', '--label', 'source=crontab', '-n', '0'])).length;
    expect(await count()).toBe(0);
    const first = await run(['import', 'crontab', '-', '--yes', '--json'], { input: crontab });
    const again = await run(['import', 'crontab', '-', '--yes', '--json'], { input: crontab });
    const [made] = JSON.parse(first.stdout).made;
    expect(made).toMatchObject({ line: 2, created: true });
    expect(JSON.parse(again.stdout)).toEqual({
      ...{ made: [{ ...made, created: false }], refused: [], left_out: [] },
    });
    expect(await count()).toBe(1);
    const { stdout } = await run(['import', 'crontab', '-', '--yes'], { input: crontab });
    expect(stdout).toContain('0 jobs made, 1 was there already, 0 refused.');
  });

  test('a command becomes a script job, which runs', async () => {
    const line = 'GREETING=hello\n0 3 * * * test "$GREETING $(cat)" = "hello world" || exit 9%world\n';
    const made = await run(['import', 'crontab', '-', '--yes', '--json'], { input: line });
    expect(made.code, made.stderr).toBe(0);
    const [{ job_id }] = JSON.parse(made.stdout).made;
    expect(await json(['jobs', 'show', job_id])).toMatchObject({ handler: 'script', status: 'SCHEDULED' });
    const ran = await run(['jobs', 'run', job_id, '--wait']);
    expect(ran.code, ran.stderr).toBe(0);
  });

  test('lines that nothing can run are told before anything is made, and left out or paused', async () => {
    const mixed = `0 3 * * * /bin/backup\n0 4 * * * curl -X POST -d 'a=1' ${alive}\n0 5 * * * curl ${alive} | sh\n`;
    const load = ['import', 'crontab', '-', '--tz', 'UTC', '--handler', 'commands'];
    const dry = await run([...load, '--dry-run'], { input: mixed });
    expect(dry.code).toBe(1);
    expect(dry.stdout).toMatch(/1 +backup .* commands +no, left out/);
    expect(dry.stdout).toMatch(/2 +POST 127.* http +yes/);
    expect(dry.stderr).toMatch(/line 3: it stays a command: its output goes to another command/);
    expect(dry.stderr).toMatch(
      /no worker offers the handler "commands": 2 of 3 lines would never run \(1, 3\)/,
    );
    const asked = await run(load, { input: mixed });
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('would never run') });
    const made = await run([...load, '--yes', '--json'], { input: mixed });
    expect(made.code).toBe(1);
    expect(JSON.parse(made.stdout)).toMatchObject({
      made: [{ line: 2 }],
      left_out: [{ line: 1 }, { line: 3 }],
    });
    const [call] = JSON.parse(made.stdout).made;
    expect(await json(['jobs', 'show', call.job_id])).toMatchObject({
      handler: 'http',
      payload: { url: alive, method: 'POST', body: 'a=1' },
    });
    const all = await run([...load, '--yes', '--paused', '--json'], { input: mixed });
    expect(all.code, all.stderr).toBe(0);
    for (const { line, job_id } of JSON.parse(all.stdout).made)
      expect(await json(['jobs', 'show', job_id])).toMatchObject({
        status: line === 2 ? 'SCHEDULED' : 'PAUSED',
      });
  });

  test('a namespace that does not exist is told, also in a dry run', async () => {
    const dry = ['import', 'crontab', '-', '--dry-run', '--namespace', 'nowhere'];
    const { code, stderr, stdout } = await run(dry, { input: crontab });
    expect(code, stderr).toBe(3);
    expect(stderr).toContain('carillon namespaces list');
    expect(stdout).toBe('');
  });

  test('a dry run lets the server judge each line', async () => {
    const judged = `0 3 * * * /bin/good\n61 * * * * /bin/bad\n0 0 31 2 * /bin/never\n`;
    const dry = ['import', 'crontab', '-', '--dry-run', '--tz', 'Europe/Paris'];
    const { code, stdout, stderr } = await run(dry, { input: judged });
    expect(code).toBe(1);
    expect(stdout).toMatch(/good .* 20\d\d-\d\d-\d\d \d\d:00:00/);
    expect(stderr).toMatch(/line 2 would be refused: .*"61" is above 59/);
    expect(stderr).toMatch(/line 3 would be refused: .*never fires/);
    const load = ['import', 'crontab', '-', '--yes', '--paused', '--tz', 'Europe/Paris'];
    const asked = `30 3 * * * curl ${alive}\n61 * * * * curl ${alive}/bad\n`;
    const made = await run([...load, '--json'], { input: asked });
    expect([made.code, made.stderr]).toEqual([
      1,
      expect.stringMatching(/line 2 was refused: .*"61" is above 59/),
    ]);
    expect(JSON.parse(made.stdout)).toMatchObject({
      ...{ made: [{ line: 1 }], refused: [{ line: 2, error: expect.stringContaining('"61" is above 59') }] },
    });
    expect((await run(load, { input: asked })).stdout).toContain(
      '0 jobs made, 1 was there already, 1 refused.',
    );
    const alone = await run([...dry, '--url', 'http://127.0.0.1:1'], { input: judged });
    expect(alone.stderr).toContain('no server answers');
    expect(alone.stdout).toContain('good');
  });
});
