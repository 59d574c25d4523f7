import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CATALOGUE } from '../errors/catalogue.ts';
import { Refusal } from '../errors/refusal.ts';
import type { JsonObject } from '../ids.ts';
import { nextFire } from '../schedule/index.ts';
import { defineJob, redefineJob } from './define-job.ts';
import type { JobInput, JobPatch } from './job.ts';
import { PAYLOAD_BYTES_MAX } from './job.ts';

const NOW = Date.UTC(2030, 0, 1, 12);

function refusalOf(input: JobInput): { code: string; field: string | undefined } {
  try {
    defineJob({ name: 'job', ...input }, NOW);
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, field: error.field };
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(input)}`);
}

const scheduleOf = (input: JobInput) => defineJob({ name: 'job', ...input }, NOW).schedule;

describe('the schedule type', () => {
  test('is inferred from the fields that are given', () => {
    expect(scheduleOf({})).toEqual({ type: 'IMMEDIATE' });
    expect(scheduleOf({ scheduleTime: '2030-01-02T00:00:00Z' })).toEqual({
      type: 'FUTURE',
      atMs: Date.UTC(2030, 0, 2),
    });
    expect(scheduleOf({ cronExpression: '0 0 * * *' })).toMatchObject({
      type: 'CRON',
      zone: 'UTC',
      spreadMs: 0,
    });
    expect(scheduleOf({ interval: '15m' })).toMatchObject({ type: 'INTERVAL', anchorMs: NOW });
    expect(scheduleOf({ frequency: 'daily' })).toMatchObject({ interval: { kind: 'calendar', unit: 'day' } });
  });

  test('one-time and recurring leave it to the other fields', () => {
    expect(scheduleOf({ scheduleType: 'ONE_TIME' }).type).toBe('IMMEDIATE');
    expect(scheduleOf({ scheduleType: 'ONE_TIME', scheduleTime: 1_900_000_000 }).type).toBe('FUTURE');
    const daily = scheduleOf({
      scheduleType: 'RECURRING',
      scheduleTime: '2030-01-05T09:00:00Z',
      frequency: 'daily',
    });
    expect(daily).toMatchObject({ type: 'INTERVAL', anchorMs: Date.UTC(2030, 0, 5, 9) });
    expect(nextFire(daily, NOW)).toBe(Date.UTC(2030, 0, 5, 9));
  });

  test('refuses what does not go together', () => {
    const time = '2030-01-02T00:00:00Z';
    expect(refusalOf({ cronExpression: '* * * * *', interval: '1h' }).code).toBe('field_conflict');
    expect(refusalOf({ interval: '1h', frequency: 'daily' }).code).toBe('field_conflict');
    expect(refusalOf({ scheduleType: 'IMMEDIATE', scheduleTime: time })).toEqual({
      code: 'field_conflict',
      field: 'schedule_time',
    });
    expect(refusalOf({ cronExpression: '* * * * *', scheduleTime: time }).code).toBe('field_conflict');
    expect(refusalOf({ scheduleType: 'FUTURE', cronExpression: '* * * * *' }).code).toBe('field_conflict');
    expect(refusalOf({ scheduleType: 'ONE_TIME', frequency: 'daily' }).code).toBe('field_conflict');
    expect(refusalOf({ endAt: time })).toEqual({ code: 'field_conflict', field: 'end_at' });
    expect(refusalOf({ interval: '1h', scheduleTime: time, startAt: time }).code).toBe('field_conflict');
  });

  test('refuses a type whose own field is missing', () => {
    expect(refusalOf({ scheduleType: 'FUTURE' })).toEqual({ code: 'field_missing', field: 'schedule_time' });
    expect(refusalOf({ scheduleType: 'CRON' })).toEqual({ code: 'field_missing', field: 'cron_expression' });
    expect(refusalOf({ scheduleType: 'INTERVAL' })).toEqual({ code: 'field_missing', field: 'interval' });
    expect(refusalOf({ scheduleType: 'RECURRING' })).toEqual({ code: 'field_missing', field: 'frequency' });
  });
});

describe('times', () => {
  test('a time in the past is accepted, one outside of 1970 to 2100 is not', () => {
    expect(scheduleOf({ scheduleTime: '2001-01-01T00:00:00Z' })).toMatchObject({ type: 'FUTURE' });
    expect(refusalOf({ scheduleTime: '1969-12-31T23:59:59Z' }).code).toBe('time_out_of_range');
    expect(refusalOf({ scheduleTime: '2101-01-01T00:00:00Z' }).code).toBe('time_out_of_range');
    expect(refusalOf({ scheduleTime: 9e15 })).toEqual({ code: 'time_out_of_range', field: 'schedule_time' });
  });

  test('a time without an offset is refused unless the job names its zone', () => {
    expect(refusalOf({ scheduleTime: '2030-07-01T09:00:00' }).code).toBe('time_invalid');
    expect(scheduleOf({ scheduleTime: '2030-07-01T09:00:00', timeZone: 'Europe/Paris' })).toMatchObject({
      atMs: Date.UTC(2030, 6, 1, 7),
    });
  });

  test('dates that do not exist, unknown zones and rules that never fire are refused by field', () => {
    expect(refusalOf({ scheduleTime: '2030-02-30T00:00:00Z' })).toEqual({
      code: 'time_invalid',
      field: 'schedule_time',
    });
    expect(refusalOf({ frequency: 'daily', timeZone: 'Mars/Olympus' })).toEqual({
      code: 'zone_unknown',
      field: 'time_zone',
    });
    expect(refusalOf({ cronExpression: '0 0 30 2 *' })).toEqual({
      code: 'cron_never_fires',
      field: 'cron_expression',
    });
    expect(refusalOf({ cronExpression: 'every day' }).code).toBe('cron_invalid');
    expect(refusalOf({ interval: '0s' })).toEqual({ code: 'interval_invalid', field: 'interval' });
  });

  test('a window without an occurrence is refused', () => {
    const startAt = '2030-02-01T00:00:00Z';
    expect(refusalOf({ frequency: 'daily', startAt, endAt: '2030-01-31T00:00:00Z' })).toEqual({
      code: 'schedule_never_fires',
      field: 'end_at',
    });
    expect(refusalOf({ cronExpression: '0 0 * * *', endAt: '2029-01-01T00:00:00Z' }).code).toBe(
      'schedule_never_fires',
    );
  });
});

describe('the payload', () => {
  test('is measured in bytes of UTF-8, not in characters', () => {
    const room = PAYLOAD_BYTES_MAX - JSON.stringify({ a: '' }).length;
    expect(defineJob({ name: 'job', payload: { a: 'x'.repeat(room) } }, NOW).payload.length).toBe(
      PAYLOAD_BYTES_MAX,
    );
    expect(refusalOf({ payload: { a: 'x'.repeat(room + 1) } }).code).toBe('payload_too_large');
    expect(refusalOf({ payload: { a: '€'.repeat(room / 3 + 1) } }).code).toBe('payload_too_large');
  });

  test('is refused when it is nested too deeply, without exhausting the stack', () => {
    const nested = (levels: number) =>
      JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`) as JsonObject;
    expect(defineJob({ name: 'job', payload: nested(63) }, NOW).handler).toBe('default');
    expect(refusalOf({ payload: nested(64) })).toEqual({ code: 'field_invalid', field: 'payload' });
    expect(refusalOf({ payload: nested(100_000) }).code).toBe('field_invalid');
  });

  test('is refused when storing it would change it', () => {
    expect(refusalOf({ payload: { a: ['\u0000'] } })).toEqual({
      code: 'field_invalid',
      field: 'payload.a[0]',
    });
    expect(refusalOf({ payload: { 'x\u0000': 1 } }).code).toBe('field_invalid');
    expect(refusalOf({ payload: { a: '\ud800' } }).code).toBe('field_invalid');
    expect(refusalOf({ payload: JSON.parse('{"n":1e400}') as JsonObject }).field).toBe('payload.n');
    expect(refusalOf({ payload: JSON.parse('{"id":12345678901234567890}') as JsonObject }).field).toBe(
      'payload.id',
    );
    expect(refusalOf({ payload: JSON.parse('{"a":{"__proto__":{"x":1}}}') as JsonObject }).field).toBe(
      'payload.a',
    );
  });

  test('takes no address for the name of a handler', () => {
    for (const handler of ['htp://example.org/report', 'ftp://x/y', 'https://example.org'])
      expect(refusalOf({ handler }).field).toBe('handler');
  });

  test('tells the handler when nobody names one', () => {
    const handlerOf = (payload: JsonObject) => defineJob({ name: 'job', payload }, NOW).handler;
    expect(handlerOf({ url: 'http://example.org' })).toBe('http');
    expect(handlerOf({ script: 'echo' })).toBe('script');
    expect(handlerOf({ code_location: '/srv/report.py' })).toBe('script');
    expect(handlerOf({ cleanup_target: 'old_logs' })).toBe('default');
  });

  test('whatever JSON is accepted reads back as it was sent', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (sent) => {
        const payload = JSON.parse(JSON.stringify(sent)) as JsonObject;
        try {
          expect(JSON.parse(defineJob({ name: 'job', payload }, NOW).payload)).toEqual(payload);
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
        }
      }),
    );
  });
});

describe('numbers and words', () => {
  test('defaults are three retries, one run at a time and five minutes', () => {
    expect(defineJob({ name: 'job' }, NOW)).toEqual({
      name: 'job',
      namespace: 'default',
      labels: {},
      resources: {},
      userId: undefined,
      handler: 'default',
      payload: '{}',
      schedule: { type: 'IMMEDIATE' },
      misfire: { kind: 'last', maxRuns: 100, windowMs: 86_400_000 },
      priority: 'medium',
      maxConcurrency: 1,
      overlap: 'queue',
      retry: {
        strategy: 'exponential',
        maxRetries: 3,
        delayMs: 1_000,
        delayMsMax: 300_000,
        jitter: true,
        deadlineMs: undefined,
      },
      timeoutMs: 300_000,
      startTimeoutMs: undefined,
    });
  });

  test.each<[JobInput, string]>([
    [{ maxRetries: 101 }, 'max_retries'],
    [{ maxRetries: -1 }, 'max_retries'],
    [{ maxRetries: 1.5 }, 'max_retries'],
    [{ maxRetries: Number.NaN }, 'max_retries'],
    [{ maxConcurrency: 0 }, 'max_concurrency'],
    [{ maxConcurrency: 1e308 }, 'max_concurrency'],
    [{ timeoutSeconds: 0 }, 'timeout_seconds'],
    [{ timeoutSeconds: 8 * 86_400 }, 'timeout_seconds'],
    [{ startTimeoutSeconds: -5 }, 'start_timeout_seconds'],
    [{ retry: { delaySeconds: 1e9 } }, 'retry.delay_seconds'],
    [{ retry: { deadlineSeconds: 0 } }, 'retry.deadline_seconds'],
    [{ misfire: { maxRuns: 0 } }, 'misfire.max_runs'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: '\udfff' }, 'name'],
    [{ handler: 'rm -rf /' }, 'handler'],
    [{ userId: '' }, 'user_id'],
  ])('%j is refused by the name of its field', (input, field) => {
    expect(refusalOf(input)).toEqual({ code: 'field_invalid', field });
  });

  test('a name is required', () => {
    expect(refusalOf({ name: null })).toEqual({ code: 'field_missing', field: 'name' });
    expect(() => defineJob({}, NOW)).toThrow(Refusal);
  });

  test('the longest delay is never shorter than the first', () => {
    expect(refusalOf({ retry: { delaySeconds: 60, maxDelaySeconds: 5 } }).code).toBe('field_conflict');
    const { retry } = defineJob({ name: 'job', retry: { delaySeconds: 3_600 } }, NOW);
    expect(retry.delayMsMax).toBe(3_600_000);
  });
});

describe('redefineJob', () => {
  const daily = defineJob(
    { name: 'job', cronExpression: '0 9 * * *', timeZone: 'Europe/Paris', maxRetries: 7 },
    NOW,
  );
  const hourly = defineJob({ name: 'job', interval: '1h', scheduleTime: '2030-01-01T00:30:00Z' }, NOW);

  test('keeps everything that is not named', () => {
    const { definition, scheduleChanged } = redefineJob(daily, { priority: 'high' }, NOW);
    expect(definition).toEqual({ ...daily, priority: 'high' });
    expect(scheduleChanged).toBe(false);
  });

  test('saying the same again is no change of the schedule', () => {
    const again: JobPatch[] = [
      { cronExpression: '0 9 * * *' },
      { scheduleType: 'CRON' },
      { timeZone: 'Europe/Paris' },
    ];
    for (const patch of again) expect(redefineJob(daily, patch, NOW).scheduleChanged).toBe(false);
    const shuffled = { ...daily, schedule: Object.fromEntries(Object.entries(daily.schedule).reverse()) };
    const stored = shuffled as typeof daily;
    expect(redefineJob(stored, { timeZone: 'Europe/Paris' }, NOW).scheduleChanged).toBe(false);
  });

  test('a schedule_time turns a cron job into a one-off, and moves the rhythm of an interval job', () => {
    const scheduleTime = '2030-03-01T10:00:00Z';
    expect(redefineJob(daily, { scheduleTime }, NOW)).toMatchObject({
      scheduleChanged: true,
      definition: { schedule: { type: 'FUTURE', atMs: Date.UTC(2030, 2, 1, 10) } },
    });
    expect(redefineJob(hourly, { scheduleTime }, NOW).definition.schedule).toMatchObject({
      type: 'INTERVAL',
      anchorMs: Date.UTC(2030, 2, 1, 10),
    });
  });

  test('a new interval keeps the rhythm where it was anchored', () => {
    expect(redefineJob(hourly, { interval: '2h' }, NOW).definition.schedule).toMatchObject({
      anchorMs: Date.UTC(2030, 0, 1, 0, 30),
    });
  });

  test('null brings back the default', () => {
    const bounded = defineJob(
      { name: 'job', frequency: 'daily', endAt: '2031-01-01T00:00:00Z', userId: 'u1' },
      NOW,
    );
    const { definition } = redefineJob(bounded, { endAt: null, userId: null, maxRetries: null }, NOW);
    expect(definition.schedule).not.toHaveProperty('endMs');
    expect(definition.userId).toBeUndefined();
    expect(definition.retry.maxRetries).toBe(3);
    expect(redefineJob(daily, { retry: null }, NOW).definition.retry.maxRetries).toBe(7);
  });

  test('a job whose schedule has ended can still be renamed', () => {
    const ended = defineJob({ name: 'job', frequency: 'daily', endAt: '2030-01-03T00:00:00Z' }, NOW);
    const later = Date.UTC(2031, 0, 1);
    expect(redefineJob(ended, { name: 'old' }, later).definition.name).toBe('old');
    expect(() => redefineJob(ended, { frequency: 'weekly' }, later)).toThrow(Refusal);
  });
});

const anyInput: fc.Arbitrary<JobInput> = fc.record(
  {
    scheduleType: fc.constantFrom('IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL', 'ONE_TIME', 'RECURRING', null),
    scheduleTime: fc.oneof(
      fc.double(),
      fc.integer({ min: 0, max: 4e9 }),
      fc.constant('2030-05-05T05:05:05Z'),
    ),
    cronExpression: fc.constantFrom('* * * * *', '0 0 29 2 *', '0 0 31 4 *', 'x', '@daily', null),
    interval: fc.oneof(fc.constantFrom('90s', '1d', '1mo', 'PT15M', ''), fc.double()),
    frequency: fc.constantFrom('hourly', 'daily', 'weekly', 'monthly', 'never'),
    timeZone: fc.constantFrom('UTC', 'Europe/Paris', 'America/New_York', 'Nowhere'),
    startAt: fc.integer({ min: 1_800_000_000, max: 2_000_000_000 }),
    endAt: fc.integer({ min: 1_800_000_000, max: 2_200_000_000 }),
    spreadSeconds: fc.oneof(fc.double(), fc.nat(90_000)),
    maxRetries: fc.oneof(fc.double(), fc.nat(110)),
    timeoutSeconds: fc.double(),
    priority: fc.constantFrom('low', 'medium', 'high', null),
  },
  { requiredKeys: [] },
);

describe('for any request', () => {
  test('what is accepted has an occurrence ahead, and what is not is refused from the catalogue', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        try {
          const { schedule, timeoutMs } = defineJob({ name: 'job', ...input }, NOW);
          expect(timeoutMs).toBeGreaterThan(0);
          if (schedule.type === 'CRON' || schedule.type === 'INTERVAL') {
            expect(nextFire(schedule, NOW)).toBeGreaterThan(NOW);
          }
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          expect(Object.keys(CATALOGUE)).toContain(error.code);
          expect(error.field).toBeDefined();
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('changing a job into what it already is changes nothing', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        let job: ReturnType<typeof defineJob>;
        try {
          job = defineJob({ name: 'job', ...input }, NOW);
        } catch (error) {
          if (error instanceof Refusal) return;
          throw error;
        }
        const again = redefineJob(job, input, NOW + 5_000);
        expect(again.definition).toEqual(job);
        expect(again.scheduleChanged).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});
