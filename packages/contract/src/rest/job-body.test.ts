import { readFileSync } from 'node:fs';
import { JOB_FIELDS, Refusal } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import { BATCH_BODY, BATCH_JOBS_MAX, parseJobBody, readBatch, requireNoBody } from './job-body.ts';
import { readShape } from './shape.ts';

const parseBatchBody = (body: unknown) => readBatch(readShape(BATCH_BODY, body).jobs);

function refusalOf(body: unknown): { code: string; field: string | undefined; message: string } {
  try {
    parseJobBody(body);
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, field: error.field, message: error.message };
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(body)}`);
}

/** Without the fields that were not given. */
const given = (body: unknown) =>
  Object.fromEntries(Object.entries(parseJobBody(body)).filter(([, value]) => value !== undefined));

describe('both spellings', () => {
  test('snake_case is read as it stands', () => {
    const body = {
      name: 'Daily Data Cleanup',
      schedule_type: 'CRON',
      cron_expression: '0 0 * * *',
      payload: { cleanup_target: 'old_logs', retention_days: 30 },
      max_retries: 2,
    };
    expect(given(body)).toEqual({
      name: 'Daily Data Cleanup',
      scheduleType: 'CRON',
      cronExpression: '0 0 * * *',
      payload: { cleanup_target: 'old_logs', retention_days: 30 },
      maxRetries: 2,
    });
  });

  test('camelCase means the same, also inside of nested fields', () => {
    const body = {
      jobName: 'Report',
      jobType: 'recurring',
      executionTime: '2030-01-01T00:00:00Z',
      frequency: 'daily',
      priority: 'HIGH',
      payload: { camelCase: 'stays' },
      retry: { maxDelaySeconds: 60 },
      daylightSaving: { overlap: 'both' },
      startTimeoutSeconds: 5,
    };
    expect(given(body)).toMatchObject({
      name: 'Report',
      scheduleType: 'RECURRING',
      scheduleTime: '2030-01-01T00:00:00Z',
      priority: 'high',
      payload: { camelCase: 'stays' },
      retry: { maxDelaySeconds: 60 },
      daylightSaving: { overlap: 'both' },
      startTimeoutSeconds: 5,
    });
    expect(given({ jobType: 'one-time' })).toEqual({ scheduleType: 'ONE_TIME' });
    expect(given({ schedule_type: 'immediate' })).toEqual({ scheduleType: 'IMMEDIATE' });
  });

  test('two spellings of one field at once are a conflict', () => {
    expect(refusalOf({ max_retries: 1, maxRetries: 2 })).toMatchObject({
      code: 'field_conflict',
      field: 'max_retries',
    });
    expect(refusalOf({ name: 'a', jobName: 'b' })).toMatchObject({ code: 'field_conflict', field: 'name' });
    expect(refusalOf({ retry: { delay_seconds: 1, delaySeconds: 1 } }).field).toBe('retry.delay_seconds');
  });
});

describe('what is refused', () => {
  test('unknown fields, with the nearest known one', () => {
    expect(refusalOf({ cron_expresion: '* * * * *' })).toEqual({
      code: 'field_unknown',
      field: 'cron_expresion',
      message: 'There is no field "cron_expresion". Did you mean "cron_expression"?',
    });
    expect(refusalOf({ retry: { tries: 1 } }).field).toBe('retry.tries');
    for (const key of ['__proto__', 'constructor', 'toString', 'a\u0000', '']) {
      expect(refusalOf(JSON.parse(`{${JSON.stringify(key)}: 1}`)).code).toBe('field_unknown');
    }
    expect(refusalOf(JSON.parse('{"__proto__":{"name":"x"}}')).field).toBe('__proto__');
  });

  test.each([
    [{ name: 5 }, 'name', 'name must be a text.'],
    [{ priority: 'urgent' }, 'priority', 'priority must be one of low, medium, high.'],
    [{ max_retries: '3' }, 'max_retries', 'max_retries must be a number.'],
    [JSON.parse('{"max_retries":1e999}'), 'max_retries', 'max_retries must be a number.'],
    [{ payload: [] }, 'payload', 'payload must be a JSON object.'],
    [{ payload: 'text' }, 'payload', 'payload must be a JSON object.'],
    [{ schedule_time: true }, 'schedule_time', 'schedule_time must be an ISO 8601 text or a UNIX timestamp.'],
    [{ retry: 'fast' }, 'retry', 'retry must be an object.'],
    [{ retry: { jitter: 1 } }, 'retry.jitter', 'retry.jitter must be true or false.'],
    [{ misfire: { policy: 'some' } }, 'misfire.policy', 'misfire.policy must be one of none, last, all.'],
  ])('%j', (body, field, message) => {
    expect(refusalOf(body)).toEqual({ code: 'field_invalid', field, message });
  });

  test('a body that is no object', () => {
    for (const body of [undefined, null, [], 'text', 5]) expect(refusalOf(body).code).toBe('body_not_json');
  });

  test('a body where none belongs', () => {
    for (const nothing of [undefined, null, {}]) requireNoBody(nothing);
    expect(() => requireNoBody({ force: true })).toThrow(Refusal);
  });
});

describe('a batch', () => {
  test('is read entry by entry', () => {
    const [good, bad] = parseBatchBody({ jobs: [{ name: 'a' }, { nam: 'b' }] });
    expect(good).toMatchObject({ name: 'a' });
    expect(bad).toMatchObject({ code: 'field_unknown' });
  });

  test('is refused when it is empty, too long, or none', () => {
    const tooMany = Array.from({ length: BATCH_JOBS_MAX + 1 }, () => ({}));
    for (const body of [{}, [], { jobs: [] }, { jobs: 'all' }, { jobs: tooMany }, { jobs: [{}], extra: 1 }]) {
      expect(() => parseBatchBody(body)).toThrow(Refusal);
    }
  });
});

test('the names inside payload, labels and resources are those of the caller', () => {
  const body = {
    payload: { first_name: { last_name: 1 } },
    labels: { cost_centre: 'a' },
    resources: { gpu_a100: 1 },
  };
  expect(given({ name: 'x', ...body })).toEqual({ name: 'x', ...body });
  expect(given({ retry: { max_delay_seconds: 5 } })).toEqual({ retry: { maxDelaySeconds: 5 } });
});

test('docs/api.md has every field of a job, and none that there is not', () => {
  const page = readFileSync(new URL('../../../../docs/api.md', import.meta.url), 'utf8');
  const [table = ''] = page.slice(page.indexOf('| field | meaning | default |')).split('\n\n');
  const names = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? []);
  expect(names.sort()).toEqual(Object.keys(JOB_FIELDS).sort());
});
