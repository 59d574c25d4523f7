import type { Job } from '@carillon/client';
import { JOB_FIELDS } from '@carillon/domain';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { GatewayFixture } from '../../../server/src/gateway/gateway.fixture.ts';
import { DEFAULTS, definitionText, exportJob } from './export-job.ts';

const put = async (gateway: GatewayFixture, key: string, payload: object) =>
  gateway.ask('PUT', `/api/jobs/by-key/${key}`, { payload });

test('every field of a job but its namespace is exported', () => {
  expect(Object.keys(DEFAULTS).sort()).toEqual(
    Object.keys(JOB_FIELDS)
      .filter((field) => field !== 'namespace')
      .sort(),
  );
});

test('a job of which nothing was said is its key alone', async () => {
  const gateway = new GatewayFixture();
  for (const schedule of [{}, { cron_expression: '0 9 * * *' }, { interval: '15m' }]) {
    const key = `plain-${Object.keys(schedule)[0]}`;
    const { body } = await put(gateway, key, schedule);
    expect(exportJob(body as Job)).toEqual({ key, ...schedule });
  }
});

test('a text of several lines is written line by line, whatever its length, and reads as it was', () => {
  const long = `echo${' word'.repeat(30)}`;
  const script = `set -e\n${long}\n\n  echo done\n`;
  for (const text of [script, script.trimEnd(), `${script}\n`]) {
    const written = definitionText({ payload: { script: text } });
    expect(written).toMatch(/script: \|[-+]?\n/);
    expect(written).toContain(`\n    set -e\n    ${long}\n\n      echo done\n`);
    expect(parse(written)).toEqual({ payload: { script: text } });
  }
});

const instant = fc
  .integer({ min: 0, max: 10_000 })
  .map((n) => new Date(Date.UTC(2031, 0, 1) + n * 61_000).toISOString());
const recurring = {
  time_zone: fc.constantFrom('UTC', 'Europe/Paris', 'America/New_York', 'Asia/Kathmandu'),
  end_at: fc.constant('2040-01-01T00:00:00.000Z'),
  daylight_saving: fc.record(
    { gap: fc.constantFrom('run_after', 'skip'), overlap: fc.constantFrom('first', 'second', 'both') },
    { requiredKeys: [] },
  ),
  spread_seconds: fc.constantFrom(0, 1.5, 60),
};
const partly = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T, requiredKeys: (keyof T)[] = []) =>
  fc.record(fields, { requiredKeys: requiredKeys as never });
const schedule = fc.oneof(
  fc.constant({}),
  partly({ schedule_time: instant }, ['schedule_time']),
  partly(
    {
      cron_expression: fc.constantFrom('0 9 * * 1-5', '*/10 * * * * *', '30 2 1 * *'),
      ...recurring,
      start_at: instant,
    },
    ['cron_expression'],
  ),
  ...(['start_at', 'schedule_time'] as const).map((anchor) =>
    partly(
      {
        interval: fc.constantFrom('90s', '15m', '1d', '2w', '1mo', 'PT36H', 1.5),
        ...recurring,
        [anchor]: instant,
      },
      ['interval'],
    ),
  ),
  partly({ frequency: fc.constantFrom('hourly', 'daily', 'monthly', 'yearly'), ...recurring }, ['frequency']),
);
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const payload = fc.oneof(
  fc.dictionary(fc.string(), json, { maxKeys: 4 }),
  fc.record({ url: fc.constant('http://example.org/'), body: json }),
  fc.record({ script: fc.string() }),
);
const name = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => text.trim() !== '');
const label = fc.stringMatching(/^[a-z]([a-z./-]{0,5}[a-z])?$/);
const others = partly({
  name,
  payload,
  handler: fc.constantFrom('default', 'script', 'reports'),
  priority: fc.constantFrom('low', 'medium', 'high'),
  max_retries: fc.integer({ min: 0, max: 100 }),
  retry: partly({
    strategy: fc.constantFrom('none', 'fixed', 'exponential'),
    delay_seconds: fc.constantFrom(0, 0.25, 1, 400),
    jitter: fc.boolean(),
    deadline_seconds: fc.constantFrom(1, 3_600),
  }),
  misfire: partly({ policy: fc.constantFrom('none', 'last', 'all'), max_runs: fc.constantFrom(1, 100) }),
  max_concurrency: fc.constantFrom(1, 7),
  overlap: fc.constantFrom('queue', 'skip', 'replace'),
  timeout_seconds: fc.constantFrom(300, 0.5),
  start_timeout_seconds: fc.constantFrom(60, 1.001),
  user_id: name,
  labels: fc.dictionary(label, name, { maxKeys: 3 }),
  resources: fc.dictionary(label, fc.constantFrom(0, 1, 2.5), { maxKeys: 3 }),
});

/** As PostgreSQL and YAML hand it on. */
const accepted = (status: number) => status === 201 || status === 400;

test('an export that is applied changes nothing, whatever the definition', async () => {
  const gateway = new GatewayFixture();
  let made = 0;
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      schedule,
      others,
      fc.integer({ min: 0, max: 90 * 86_400_000 }),
      async (when, rest, laterMs) => {
        const key = `job-${made++}`;
        const { status, body } = await put(gateway, key, { ...when, ...rest });
        expect(accepted(status), JSON.stringify(body)).toBe(true);
        if (status !== 201) return;
        compared += 1;
        const exported = parse(definitionText(exportJob(body as Job))) as object;
        gateway.clock.advance(laterMs % 1_000);
        const again = await put(gateway, key, exported);
        expect(again.body, JSON.stringify(exported)).toMatchObject({
          outcome: 'unchanged',
          changes: [],
          version: 1,
        });
        // On another server it is the same job.
        const copy = await put(gateway, `copy-${key}`, { ...exported, key: `copy-${key}`, name: body.name });
        expect(copy.status).toBe(201);
        const same = { ...exportJob(copy.body as Job), key, name: body.name };
        expect(same).toEqual({ ...exportJob(body as Job), name: body.name });
      },
    ),
    { numRuns: 100 },
  );
  expect(compared).toBeGreaterThan(30);
});
