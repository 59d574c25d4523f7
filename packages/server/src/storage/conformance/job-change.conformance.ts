/** Editing a job: a compare-and-set on the job and its plan, together with what the edit does to pending rows. */
import type { JobId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { JobChange } from '../job-store.ts';
import { comparable, newId, sampleJob } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { onceRun, plainFire, useStorageWorld } from './storage-world.ts';

export function describeJobChange(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const LATER_MS = BASE_MS + HOUR_MS;
  const cursorLater = { kind: 'cursor', cursor: { nominalAtMs: LATER_MS, fireAtMs: LATER_MS } } as const;

  /** An edit decided now and applied whenever the test wants. */
  async function decide(jobId: JobId, over: Partial<JobChange> = {}): Promise<JobChange> {
    const found = (await stage.world.storage.jobs.getForChange(jobId))!;
    return {
      job: { ...found.job, name: 'edited', version: found.job.version + 1 },
      expectedVersion: found.job.version,
      expectedStatus: found.job.status,
      expectedPlannedNominalMs: found.plannedNominalMs,
      pending: { kind: 'keep' },
      nowMs: BASE_MS,
      ...over,
    };
  }

  describe('reading for a change', () => {
    it('shows the occurrence that is planned: the cursor, or the one-off that has not begun', async () => {
      const { world } = stage;
      const recurring = await world.recurring({ atMs: LATER_MS });
      const { job } = await world.oneOff({ atMs: BASE_MS });
      const { jobs } = world.storage;
      const found = await jobs.getForChange(recurring.jobId);
      expect(found).toMatchObject({ plannedNominalMs: LATER_MS });
      expect(found?.lastNominalMs).toBeUndefined();
      expect(comparable(found?.job)).toEqual(comparable(recurring));
      expect((await jobs.getForChange(job.jobId))?.plannedNominalMs).toBe(BASE_MS);
      await world.claimOne(job);
      expect((await jobs.getForChange(job.jobId))?.plannedNominalMs).toBeUndefined();
    });

    it('shows the last occurrence that was fired, also after a new plan was made', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job);
      expect(await world.storage.jobs.getForChange(job.jobId)).toMatchObject({
        plannedNominalMs: BASE_MS + MINUTE_MS,
        lastNominalMs: BASE_MS,
      });
      await world.change(job.jobId, {}, { kind: 'replan', first: cursorLater });
      expect(await world.storage.jobs.getForChange(job.jobId)).toMatchObject({
        plannedNominalMs: LATER_MS,
        lastNominalMs: BASE_MS,
      });
    });

    it('a held plan is still the plan', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.pause(job.jobId);
      expect((await world.storage.jobs.getForChange(job.jobId))?.plannedNominalMs).toBe(BASE_MS);
    });
  });

  describe('compare-and-set', () => {
    it('writes the job as given', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const change = await decide(job.jobId);
      expect(await world.storage.jobs.apply(change)).toBe(true);
      expect(comparable(await world.storage.jobs.get(job.jobId))).toEqual(comparable(change.job));
    });

    it('refuses an edit of an older version, and changes nothing', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const late = await decide(job.jobId, { pending: { kind: 'replan', first: cursorLater } });
      await world.change(job.jobId, { name: 'first' }, { kind: 'keep' });
      expect(await world.storage.jobs.apply(late)).toBe(false);
      expect((await world.storage.jobs.get(job.jobId))?.name).toBe('first');
      expect((await world.cursor(job))?.nominalAtMs).toBe(BASE_MS);
    });

    it('hazard 11: refuses an edit whose plan was fired meanwhile', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const late = await decide(job.jobId, { pending: { kind: 'replan', first: cursorLater } });
      await world.fire(job);
      expect(await world.storage.jobs.apply(late)).toBe(false);
      expect((await world.cursor(job))?.nominalAtMs).toBe(BASE_MS + MINUTE_MS);
    });

    it('hazard 11: refuses an edit of a one-off that was handed out meanwhile', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const run = onceRun(LATER_MS);
      const late = await decide(job.jobId, { pending: { kind: 'replan', first: { kind: 'run', run } } });
      await world.claimOne(job);
      expect(await world.storage.jobs.apply(late)).toBe(false);
      expect(await world.pending(job)).toEqual([]);
    });

    it('hazard 11: refuses an edit decided before the job ended', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const run = await world.claimOne(job);
      const late = await decide(job.jobId);
      await world.settle(run);
      expect(await world.storage.jobs.apply(late)).toBe(false);
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('refuses an edit of a job that is not there', async () => {
      const job = sampleJob({ version: 2 });
      const pending = { kind: 'keep' } as const;
      const change = {
        job,
        expectedVersion: 1,
        expectedStatus: job.status,
        expectedPlannedNominalMs: undefined,
        pending,
        nowMs: BASE_MS,
      };
      expect(await stage.world.storage.jobs.apply(change)).toBe(false);
      expect(await stage.world.storage.jobs.get(job.jobId)).toBeUndefined();
    });

    it('of edits that race, exactly one wins', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const racing = await Promise.all(Array.from({ length: 6 }, () => decide(job.jobId)));
      const answers = await Promise.all(racing.map((change) => world.storage.jobs.apply(change)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect((await world.storage.jobs.get(job.jobId))?.version).toBe(2);
    });

    it('hazard 11: of an edit and a fire that race, exactly one wins', async () => {
      const { world } = stage;
      for (let round = 0; round < 5; round += 1) {
        const job = await world.recurring();
        const change = await decide(job.jobId, { pending: { kind: 'replan', first: cursorLater } });
        const fire = plainFire((await world.cursor(job))!);
        const [applied, fired] = await Promise.all([
          world.storage.jobs.apply(change),
          world.storage.schedule.fire([fire], { guard: world.guard, nowMs: BASE_MS }),
        ]);
        expect(applied).toBe(fired.jobIds.size === 0);
        expect(await world.pendingRuns(job)).toHaveLength(fired.jobIds.size);
        expect((await world.cursor(job))?.nominalAtMs).toBe(applied ? LATER_MS : BASE_MS + MINUTE_MS);
      }
    });
  });

  it('two jobs never share an edit', async () => {
    const { world } = stage;
    const [one, other] = [await world.recurring(), await world.recurring()];
    await world.change(one.jobId, { handler: newId<string>() }, { kind: 'replan', first: undefined });
    expect(await world.cursor(other)).toBeDefined();
    expect((await world.storage.jobs.get(other.jobId))?.version).toBe(1);
  });
}
