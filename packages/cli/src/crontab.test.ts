import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSystemCrontab, parseCrontab, planJobs } from './crontab.ts';

const read = (text: string, system = false) => parseCrontab(text, { system });

test('comments and empty lines are nothing', () => {
  expect(read('# a comment\n\n   # another\n')).toEqual({ entries: [], problems: [] });
});

test('a line is five fields and a command, spaces within it kept', () => {
  expect(read('*/5  0-6 *\t* mon   /bin/run  --name "a  b"').entries).toMatchObject([
    { line: 1, expression: '*/5 0-6 * * mon', command: '/bin/run  --name "a  b"', user: undefined },
  ]);
});

test('a system crontab has a user on every line', () => {
  expect(read('17 * * * * root cd / && run-parts /etc/cron.hourly', true).entries).toMatchObject([
    { user: 'root', command: 'cd / && run-parts /etc/cron.hourly' },
  ]);
  expect(read('@daily www-data /bin/clean', true).entries).toMatchObject([
    { expression: '@daily', user: 'www-data', command: '/bin/clean' },
  ]);
});

test('variables count from where they stand', () => {
  const { entries } = read(
    'SHELL=/bin/bash\n0 1 * * * a\nCRON_TZ = "Europe/Paris"\nMAILTO=ops@example.org\nX=\n0 2 * * * b\n',
  );
  expect(entries).toMatchObject([
    { command: 'a', timeZone: undefined, mailTo: undefined, environment: { SHELL: '/bin/bash' } },
    {
      command: 'b',
      timeZone: 'Europe/Paris',
      mailTo: 'ops@example.org',
      environment: { SHELL: '/bin/bash', X: '' },
    },
  ]);
});

test('an equals sign in a command makes it no variable', () => {
  expect(read('0 0 * * * A=1 /bin/run').entries).toMatchObject([{ command: 'A=1 /bin/run' }]);
});

test('% starts the input, further ones are line breaks, and \\% is a percent sign', () => {
  expect(read('0 0 * * * mail -s "\\%done" x%Hello%World').entries).toMatchObject([
    { command: 'mail -s "%done" x', stdin: 'Hello\nWorld' },
  ]);
});

describe('what cannot become a job is refused by line', () => {
  test.each([
    ['@reboot /bin/start', /by time/],
    ['@fortnightly /bin/x', /not known/],
    ['0 0 * * *', /five time fields and a command/],
    ['hello', /five time fields/],
  ])('%s', (line, reason) => {
    const { entries, problems } = read(`# first\n${line}\n`);
    expect(entries).toEqual([]);
    expect(problems).toMatchObject([{ line: 2, text: line, reason: expect.stringMatching(reason) }]);
  });
});

test.each([
  ['/etc/crontab', true],
  ['/etc/cron.d/backup', true],
  ['crontab.txt', false],
  ['/home/me/etc-crontab', false],
])('%s names users: %s', (path, system) => {
  expect(isSystemCrontab(path)).toBe(system);
});

/** Any text at all. fast-check's own unit `binary` takes seconds to set up. */
const unit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code));

test('every line is an entry, a problem, a variable or nothing, and no text makes it fail', () => {
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 300 }), fc.boolean(), (text, system) => {
      const { entries, problems } = parseCrontab(text, { system });
      expect(entries.length + problems.length).toBeLessThanOrEqual(text.split('\n').length);
    }),
  );
});

const OPTIONS = { timeZone: 'Europe/Berlin', handler: 'script', namespace: undefined };
const plan = (text: string) => planJobs(parseCrontab(text, { system: false }).entries, OPTIONS);

test('a command becomes a job for the handler that runs commands, in the zone of the machine', () => {
  const [planned] = plan('PATH=/opt/bin\n0 3 * * 0 /usr/local/bin/backup.sh --full >/dev/null 2>&1');
  expect(planned).toMatchObject({
    line: 2,
    job: {
      name: 'backup.sh --full',
      cron_expression: '0 3 * * 0',
      time_zone: 'Europe/Berlin',
      handler: 'script',
      payload: {
        interpreter: 'sh',
        script: '/usr/local/bin/backup.sh --full >/dev/null 2>&1',
        stdin: '',
        env: { PATH: '/opt/bin' },
      },
      max_retries: 0,
      timeout_seconds: 86_400,
    },
  });
});

test('SHELL names the interpreter, % the input, and a user who cannot be kept is told', () => {
  const [planned] = plan('SHELL=/bin/bash\n0 3 * * * cat%one%two');
  expect(planned?.job.payload).toEqual({ interpreter: 'bash', script: 'cat', stdin: 'one\ntwo' });
  expect(planned).not.toHaveProperty('note');
  const { entries } = parseCrontab('0 3 * * * www-data /bin/clean', { system: true });
  expect(planJobs(entries, OPTIONS)[0]?.note).toBe('it runs as the user of script.user, not as www-data');
});

test('CRON_TZ wins over the zone of the machine', () => {
  expect(plan('CRON_TZ=Asia/Tokyo\n@daily x')[0]?.job.time_zone).toBe('Asia/Tokyo');
});

describe('a name tells nothing that may be secret', () => {
  const SECRET = 'hunter2secret';
  test.each([
    ['curl -u me:hunter2secret https://example.org/ping', 'example.org/ping'],
    ['curl -H "Authorization: Bearer hunter2secret" https://example.org/ping', 'example.org/ping'],
    [
      'curl -X POST -d a=1 https://me:hunter2secret@example.org:8443/a/b?token=hunter2secret',
      'POST example.org:8443/a/b',
    ],
    ['curl https://hooks.example.org/services/hunter2secret', 'hooks.example.org/services/…'],
    ['curl -sH "X-Api-Key: hunter2secret" https://example.org/x?k=hunter2secret | sh', 'curl example.org/x'],
    ['curl -u me:hunter2secret "https://me:hunter2secret@example.org/x" > /tmp/x', 'curl example.org/x'],
    ['/usr/bin/mysqldump -phunter2secret shop', 'mysqldump'],
    ['PGPASSWORD=hunter2secret pg_dump shop', 'pg_dump'],
    ['pg_dump postgres://me:hunter2secret@db/shop', 'pg_dump'],
    ['backup.sh --token hunter2secret', 'backup.sh'],
    ['backup.sh --token=hunter2secret', 'backup.sh'],
    ['backup.sh --full --verbose --token hunter2secret', 'backup.sh --full --verbose'],
    ['notify hunter2secret', 'notify'],
    ['cd /srv/app && python3 /opt/report.py hunter2secret', 'python3 report.py'],
    ['npm run nightly -- hunter2secret', 'npm run nightly'],
    ['"hunter2secret x" y', 'crontab'],
  ])('%s', (command, name) => {
    const [planned] = plan(`0 3 * * * ${command}`);
    expect(planned?.job.name).toBe(name);
    expect(JSON.stringify(planned?.job.name)).not.toContain(SECRET);
  });
});

test('a call becomes an http job with its method, body and time limit', () => {
  const [planned] = plan("0 3 * * * curl -X POST -m 20 --retry 2 -d 'a=1' https://example.org/ping");
  expect(planned).not.toHaveProperty('note');
  expect(planned?.job).toMatchObject({
    handler: 'http',
    payload: { url: 'https://example.org/ping', method: 'POST', body: 'a=1' },
    timeout_seconds: 20,
    max_retries: 2,
  });
});

test('a call that cannot be one says why it stays a command', () => {
  expect(plan('0 3 * * * curl https://example.org/x | sh')).toMatchObject([
    {
      line: 1,
      job: { handler: 'script' },
      note: expect.stringContaining('stays a command: its output goes'),
    },
  ]);
});

test('the same crontab gives the same keys again, and equal lines different ones', () => {
  const text = '0 0 * * * a\n0 0 * * * a\n0 0 * * * b\n';
  const keys = plan(text).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(3);
  expect(plan(text).map(({ idempotencyKey }) => idempotencyKey)).toEqual(keys);
});
