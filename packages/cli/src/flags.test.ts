import { describe, expect, test } from 'vitest';
import type { World } from './cli.ts';
import { JOB_FLAGS, jobFields } from './commands/define-job.ts';
import { count, type Flag, grantText, labels, readFlags, readGrant, seconds } from './flags.ts';

const world = { cwd: '/' } as World;
const jobOf = async (parsed: object) => jobFields(await readFlags(JOB_FLAGS, { ...parsed }, world));
const read = async <T>(flag: Flag<T>, given: string | readonly string[]) =>
  (await readFlags({ x: flag }, { x: given }, world)).x;

describe('a job from options', () => {
  test('a call with a schedule', async () => {
    const options = {
      cron: '0 9 * * *',
      tz: 'Europe/Paris',
      http: 'https://example.org',
      method: 'post',
      header: ['X-Team: billing'],
      body: '{"a": 1}',
      timeout: '2m',
      label: ['team=billing'],
      misfire: 'all',
    };
    expect(await jobOf(options)).toEqual({
      cron_expression: '0 9 * * *',
      time_zone: 'Europe/Paris',
      handler: 'http',
      payload: {
        url: 'https://example.org',
        method: 'POST',
        headers: { 'X-Team': 'billing' },
        body: { a: 1 },
      },
      timeout_seconds: 120,
      labels: { team: 'billing' },
      misfire: { policy: 'all' },
    });
  });

  test('what is not said is not sent', async () => {
    expect(await jobOf({})).toEqual({});
  });

  test.each([
    [{ at: '2030-01-01T00:00:00Z', in: '5m' }, /both say when/],
    [{ body: 'x' }, /belong to --http/],
    [{ payload: '[1]' }, /must be a JSON object/],
    [{ payload: '{' }, /not valid JSON/],
    [{ retries: 'many' }, /whole number/],
  ])('%o is refused', async (options, message) => {
    await expect(jobOf(options)).rejects.toThrow(message);
  });
});

test.each([
  ['90', 90],
  ['90s', 90],
  ['1.5m', 90],
  ['2h', 7_200],
  ['1d', 86_400],
])('the duration %s is %d seconds', async (text, expected) => {
  expect(await read(seconds('--x <duration>', ''), text)).toBe(expected);
});

test.each(['', 'soon', '5 minutes', '-1s'])('"%s" is no duration', async (text) => {
  await expect(read(seconds('--x <duration>', ''), text)).rejects.toThrow(/--x must be a duration/);
});

test('counts are whole', async () => {
  const flag = count('--x <count>', '');
  expect(await read(flag, '12')).toBe(12);
  await expect(read(flag, '1.5')).rejects.toThrow(/whole number/);
  await expect(read(flag, '-3')).rejects.toThrow(/from 0 to/);
});

test('a value may hold the separator', async () => {
  const flag = labels('--x <name=value>', '');
  expect(await read(flag, ['a=b=c'])).toEqual({ a: 'b=c' });
  await expect(read(flag, ['a'])).rejects.toThrow(/name=value/);
});

test.each(['viewer', 'editor@billing', 'operator@billing:own', 'viewer:own'])(
  'the grant %s reads back',
  (text) => {
    expect(grantText(readGrant(text))).toBe(text);
  },
);

test('a role that is none is refused with those that are', () => {
  expect(() => readGrant('king@billing')).toThrow(/not a grant/);
});
