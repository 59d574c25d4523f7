import { SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture, turnsDuring } from './operations.fixture.ts';

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

const LEAP_DAYS = { name: 'x', cronExpression: '30 2 29 2 *', timeZone: 'europe/PARIS' };

test('a preview shows as many fires as asked for, or all there are, in the one spelling of the zone', async () => {
  const some = await fixture.operations.previewSchedule({ schedule: LEAP_DAYS, count: 2 });
  expect(some.zone).toBe('Europe/Paris');
  expect(some.fires.map(({ local }) => local)).toEqual([
    '2032-02-29T02:30:00+01:00',
    '2036-02-29T02:30:00+01:00',
  ]);
  const all = await fixture.operations.previewSchedule({ schedule: LEAP_DAYS, count: 100 });
  expect(all.fires.at(-1)?.local).toBe('2096-02-29T02:30:00+01:00');
  expect(all.fires).toHaveLength(17);
});

test('a zone whose clock never changes is warned of', async () => {
  const preview = (timeZone: string) =>
    fixture.operations.previewSchedule({ schedule: { ...LEAP_DAYS, timeZone }, count: 1 });
  expect((await preview('EST')).warnings).toMatchObject([
    { kind: 'fixed_offset', message: expect.stringContaining('America/New_York') },
  ]);
  expect((await preview('UTC')).warnings).toEqual([]);
});

test('until ends the list, and the fires of each day are counted', async () => {
  const afterMs = Date.UTC(2030, 0, 1, 12);
  const preview = (untilMs: number, schedule: object = { cronExpression: '0 */6 * * *' }) =>
    fixture.operations.previewSchedule({ schedule, count: 10, afterMs, untilMs });
  const { fires, perDay } = await preview(Date.UTC(2030, 0, 2, 6));
  expect(fires.map(({ atMs }) => new Date(atMs).toISOString().slice(8, 13))).toEqual([
    '01T18',
    '02T00',
    '02T06',
  ]);
  expect(perDay).toEqual([
    { date: '2030-01-01', count: 1 },
    { date: '2030-01-02', count: 2 },
  ]);
  const none = await preview(afterMs + 60_000);
  expect([none.fires, none.perDay]).toEqual([[], [{ date: '2030-01-01', count: 0 }]]);
  expect((await preview(afterMs + 60_000, {})).perDay).toEqual([{ date: '2030-01-01', count: 1 }]);
  for (const untilMs of [afterMs, afterMs + 43 * 86_400_000])
    await expect(preview(untilMs)).rejects.toMatchObject({ code: 'field_invalid', field: 'until' });
  const open = await fixture.operations.previewSchedule({ schedule: LEAP_DAYS, count: 1 });
  expect(open.perDay).toEqual([]);
});

test('others have their turn during previews that come together, after every two milliseconds of arithmetic', async () => {
  fixture.partMs = 1;
  const turns = await turnsDuring(() =>
    Promise.all(
      Array.from({ length: 40 }, () => fixture.operations.previewSchedule({ schedule: LEAP_DAYS, count: 5 })),
    ),
  );
  // Seven parts each: the schedule, five fires, the warnings.
  expect(turns).toBeGreaterThanOrEqual((40 * 7) / 2 - 1);
});

test('others have their turn while what comes up is worked out', async () => {
  const often = Array.from({ length: 20 }, () => ({ name: 'often', interval: '1s' }));
  await fixture.operations.createJobs(often);
  fixture.partMs = 1;
  const turns = await turnsDuring(async () => {
    const { runs } = await fixture.operations.listUpcoming({ withinMs: 60_000, limit: 100 });
    expect(runs).toHaveLength(100);
  });
  expect(turns).toBeGreaterThanOrEqual(9);
});

test('with a job alone its own coming fires are shown, and who skipped some of them', async () => {
  const { jobId } = await fixture.operations.createJob({ name: 'x', cronExpression: '0 9 * * *' });
  const [first, second] = [Date.UTC(2030, 0, 2, 9), Date.UTC(2030, 0, 3, 9)];
  await fixture.operations.skipFire(jobId, { atMs: second });
  const own = await fixture.operations.previewSchedule({ schedule: {}, jobId, count: 2 });
  expect(own.description).toBe('every day at 09:00 (UTC)');
  expect(own.fires.map(({ atMs, skippedBy }) => [atMs, skippedBy])).toEqual([
    [first, undefined],
    [second, SERVER.name],
  ]);
  const other = { schedule: { cronExpression: '0 10 * * *' }, jobId, count: 1 };
  expect((await fixture.operations.previewSchedule(other)).fires[0]!.atMs).toBe(Date.UTC(2030, 0, 2, 10));
  const stranger = { ...SERVER, kind: 'key', id: 'k', name: 'k', grants: [] } as const;
  const elsewhere = [{ namespace: 'elsewhere', role: 'viewer', ownOnly: false }] as const;
  await expect(
    fixture.everyones.previewSchedule({ ...stranger, grants: elsewhere }, { schedule: {}, jobId, count: 1 }),
  ).rejects.toMatchObject({ code: 'job_not_found' });
});

describe('others at the same instants', () => {
  const create = async (count: number, input: Parameters<typeof fixture.operations.createJob>[0]) => {
    for (let i = 0; i < count; i += 1) await fixture.operations.createJob(input);
  };
  const others = async (over: Partial<Parameters<typeof fixture.operations.previewSchedule>[0]> = {}) => {
    const schedule = { cronExpression: '0 0 * * *' };
    const { othersAt } = await fixture.operations.previewSchedule({ schedule, count: 3, ...over });
    return othersAt.map(({ atMs, count, more }) => [new Date(atMs).toISOString().slice(8, 10), count, more]);
  };

  test('are counted at the first instants, and later where their rules say so', async () => {
    expect(await others()).toEqual([]);
    await create(3, { name: 'daily', cronExpression: '0 0 * * *' });
    await create(2, { name: 'every second day', cronExpression: '0 0 2,4 1 *' });
    await create(1, { name: 'that day', cronExpression: '0 0 3 1 *' });
    await create(1, { name: 'beside', cronExpression: '1 0 * * *' });
    await create(4, { name: 'spread', cronExpression: '0 0 * * *', spreadSeconds: 3_600 });
    expect(await others()).toEqual([
      ['02', 5, false],
      ['03', 4, false],
      ['04', 5, false],
    ]);
  });

  test('are known of a month that lies ahead, too', async () => {
    await create(2, { name: 'daily', cronExpression: '0 0 * * *' });
    expect(await others({ afterMs: Date.UTC(2030, 4, 1), count: 1 })).toEqual([['02', 2, false]]);
  });

  test('are none for a schedule that is spread, none of another namespace, and not the job itself', async () => {
    const { jobId } = await fixture.operations.createJob({ name: 'x', cronExpression: '0 0 * * *' });
    expect(await others()).toEqual([
      ['02', 1, false],
      ['03', 1, false],
      ['04', 1, false],
    ]);
    expect(await others({ jobId })).toEqual([]);
    await fixture.operations.createNamespace({ name: 'elsewhere' });
    expect(await others({ namespace: 'elsewhere' })).toEqual([]);
    await expect(others({ namespace: 'nowhere' })).rejects.toMatchObject({ code: 'namespace_not_found' });
    expect(await others({ schedule: { cronExpression: '0 0 * * *', spreadSeconds: 60 } })).toEqual([]);
  });

  test('are counted up to a thousand', async () => {
    const input = { name: 'x', cronExpression: '0 0 * * *' };
    await fixture.operations.createJobs(Array.from({ length: 1_000 }, () => input));
    expect(await others({ count: 1 })).toEqual([['02', 1_000, false]]);
    await create(1, input);
    expect(await others({ count: 1 })).toEqual([['02', 1_000, true]]);
  });
});
