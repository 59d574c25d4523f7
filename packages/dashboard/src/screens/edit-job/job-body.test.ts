import type { Job } from '@carillon/client';
import { JOB_FIELDS } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import {
  bodyOfCopy,
  bodyOfJob,
  changesOf,
  conflictsOf,
  FIELDS,
  patchOf,
  rebased,
  withValue,
} from './job-body.ts';

const JOB = {
  ...{
    job_id: 'j1',
    name: 'Report',
    key: 'report',
    namespace: 'default',
    user_id: null,
    status: 'SCHEDULED',
  },
  ...{ schedule_type: 'INTERVAL', schedule_time: '2026-11-18T08:00:00.000Z', cron_expression: null },
  ...{ interval: '1d', frequency: 'daily', time_zone: 'UTC', start_at: null, end_at: null },
  daylight_saving: { gap: 'run_after', overlap: 'first' },
  spread_seconds: 0,
  misfire: { policy: 'last', max_runs: 100, window_seconds: 86_400 },
  ...{ handler: 'http', payload: { url: 'http://a.test/' }, priority: 'medium', max_retries: 3 },
  retry: {
    ...{ strategy: 'exponential', delay_seconds: 1, max_delay_seconds: 300, jitter: true },
    deadline_seconds: null,
  },
  ...{ max_concurrency: 1, overlap: 'queue', timeout_seconds: 300, start_timeout_seconds: null },
  ...{ labels: {}, resources: {}, version: 4, next_run_at: null, next_run_time: null },
  ...{ created_at: '2026-11-18T08:00:00.000Z', updated_at: '2026-11-18T08:00:00.000Z' },
} as unknown as Job;

describe('a job as the body of a request', () => {
  test('holds what can be given, and nothing that the server refuses together', () => {
    const body = bodyOfJob(JOB);
    expect(body).toMatchObject({ name: 'Report', interval: '1d', schedule_time: JOB.schedule_time });
    for (const field of ['frequency', 'job_id', 'status', 'labels', 'cron_expression', 'spread_seconds'])
      expect(body).not.toHaveProperty(field);
    const started = bodyOfJob({ ...JOB, start_at: '2026-11-01T00:00:00.000Z' });
    expect(started).not.toHaveProperty('schedule_time');
  });

  test('of a copy has no key, another name, and an interval that is counted anew', () => {
    const body = bodyOfCopy(JOB);
    expect(body.name).toBe('Report (copy)');
    expect(body).not.toHaveProperty('key');
    expect(body).not.toHaveProperty('schedule_time');
  });

  test('loses a member that is emptied, and the object that held nothing else; a payload stays', () => {
    const body = withValue({ name: 'a', retry: { jitter: false } }, 'retry.jitter', undefined);
    expect(body).toEqual({ name: 'a' });
    expect(withValue({ payload: { url: 'x' } }, 'payload.url', undefined)).toEqual({ payload: {} });
    expect(withValue({}, 'misfire.policy', 'all')).toEqual({ misfire: { policy: 'all' } });
  });
});

describe('a change of a job', () => {
  const before = bodyOfJob(JOB);

  test('sends what differs alone, and null for what was removed', () => {
    expect(patchOf(before, before)).toEqual({});
    const after = withValue(withValue(before, 'priority', 'high'), 'key', undefined);
    expect(patchOf(before, after)).toEqual({ priority: 'high', key: null });
    const noJitter = withValue(before, 'retry.jitter', undefined);
    expect(patchOf(before, noJitter).retry).toMatchObject({ jitter: null, delay_seconds: 1 });
  });

  test('names the type of a schedule that changes its kind', () => {
    const { interval: _, schedule_time: __, ...rest } = before;
    expect(patchOf(before, rest)).toMatchObject({ schedule_type: 'IMMEDIATE', interval: null });
    const cron = { ...rest, cron_expression: '0 9 * * *' };
    expect(patchOf(before, cron)).toMatchObject({ schedule_type: 'CRON', interval: null });
  });

  test('is told by the deepest field, whatever the order of members', () => {
    const after = { ...before, payload: { method: 'POST', url: 'http://a.test/' } };
    expect(changesOf(before, after)).toEqual([{ field: 'payload.method', before: undefined, after: 'POST' }]);
    expect(changesOf({ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } })).toEqual([]);
  });
});

describe('two changes of one job', () => {
  const base = { name: 'Report', priority: 'medium', payload: { url: 'a' } };
  const theirs = {
    ...base,
    ...{ priority: 'high', name: 'Report of sales', payload: { url: 'a', method: 'POST' } },
  };
  const yours = { ...base, priority: 'low', payload: { url: 'b' } };

  test('are shown field by field, with who changed it', () => {
    expect(
      conflictsOf(base, theirs, yours).map(({ field, theirs, yours, by }) => [field, theirs, yours, by]),
    ).toEqual([
      ['name', 'Report of sales', 'Report', 'them'],
      ['priority', 'high', 'low', 'both'],
      ['payload.method', 'POST', undefined, 'them'],
      ['payload.url', 'a', 'b', 'you'],
    ]);
    const alike = conflictsOf(base, { ...base, priority: 'low' }, { ...base, priority: 'low' });
    expect(alike).toMatchObject([{ field: 'priority', by: 'alike' }]);
    const { payload: _, ...without } = base;
    expect(conflictsOf(base, without, yours).filter(({ by }) => by === 'both')).toMatchObject([
      { field: 'payload' },
      { field: 'payload.url' },
    ]);
  });

  test('put together keep what only they changed', () => {
    expect(rebased(base, theirs, yours)).toEqual({
      name: 'Report of sales',
      priority: 'low',
      payload: { url: 'b', method: 'POST' },
    });
  });
});

test('the form has every field of a job, but for those that follow from others', () => {
  const inferred = ['schedule_type'];
  expect([...FIELDS, ...inferred].sort()).toEqual(Object.keys(JOB_FIELDS).sort());
});
