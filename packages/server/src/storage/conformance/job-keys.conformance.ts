/** Keys that callers choose: one job per key and namespace, whoever comes first, and free again when the job is removed. */
import type { Job, JobId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { NewJob } from '../job-store.ts';
import { newId, sampleJob } from './sample-job.ts';
import { BASE_MS, type MakeStorage } from './storage-under-test.ts';
import { onceRun, useStorageWorld } from './storage-world.ts';

export function describeJobKeys(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  const newJob = (over: Partial<Job>, idempotency?: NewJob['idempotency']): NewJob => ({
    job: sampleJob(over),
    first: { kind: 'run', run: onceRun(BASE_MS) },
    idempotency,
  });
  const insert = (...entries: NewJob[]) => stage.world.storage.jobs.insert(entries);
  const inserted = ({ job }: NewJob) => ({ kind: 'inserted', jobId: job.jobId });
  const taken = ({ job }: NewJob) => ({ kind: 'key_taken', jobId: job.jobId });

  it('a job is found by its key in its namespace, and in no other', async () => {
    const { jobs } = stage.world.storage;
    await stage.world.house({ namespace: 'team' });
    const [key, other] = [newId<string>(), newId<string>()];
    const [here, there] = [newJob({ key }), newJob({ key, namespace: 'team' })];
    expect(await insert(here, newJob({}), there)).toMatchObject([{}, {}, inserted(there)]);
    expect(await jobs.findKey('default', key)).toBe(here.job.jobId);
    expect(await jobs.findKey('team', key)).toBe(there.job.jobId);
    expect(await jobs.findKey('default', other)).toBeUndefined();
    expect((await jobs.get(here.job.jobId))?.key).toBe(key);
  });

  it('the first has the key: others are refused by the id of that job, and leave nothing behind', async () => {
    const { world } = stage;
    const key = newId<string>();
    const [first, second, plain] = [newJob({ key }), newJob({ key }), newJob({})];
    expect(await insert(first)).toEqual([inserted(first)]);
    expect(await insert(plain, second)).toEqual([inserted(plain), taken(first)]);
    expect(await world.storage.jobs.get(second.job.jobId)).toBeUndefined();
    expect(await world.pending(second.job)).toEqual([]);
  });

  it('within one batch the first has it as well, beside idempotency keys', async () => {
    const key = newId<string>();
    const idempotency = { key: newId<string>(), requestHash: 'a' };
    const batch = [
      newJob({ key }, idempotency),
      newJob({ key }),
      newJob({ key }, idempotency),
      newJob({ key: newId() }),
    ];
    const [first, , , other] = batch as [NewJob, NewJob, NewJob, NewJob];
    expect(await insert(...batch)).toEqual([
      inserted(first),
      taken(first),
      { kind: 'existing', jobId: first.job.jobId },
      inserted(other),
    ]);
  });

  it('a batch that is whole is not inserted where a key is taken', async () => {
    const { jobs } = stage.world.storage;
    const key = newId<string>();
    const [first, plain, second, third] = [newJob({ key }), newJob({}), newJob({ key }), newJob({})];
    await insert(first);
    const answers = await jobs.insert([plain, second], { atomic: true });
    expect(answers[1]).toEqual(taken(first));
    expect(await jobs.get(plain.job.jobId)).toBeUndefined();
    const again = newId<string>();
    const twice = [third, newJob({ key: again }), newJob({ key: again })];
    expect((await jobs.insert(twice, { atomic: true }))[2]).toMatchObject({ kind: 'key_taken' });
    expect(await jobs.get(third.job.jobId)).toBeUndefined();
  });

  it('of those that race for one key, exactly one has it and all name it', async () => {
    const key = newId<string>();
    const answers = (await Promise.all(Array.from({ length: 8 }, () => insert(newJob({ key }))))).flat();
    expect(answers.filter(({ kind }) => kind === 'inserted')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'key_taken')).toHaveLength(7);
    expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1);
  });

  describe('a change', () => {
    it('gives a job a key, another one, or none', async () => {
      const { world } = stage;
      const { jobs } = world.storage;
      const { job } = await world.oneOff();
      const [one, other] = [newId<string>(), newId<string>()];
      expect(await world.change(job.jobId, { key: one }, { kind: 'keep' })).toBe(true);
      expect(await world.change(job.jobId, { key: other }, { kind: 'keep' })).toBe(true);
      expect([await jobs.findKey('default', one), await jobs.findKey('default', other)]).toEqual([
        undefined,
        job.jobId,
      ]);
      expect(await world.change(job.jobId, { key: undefined }, { kind: 'keep' })).toBe(true);
      expect(await jobs.findKey('default', other)).toBeUndefined();
    });

    it('is refused, and changes nothing, where another job has the key', async () => {
      const { world } = stage;
      const key = newId<string>();
      await world.oneOff({ job: { key } });
      const { job } = await world.oneOff();
      expect(await world.change(job.jobId, { key, name: 'renamed' }, { kind: 'keep' })).toBe('key_taken');
      expect(await world.storage.jobs.get(job.jobId)).toMatchObject({ name: job.name, version: 1 });
    });
  });

  it('a removed job frees its key, a cancelled one keeps it', async () => {
    const { world } = stage;
    const { jobs } = world.storage;
    const key = newId<string>();
    const { job } = await world.oneOff({ job: { key } });
    await world.cancelJob(job.jobId);
    expect(await insert(newJob({ key }))).toEqual([{ kind: 'key_taken', jobId: job.jobId }]);
    expect(await jobs.remove(job.jobId)).toBe(true);
    const next = newJob({ key });
    expect(await insert(next)).toEqual([inserted(next)]);
  });

  it('lists are narrowed to a key, to keys with one beginning, and to a name', async () => {
    const { world } = stage;
    const part = newId<string>();
    const made: JobId[] = [];
    for (const key of [`${part}.b`, `${part}.a`, `${part}-x`, undefined])
      made.push((await world.oneOff({ job: { key, name: `${part} ${key === undefined}` } })).job.jobId);
    const [b, a, x, none] = made;
    const { jobs } = world.storage;
    const idsOf = async (query: Partial<Parameters<typeof jobs.list>[0]>) =>
      (await jobs.list({ limit: 10, ...query })).jobs.map(({ jobId }) => jobId);
    expect(await idsOf({ jobKey: `${part}.a` })).toEqual([a]);
    expect(await idsOf({ jobKey: `${part}` })).toEqual([]);
    expect(await idsOf({ jobKeyPrefix: part })).toEqual([x, a, b]);
    expect(await idsOf({ jobKeyPrefix: `${part}.`, order: 'oldest' })).toEqual([b, a]);
    expect(await idsOf({ jobKeyPrefix: part, limit: 1, afterJobId: x! })).toEqual([a]);
    expect(await idsOf({ jobKeyPrefix: part, namespace: 'nowhere' })).toEqual([]);
    expect(await idsOf({ jobName: `${part} true` })).toEqual([none]);
    expect(await idsOf({ jobName: part })).toEqual([]);
    const sorted = await jobs.listSorted({
      jobKeyPrefix: `${part}.`,
      by: 'name',
      descending: false,
      limit: 5,
    });
    expect(sorted).toHaveLength(2);
  });
}
