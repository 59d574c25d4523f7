import type { Job } from '@carillon/client';
import { JOB_FIELDS } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import type { World } from './cli.ts';
import { changedFields, JOB_FLAGS, jobFields } from './commands/job-flags.ts';
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

  test('variables of a script are taken as they are', async () => {
    const env = ['A= b=c ', 'C=x'];
    expect(await jobOf({ env, handler: 'script' })).toEqual({
      handler: 'script',
      payload: { env: { A: ' b=c ', C: 'x' } },
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
    [{ env: ['A'], handler: 'script' }, /--env must be NAME=value, and is "A"/],
  ])('%o is refused', async (options, message) => {
    await expect(jobOf(options)).rejects.toThrow(message);
  });
});

describe('a change of a job', () => {
  const change = async (parsed: object, current: object) =>
    changedFields(await readFlags(JOB_FLAGS, { ...parsed }, world), current as Job);
  const call = {
    handler: 'http',
    payload: {
      url: 'https://old',
      method: 'PUT',
      headers: { Accept: 'text/plain', 'X-Team': 'a' },
      body: 'b',
    },
    labels: { team: 'billing', tier: '1' },
    resources: { cpu: 1 },
  };

  test('another address keeps method, headers and body', async () => {
    expect(await change({ http: 'https://new' }, call)).toEqual({
      handler: 'http',
      payload: { ...call.payload, url: 'https://new' },
    });
  });

  test('one header is changed in any case, one removed, the others stay', async () => {
    const headers = (header: string[]) => change({ header }, call);
    expect(await headers(['accept: text/html'])).toEqual({
      payload: { ...call.payload, headers: { 'X-Team': 'a', accept: 'text/html' } },
    });
    for (const removal of ['x-team:', 'X-Team='])
      expect(await headers([removal])).toEqual({
        payload: { ...call.payload, headers: { Accept: 'text/plain' } },
      });
  });

  test('a header that the server hides is not written back as it is shown', async () => {
    const hidden = { ...call, payload: { url: 'https://old', headers: { Authorization: '[hidden]' } } };
    await expect(change({ method: 'put' }, hidden)).rejects.toThrow(/hidden from you/);
    expect(await change({ header: ['authorization: Bearer x'] }, hidden)).toMatchObject({
      payload: { headers: { authorization: 'Bearer x' } },
    });
  });

  test('labels and resources are added, changed and removed one by one', async () => {
    expect(await change({ label: ['tier=', 'owner=ada'] }, call)).toEqual({
      labels: { team: 'billing', owner: 'ada' },
    });
    expect(await change({ resource: ['gpu=1'] }, call)).toEqual({ resources: { cpu: 1, gpu: 1 } });
  });

  test('what belongs to a call is refused for another handler', async () => {
    await expect(change({ method: 'put' }, { handler: 'mail', payload: {} })).rejects.toThrow(
      /belong to --http/,
    );
    expect(await change({ http: 'https://new' }, { handler: 'mail', payload: { to: 'x' } })).toEqual({
      handler: 'http',
      payload: { url: 'https://new' },
    });
  });
});

test('every field of a job can be set by a flag', () => {
  const set = new Set(Object.entries(JOB_FLAGS).map(([name, { field }]) => field ?? name));
  const fields = Object.entries(JOB_FIELDS).flatMap(([name, field]) => {
    const members = 'members' in field ? Object.keys(field.members) : [];
    return set.has(name) || members.length === 0 ? [name] : members.map((member) => `${name}.${member}`);
  });
  // The name is an argument; the type follows from the rest; --every says what frequency does.
  const otherwise = ['name', 'schedule_type', 'frequency'];
  expect(fields.filter((field) => !set.has(field) && !otherwise.includes(field))).toEqual([]);
});

test('flags set the members of what they belong to, and hyphens are understood', async () => {
  const given = {
    ...{ retryStrategy: 'fixed', retryDelay: '10s', retryJitter: 'off', misfire: 'all', misfireWindow: '1h' },
    ...{
      spread: '5m',
      startTimeout: '1h',
      daylightSaving: ['gap=run-after,overlap=both'],
      resource: ['cpu=0.5'],
    },
    ...{ http: 'https://x', expectStatus: ['200,3XX', '404'] },
  };
  expect(await jobOf(given)).toEqual({
    handler: 'http',
    payload: { url: 'https://x', expect_status: ['200', '3xx', '404'] },
    retry: { strategy: 'fixed', delay_seconds: 10, jitter: false },
    misfire: { policy: 'all', window_seconds: 3_600 },
    spread_seconds: 300,
    start_timeout_seconds: 3_600,
    daylight_saving: { gap: 'run_after', overlap: 'both' },
    resources: { cpu: 0.5 },
  });
  await expect(jobOf({ daylightSaving: ['gap=both'] })).rejects.toThrow(
    /gap=run_after, gap=skip, overlap=first/,
  );
  await expect(jobOf({ resource: ['cpu=many'] })).rejects.toThrow(/name=number/);
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
