import { type JobId, Refusal, type RunId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { DEAD_LETTERS_QUERY, toDeadLettersQuery } from './dead-letters.ts';
import { DELETE_QUERY, JOBS_QUERY, toJobsQuery, writeJobCursor } from './job-query.ts';
import { RUNS_QUERY, toRunsQuery, writeRunCursor } from './runs.ts';
import { readShape } from './shape.ts';
import { etagOf, isRequestId, parseIdempotencyKey, parseIfMatch, readId } from './values.ts';

const ID = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

const parseJobsQuery = (query: object) => toJobsQuery(readShape(JOBS_QUERY, query));
const parseRunsQuery = (query: object) => toRunsQuery(readShape(RUNS_QUERY, query));
const parseDeadLettersQuery = (query: object) => toDeadLettersQuery(readShape(DEAD_LETTERS_QUERY, query));
const parseDeleteQuery = (query: object) => readShape(DELETE_QUERY, query);

function refusalOf(read: () => unknown): { code: string; field: string | undefined } {
  try {
    read();
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, field: error.field };
    throw error;
  }
  throw new Error('accepted');
}

test('filters of the job list are read in the words of every client', () => {
  expect(parseJobsQuery({})).toMatchObject({ limit: 50, page: undefined, statuses: undefined });
  expect(parseJobsQuery({ status: 'pending', userId: 'u003' })).toMatchObject({
    statuses: ['SCHEDULED'],
    userId: 'u003',
  });
  expect(parseJobsQuery({ type: 'recurring', priority: 'HIGH' })).toMatchObject({
    scheduleTypes: ['CRON', 'INTERVAL'],
    priority: 'high',
  });
  expect(parseJobsQuery({ type: 'ONE_TIME' }).scheduleTypes).toEqual(['IMMEDIATE', 'FUTURE']);
  expect(parseJobsQuery({ page: '3', limit: '200' })).toMatchObject({ page: 3, limit: 200 });
  expect(parseJobsQuery({ after: ID })).toMatchObject({ after: ID, order: 'newest' });
  expect(parseJobsQuery({ status: 'PAUSED,failed', sort: 'created_at' })).toMatchObject({
    statuses: ['PAUSED', 'FAILED'],
    order: 'oldest',
  });
  expect(parseJobsQuery({ label: ['team:billing', 'url:a:b'] }).labels).toEqual({
    team: 'billing',
    url: 'a:b',
  });
});

test.each([
  [{ status: 'queued' }, 'status'],
  [{ status: ['paused', 'queued'] }, 'status'],
  [{ include: 'payloads' }, 'include'],
  [{ status: 'paused,' }, 'status'],
  [{ label: 'team' }, 'label'],
  [{ label: ['a:1', 'a:2'] }, 'label'],
  [{ sort: 'status' }, 'sort'],
  [{ sort: '--name' }, 'sort'],
  [{ sort: 'name', after: ID }, 'after'],
  [{ sort: 'priority', after: `${ID}_high` }, 'after'],
  [{ limit: '1001' }, 'limit'],
  [{ cursor: 'x' }, 'cursor'],
  [{ cursor: ID, after: ID }, 'after'],
  [{ cursor: ID, page: '2' }, 'page'],
  [{ limit: '0' }, 'limit'],
  [{ page: '-1' }, 'page'],
  [{ page: '1e3' }, 'page'],
  [{ user_id: 'a\u0000' }, 'user_id'],
  [{ user_id: '\ud800' }, 'user_id'],
  [{ handler: '' }, 'handler'],
])('%j is refused', (query, field) => {
  expect(refusalOf(() => parseJobsQuery(query))).toEqual({ code: 'field_invalid', field });
});

test('every status is understood in any case, and by its other names', () => {
  const statuses = (status: string) => parseJobsQuery({ status }).statuses;
  for (const word of ['running', 'RUNNING', 'Running']) expect(statuses(word)).toEqual(['RUNNING']);
  expect(statuses('pending,scheduled,SCHEDULED')).toEqual(['SCHEDULED']);
  expect(statuses('success,succeeded,canceled')).toEqual(['COMPLETED', 'CANCELLED']);
});

test('a wrong word is refused with all words and the nearest one', () => {
  const all =
    'scheduled, running, paused, completed, failed, cancelled, pending, succeeded, success, canceled';
  expect(() => parseJobsQuery({ status: 'runing' })).toThrow(
    `status must be one or more of ${all} (did you mean "running"?).`,
  );
  expect(() => parseJobsQuery({ priority: 'hihg' })).toThrow(
    'priority must be one of low, medium, high (did you mean "high"?).',
  );
});

test('an unknown filter is refused, not ignored', () => {
  expect(refusalOf(() => parseJobsQuery({ state: 'paused' }))).toEqual({
    code: 'field_unknown',
    field: 'state',
  });
});

test('a place in a list of runs reads back as it was written', () => {
  const cursor = { createdAtMs: 1_900_000_000_123, runId: ID as RunId };
  expect(parseRunsQuery({ before: writeRunCursor(cursor) }).before).toEqual(cursor);
  for (const before of ['x', ID, `2030-01-01T00:00:00Z_${ID.slice(1)}`, '_']) {
    expect(() => parseRunsQuery({ before })).toThrow(Refusal);
  }
});

test('lists of jobs are sorted by what they show, from any place in them', () => {
  expect(parseJobsQuery({ sort: '-name' }).sorted).toEqual({
    by: 'name',
    descending: true,
    after: undefined,
  });
  expect(parseJobsQuery({ sort: 'next-run-time' }).sorted).toMatchObject({ by: 'next_run_time' });
  expect(parseJobsQuery({ sort: '-created_at' }).sorted).toBeUndefined();
  const jobId = ID as JobId;
  const read = (sort: string, key: string | number) =>
    parseJobsQuery({ sort, after: writeJobCursor({ key, jobId }) }).sorted?.after;
  expect(read('name', 'a_b -1')).toEqual({ key: 'a_b -1', jobId });
  expect(read('name', '')).toEqual({ key: '', jobId });
  for (const key of [-1, 0, Number.MAX_SAFE_INTEGER]) {
    expect(read('-next_run_time', key)).toEqual({ key, jobId });
  }
});

test('dead letters and purge', () => {
  expect(parseDeadLettersQuery({ job_id: ID, before: '2030-01-01T00:00:00Z' })).toEqual({
    jobId: ID,
    before: { diedAtMs: Date.UTC(2030, 0, 1), runId: '00000000-0000-0000-0000-000000000000' },
    limit: 50,
  });
  expect(parseDeleteQuery({ purge: 'true' })).toEqual({ purge: true });
  expect(parseDeleteQuery({})).toEqual({});
  expect(() => parseDeleteQuery({ purge: 'yes' })).toThrow(Refusal);
});

test('ids are UUIDs in any case', () => {
  expect(readId(ID.toUpperCase(), 'job')).toBe(ID);
  expect(refusalOf(() => readId('42', 'run')).code).toBe('run_not_found');
  expect(refusalOf(() => readId(`${ID}\n`, 'job')).code).toBe('job_not_found');
});

test('headers', () => {
  expect(parseIfMatch(undefined)).toBeUndefined();
  expect(parseIfMatch('*')).toBeUndefined();
  expect(parseIfMatch(`${etagOf(3)}, "4"`)).toEqual([3, 4]);
  expect(refusalOf(() => parseIfMatch('3')).field).toBe('If-Match');
  expect(parseIdempotencyKey('order-17')).toBe('order-17');
  for (const key of ['', 'a b', 'é', 'x'.repeat(201), ['a', 'b']]) {
    expect(refusalOf(() => parseIdempotencyKey(key)).field).toBe('Idempotency-Key');
  }
  expect(isRequestId('abc-1')).toBe(true);
  for (const id of ['', 'a\nb', 'x'.repeat(101), undefined, '<script>']) expect(isRequestId(id)).toBe(false);
});
