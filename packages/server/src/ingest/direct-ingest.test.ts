import { ManualClock } from '@carillon/foundation';
import { describe, expect, test } from 'vitest';
import type { InsertedJob, NewJob } from '../storage/job-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { DirectIngest } from './direct-ingest.ts';

const clock = new ManualClock();

const job = (jobId: string) => ({ job: { jobId } }) as unknown as NewJob;
const inserted = (jobs: readonly NewJob[]) =>
  jobs.map(({ job: { jobId } }): InsertedJob => ({ kind: 'inserted', jobId }));

/** A storage that holds every insert until it is let go. */
class SlowJobs {
  readonly batches: (readonly NewJob[])[] = [];
  readonly #waiting: (() => void)[] = [];

  insert(jobs: readonly NewJob[]): Promise<InsertedJob[]> {
    this.batches.push(jobs);
    return new Promise((resolve) => this.#waiting.push(() => resolve(inserted(jobs))));
  }

  letGo(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

describe('DirectIngest', () => {
  test('jobs that arrive together are written together, and each caller gets its own answer', async () => {
    const batches: number[] = [];
    const insert = async (jobs: readonly NewJob[]) => {
      batches.push(jobs.length);
      return inserted(jobs);
    };
    const ingest = new DirectIngest({ clock, jobs: { insert } });
    const one = ingest.accept(job('a'));
    const two = ingest.acceptAll([job('b'), job('c')]);
    expect(await one).toEqual({ kind: 'inserted', jobId: 'a' });
    expect((await two).map(({ jobId }) => jobId)).toEqual(['b', 'c']);
    expect(batches).toEqual([3]);
  });

  test('batches of all or nothing are written two at a time, each by itself', async () => {
    const jobs = new SlowJobs();
    const ingest = new DirectIngest({ clock, jobs });
    const answers = Promise.all(['a', 'b', 'c'].map((id) => ingest.acceptAtomic([job(id)])));
    await Promise.resolve();
    expect(jobs.batches).toHaveLength(2);
    jobs.letGo();
    await new Promise((resolve) => setImmediate(resolve));
    expect(jobs.batches).toHaveLength(3);
    jobs.letGo();
    expect((await answers).flat().map(({ jobId }) => jobId)).toEqual(['a', 'b', 'c']);
  });

  test('large batches are written three at a time, and small ones do not wait for them', async () => {
    const jobs = new SlowJobs();
    const ingest = new DirectIngest({ clock, jobs, batchMax: 300 });
    const large = (name: string) => Array.from({ length: 300 }, (_, i) => job(`${name}${i}`));
    const answers = Promise.all(['a', 'b', 'c', 'd'].map((name) => ingest.acceptAll(large(name))));
    const small = ingest.acceptAll([job('e'), job('f')]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(jobs.batches.map((batch) => batch.length)).toEqual([300, 300, 300, 2]);
    jobs.letGo();
    await new Promise((resolve) => setImmediate(resolve));
    jobs.letGo();
    expect((await answers).map((batch) => batch[299]?.jobId)).toEqual(['a299', 'b299', 'c299', 'd299']);
    expect(await small).toHaveLength(2);
  });

  test('past its capacity it refuses, and of a batch takes all or nothing', async () => {
    const jobs = new SlowJobs();
    const ingest = new DirectIngest({ clock, jobs, capacity: 3 });
    const taken = ingest.acceptAll([job('a'), job('b')]);
    await expect(ingest.acceptAll([job('c'), job('d')])).rejects.toMatchObject({ code: 'overloaded' });
    const third = ingest.accept(job('c'));
    await expect(ingest.accept(job('d'))).rejects.toMatchObject({ code: 'overloaded' });
    await Promise.resolve();
    jobs.letGo();
    expect(await taken).toHaveLength(2);
    // One job alone waits for the transaction under way.
    await new Promise((resolve) => setImmediate(resolve));
    jobs.letGo();
    await third;
    await ingest.drained();
    expect(jobs.batches.flat()).toHaveLength(3);
  });

  test('while many wait for long, whoever comes next is refused at once', async () => {
    const jobs = new SlowJobs();
    const ingest = new DirectIngest({ clock, jobs, flushesMax: 1 });
    const first = ingest.accept(job('first'));
    await Promise.resolve();
    const waiting = Array.from({ length: 499 }, (_, i) => ingest.accept(job(String(i))));
    clock.advance(1_000);
    // However long they wait, a few are no reason to refuse anybody.
    waiting.push(ingest.accept(job('last')));
    await expect(ingest.accept(job('late'))).rejects.toMatchObject({ code: 'overloaded' });
    await expect(ingest.acceptAll([job('late')])).rejects.toMatchObject({ code: 'overloaded' });
    jobs.letGo();
    await first;
    await new Promise((resolve) => setImmediate(resolve));
    const next = ingest.accept(job('next'));
    jobs.letGo();
    expect(await Promise.all(waiting)).toHaveLength(500);
    await new Promise((resolve) => setImmediate(resolve));
    jobs.letGo();
    expect(await next).toMatchObject({ kind: 'inserted' });
  });

  test('jobs that are written together are audited at one instant', async () => {
    const audited: unknown[] = [];
    const insert = async (jobs: readonly NewJob[]) => {
      audited.push(...jobs.map(({ audit }) => audit?.atMs));
      return inserted(jobs);
    };
    const ingest = new DirectIngest({ clock, jobs: { insert } });
    const at = (atMs: number) => ({ ...job(String(atMs)), audit: { atMs } }) as unknown as NewJob;
    await Promise.all([at(1), at(2), job('not audited'), at(3)].map((entry) => ingest.accept(entry)));
    expect(audited).toEqual([3, 3, undefined, 3]);
  });

  test('a batch that is whole shares its transaction with nobody, and takes up room while it is written', async () => {
    const jobs = new SlowJobs();
    const ingest = new DirectIngest({ clock, jobs, capacity: 3 });
    const whole = ingest.acceptAtomic([job('a'), job('b')]);
    const alone = ingest.accept(job('c'));
    await expect(ingest.acceptAtomic([job('d'), job('e')])).rejects.toMatchObject({ code: 'overloaded' });
    await Promise.resolve();
    jobs.letGo();
    expect(await whole).toHaveLength(2);
    await alone;
    await ingest.drained();
    expect(jobs.batches.map((batch) => batch.length)).toEqual([2, 1]);
  });

  test('a job that the storage cannot take fails alone', async () => {
    const insert = async (jobs: readonly NewJob[]) => {
      if (jobs.some(({ job: { jobId } }) => jobId === 'bad')) throw new Error('cannot be stored');
      return inserted(jobs);
    };
    const ingest = new DirectIngest({ clock, jobs: { insert } });
    const answers = await Promise.allSettled(['a', 'b', 'bad', 'c', 'd'].map((id) => ingest.accept(job(id))));
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
  });

  test('a job that takes too long fails with few others, and not with everybody (hazard 47)', async () => {
    const insert = async (jobs: readonly NewJob[]) => {
      if (jobs.some(({ job: { jobId } }) => jobId === '0')) throw new StorageTimeout('locked');
      return inserted(jobs);
    };
    const ingest = new DirectIngest({ clock, jobs: { insert } });
    const all = Array.from({ length: 400 }, (_, i) => ingest.accept(job(String(i))));
    const answers = await Promise.allSettled(all);
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(300);
  });

  test('a storage that does not answer fails everybody, and is not asked again', async () => {
    let asked = 0;
    const insert = async () => {
      asked += 1;
      throw new StorageUnavailable('gone');
    };
    const ingest = new DirectIngest({ clock, jobs: { insert } });
    await expect(ingest.acceptAll([job('a'), job('b')])).rejects.toBeInstanceOf(StorageUnavailable);
    expect(asked).toBe(1);
  });
});
