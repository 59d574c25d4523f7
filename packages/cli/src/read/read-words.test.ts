import { describe, expect, test } from 'vitest';
import type { World } from '../cli.ts';
import { readJobOptions } from './job-options.ts';
import { readCount, readSeconds } from './read-number.ts';
import { readPairs } from './read-pairs.ts';
import { grantText, readGrant } from './roles.ts';

const world = { cwd: '/' } as World;

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
    expect(await readJobOptions(options, world)).toEqual({
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
    expect(await readJobOptions({}, world)).toEqual({});
  });

  test.each([
    [{ at: '2030-01-01T00:00:00Z', in: '5m' }, /both say when/],
    [{ body: 'x' }, /belong to --http/],
    [{ payload: '[1]' }, /must be a JSON object/],
    [{ payload: '{' }, /not valid JSON/],
    [{ retries: 'many' }, /whole number/],
  ])('%o is refused', async (options, message) => {
    await expect(readJobOptions(options, world)).rejects.toThrow(message);
  });
});

test.each([
  ['90', 90],
  ['90s', 90],
  ['1.5m', 90],
  ['2h', 7_200],
  ['1d', 86_400],
])('the duration %s is %d seconds', (text, seconds) => {
  expect(readSeconds(text, '--x')).toBe(seconds);
});

test.each(['', 'soon', '5 minutes', '-1s'])('"%s" is no duration', (text) => {
  expect(() => readSeconds(text, '--x')).toThrow(/--x must be a duration/);
});

test('counts are whole', () => {
  expect(readCount('12', '--x')).toBe(12);
  expect(() => readCount('1.5', '--x')).toThrow(/whole number/);
  expect(() => readCount('-3', '--x')).toThrow(/from 0 to/);
});

test('a value may hold the separator', () => {
  expect(readPairs(['a=b=c'], { flag: '--x' })).toEqual({ a: 'b=c' });
  expect(() => readPairs(['a'], { flag: '--x' })).toThrow(/name=value/);
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
