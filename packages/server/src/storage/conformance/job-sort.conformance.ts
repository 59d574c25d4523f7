/** Lists of jobs in other orders than that of creation: every order, both ways, with every filter, page by page. */
import { JOB_SORT_KEYS, type Job, type JobCursor, type JobId, keyOfNone } from '@carillon/domain';
import { expect, it } from 'vitest';
import type { SortedJobQuery } from '../job-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeJobSort(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  const sorted = async (query: Partial<SortedJobQuery>) => {
    const found = await stage.world.storage.jobs.listSorted({
      ...{ by: 'name', descending: false, limit: 50 },
      ...query,
    });
    if (found === 'too_many') throw new Error('too many');
    return found;
  };
  const names = async (query: Partial<SortedJobQuery>) => (await sorted(query)).map(({ job }) => job.name);
  const recurring = (name: string, job: Partial<Job> & { inMs?: number } = {}) =>
    stage.world.recurring({ atMs: BASE_MS + (job.inMs ?? HOUR_MS), job: { ...job, name } });

  it('each order is its own, both ways round', async () => {
    const { world } = stage;
    const inMinutes = (n: number) => ({ inMs: n * MINUTE_MS });
    await recurring('Bravo', { priority: 'low', updatedAtMs: BASE_MS + 2, ...inMinutes(3) });
    await recurring('alpha', { priority: 'high', updatedAtMs: BASE_MS + 3, ...inMinutes(2) });
    await recurring('charlie', { priority: 'medium', updatedAtMs: BASE_MS + 1, ...inMinutes(1) });

    const both = async (by: SortedJobQuery['by']) => {
      const ascending = await names({ by });
      expect(await names({ by, descending: true })).toEqual(ascending.toReversed());
      return ascending;
    };
    expect(await both('name')).toEqual(['alpha', 'Bravo', 'charlie']);
    expect(await both('priority')).toEqual(['Bravo', 'charlie', 'alpha']);
    expect(await both('updated_at')).toEqual(['charlie', 'Bravo', 'alpha']);
    expect(await both('next_run_time')).toEqual(['charlie', 'alpha', 'Bravo']);
    expect((await sorted({ by: 'next_run_time' }))[0]!.cursor.key).toBe(BASE_MS + MINUTE_MS);
    expect((await sorted({ by: 'updated_at' }))[0]!.cursor.key).toBe(BASE_MS + 1);
    expect((await world.storage.jobs.list({ limit: 9 })).jobs.toReversed()).toEqual(
      (await sorted({ by: 'name' })).map(({ job }) => job).toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1)),
    );
  });

  it('what nothing is planned for comes last, whichever way the list goes', async () => {
    const { world } = stage;
    const paused = await recurring('paused');
    await world.pause(paused.jobId);
    const { job: ended } = await world.oneOff({ job: { name: 'ended' } });
    await world.settle(await world.claimOne(ended));
    await recurring('late', { inMs: HOUR_MS });
    await recurring('soon', { inMs: MINUTE_MS });
    expect(await names({ by: 'next_run_time' })).toEqual(['soon', 'late', 'paused', 'ended']);
    expect(await names({ by: 'next_run_time', descending: true })).toEqual([
      'late',
      'soon',
      'ended',
      'paused',
    ]);
    for (const descending of [true, false]) {
      const keys = (await sorted({ by: 'next_run_time', descending })).map(({ cursor }) => cursor.key);
      expect(keys.slice(2)).toEqual([keyOfNone({ descending }), keyOfNone({ descending })]);
    }
  });

  it('pages of every order join without a gap, also between jobs with the same key, for every filter', async () => {
    const userId = newId<string>();
    const ids: JobId[] = [];
    for (let i = 0; i < 5; i += 1) {
      const over = { userId, namespace: 'paged', labels: { page: 'yes' }, name: `paged ${i % 2}` };
      const job = await recurring(over.name, { ...over, updatedAtMs: BASE_MS + (i % 3) });
      ids.push(job.jobId);
    }
    await recurring('other');
    const filters: Partial<SortedJobQuery>[] = [
      { userId },
      { namespace: 'paged' },
      { labels: { page: 'yes' } },
      { status: 'SCHEDULED', text: 'paged' },
      { text: 'paged' },
    ];
    for (const filter of filters) {
      for (const by of JOB_SORT_KEYS) {
        for (const descending of [true, false]) {
          const whole = (await sorted({ ...filter, by, descending })).map(({ job }) => job.jobId);
          expect(whole.toSorted()).toEqual(ids.toSorted());
          const read: JobId[] = [];
          let after: JobCursor | undefined;
          for (let pages = 0; pages < 4; pages += 1) {
            const page = await sorted({ ...filter, by, descending, limit: 2, ...(after && { after }) });
            read.push(...page.map(({ job }) => job.jobId));
            after = page.at(-1)?.cursor ?? after;
          }
          expect(read).toEqual(whole);
          const second = await sorted({ ...filter, by, descending, limit: 2, offset: 2 });
          expect(second.map(({ job }) => job.jobId)).toEqual(whole.slice(2, 4));
        }
      }
    }
  });

  it('every other filter narrows it too', async () => {
    await recurring('b', { priority: 'high' });
    await recurring('a', { priority: 'high' });
    await recurring('c');
    await stage.world.oneOff({ job: { name: 'once' } });
    expect(await names({ priority: 'high' })).toEqual(['a', 'b']);
    expect(await names({ scheduleTypes: ['IMMEDIATE', 'FUTURE'] })).toEqual(['once']);
    expect(await names({ handler: 'nobody' })).toEqual([]);
    expect(await names({ createdToMs: BASE_MS })).toEqual([]);
    expect(await names({ status: 'PAUSED' })).toEqual([]);
  });
}
