import { expect, test } from 'vitest';
import { plainCall, planJobs } from './job-of-entry.ts';
import { parseCrontab } from './parse-crontab.ts';

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
      payload: { script: '/usr/local/bin/backup.sh --full >/dev/null 2>&1', env: { PATH: '/opt/bin' } },
      max_retries: 0,
    },
  });
});

test('CRON_TZ wins over the zone of the machine', () => {
  expect(plan('CRON_TZ=Asia/Tokyo\n@daily x')[0]?.job.time_zone).toBe('Asia/Tokyo');
});

test.each([
  ['curl -fsS https://example.org/ping', 'https://example.org/ping'],
  ["curl -s 'https://example.org/ping?a=1&b=2' >/dev/null 2>&1", 'https://example.org/ping?a=1&b=2'],
  ['wget -q -O /dev/null http://example.org/x', 'http://example.org/x'],
  ['curl -X POST https://example.org/ping', undefined],
  ['curl https://example.org/ping | sh', undefined],
  ['curl https://example.org/$(hostname)', undefined],
  ['curl https://example.org/a && rm -rf /tmp/x', undefined],
  ['/opt/mycurl https://example.org', undefined],
])('%s is a plain call of %s', (command, url) => {
  expect(plainCall({ command, stdin: undefined })).toBe(url);
});

test('the same crontab gives the same keys again, and equal lines different ones', () => {
  const text = '0 0 * * * a\n0 0 * * * a\n0 0 * * * b\n';
  const keys = plan(text).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(3);
  expect(plan(text).map(({ idempotencyKey }) => idempotencyKey)).toEqual(keys);
});
