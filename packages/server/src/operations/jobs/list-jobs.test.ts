import { type Caller, type Grant, JOB_STATUSES, type Job, type JobId, may, SERVER } from '@carillon/domain';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sampleJob } from '../../storage/conformance/sample-job.ts';
import type { JobList, JobQuery } from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { selectJobs } from './list-jobs.ts';

const NAMESPACES = ['default', 'a', 'b'];
const USERS = ['ann', 'bob', undefined];

/** A store that looks through very few jobs at a time, so that every list stops early again and again. */
function shortSighted(all: readonly Job[], lookedThroughMax: number): Pick<OperationPorts, 'storage'> {
  const list = async (query: JobQuery): Promise<JobList> => {
    const { order = 'newest', afterJobId, offset = 0, limit } = query;
    const sign = order === 'newest' ? -1 : 1;
    const walk = all
      .toSorted((a, b) => (a.jobId < b.jobId ? -sign : sign))
      .filter(({ jobId }) => afterJobId === undefined || (sign > 0 ? jobId > afterJobId : jobId < afterJobId))
      .filter(({ namespace }) => query.namespace === undefined || namespace === query.namespace);
    const looked = walk.slice(0, lookedThroughMax);
    const jobs = looked
      .filter(({ userId }) => query.userId === undefined || userId === query.userId)
      .filter(({ status }) => query.status === undefined || status === query.status)
      .slice(offset, offset + limit);
    const stoppedAt = jobs.length < limit && walk.length > looked.length ? looked.at(-1)?.jobId : undefined;
    return { jobs, shown: new Map(jobs.map(({ jobId, status }) => [jobId, status])), stoppedAt };
  };
  return { storage: { jobs: { list } } } as unknown as Pick<OperationPorts, 'storage'>;
}

const jobs = fc
  .array(
    fc.record({
      namespace: fc.constantFrom(...NAMESPACES),
      userId: fc.constantFrom(...USERS),
      status: fc.constantFrom(...JOB_STATUSES),
    }),
    { maxLength: 25 },
  )
  .map((made) => made.map((over) => sampleJob(over)));
const grants = fc.array(
  fc.record<Grant>({
    namespace: fc.constantFrom(...NAMESPACES, '*'),
    role: fc.constantFrom('viewer', 'editor'),
    ownOnly: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);

describe('a list of jobs', () => {
  test('followed to its end shows exactly what the caller may see, once and in order, however early each part stops', async () => {
    await fc.assert(
      fc.asyncProperty(
        jobs,
        grants,
        fc.record({
          statuses: fc.option(fc.subarray([...JOB_STATUSES], { minLength: 1 }), { nil: undefined }),
          namespace: fc.constantFrom(undefined, ...NAMESPACES),
          userId: fc.constantFrom(...USERS),
          order: fc.constantFrom('newest', 'oldest'),
        }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (all, held, query, limit, lookedThroughMax) => {
          const caller: Caller = { ...SERVER, kind: 'user', userId: 'ann', grants: held };
          const expected = all
            .filter((job) => may(caller, 'jobs.read', job))
            .filter(({ status }) => query.statuses?.includes(status) ?? true)
            .filter(({ namespace }) => query.namespace === undefined || namespace === query.namespace)
            .filter(({ userId }) => query.userId === undefined || userId === query.userId)
            .map(({ jobId }) => jobId)
            .toSorted();
          if (query.order === 'newest') expected.reverse();

          const ports = shortSighted(all, lookedThroughMax);
          const read: JobId[] = [];
          let afterJobId: JobId | undefined;
          for (let pages = 0; pages <= all.length + 1; pages += 1) {
            const page = await selectJobs(ports, {
              caller,
              action: 'jobs.read',
              query: { ...query, limit, afterJobId },
            });
            expect(page.jobs.length).toBeLessThanOrEqual(limit);
            read.push(...page.jobs.map(({ jobId }) => jobId));
            afterJobId = page.next;
            if (afterJobId === undefined) break;
          }
          expect(afterJobId).toBeUndefined();
          expect(read).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});

test('a page by number over several statuses ends early and says so, whoever asks (hazard 30)', async () => {
  const query = { statuses: ['SCHEDULED', 'PAUSED'] as const, offset: 9_000, limit: 200 };
  await expect(
    selectJobs(shortSighted([], 5), { caller: SERVER, action: 'jobs.read', query }),
  ).rejects.toMatchObject({ code: 'field_invalid', field: 'page' });
});
