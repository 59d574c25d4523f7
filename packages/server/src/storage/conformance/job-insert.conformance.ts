/** Inserting and reading jobs. */
import { DEFAULT_DAYLIGHT_SAVING, type Job, type JobId, type RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { AuditEntry, AuditQuery } from '../audit-store.ts';
import type { NewJob } from '../job-store.ts';
import { comparable, EVERY_MINUTE, newId, sampleJob } from './sample-job.ts';
import { BASE_MS, DAY_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { onceRun, useStorageWorld } from './storage-world.ts';

export function describeJobInsert(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  function newJob(job: Job, idempotency?: NewJob['idempotency']): NewJob {
    return { job, first: { kind: 'run', run: onceRun(BASE_MS) }, idempotency };
  }

  describe('insert', () => {
    it('a job is read back as it was written', async () => {
      const { jobs } = stage.world.storage;
      const plain = sampleJob();
      const rich = sampleJob({
        name: 'rich',
        userId: 'ada',
        handler: 'script',
        payload: '{"nested":{"list":[1,"two",null,true]}}',
        schedule: { type: 'FUTURE', atMs: BASE_MS + 12_345 },
        misfire: { kind: 'all', maxRuns: 7, windowMs: HOUR_MS },
        priority: 'high',
        maxConcurrency: 3,
        overlap: 'replace',
        retry: {
          strategy: 'fixed',
          maxRetries: 9,
          delayMs: 5,
          delayMsMax: 50,
          jitter: false,
          deadlineMs: DAY_MS,
        },
        timeoutMs: 7 * DAY_MS,
        startTimeoutMs: 30_000,
        createdAtMs: BASE_MS + 1,
        updatedAtMs: BASE_MS + 1,
      });
      await jobs.insert([newJob(plain), newJob(rich)]);
      expect(comparable(await jobs.get(plain.jobId))).toEqual(comparable(plain));
      expect(comparable(await jobs.get(rich.jobId))).toEqual(comparable(rich));
    });

    it('a job brings its entry of the audit log, and one that was there before brings none', async () => {
      const { jobs, audit } = stage.world.storage;
      const entryOf = ({ jobId }: Job): AuditEntry => ({
        atMs: BASE_MS,
        actor: { kind: 'key', id: 'k1', name: 'ci "quoted"' },
        action: 'jobs.create',
        namespace: 'default',
        subject: { kind: 'job', id: jobId },
        before: undefined,
        after: '{"name": "sample"}',
        origin: { address: '127.0.0.1', userAgent: undefined, requestId: 'r-1' },
      });
      const audited = (entry: NewJob): NewJob => ({ ...entry, audit: entryOf(entry.job) });
      const idempotency = { key: 'once', requestHash: 'same' };
      const [plain, first, again] = [sampleJob(), sampleJob(), sampleJob()];
      await jobs.insert([newJob(sampleJob()), audited(newJob(plain)), audited(newJob(first, idempotency))]);
      await jobs.insert([audited(newJob(again, idempotency))]);
      const records = await audit.list({ limit: 10 });
      expect(records.map(({ auditId: _, ...entry }) => entry)).toEqual([entryOf(first), entryOf(plain)]);
    });

    it('of jobs that one request made each has its own entry, found by its id and in its place', async () => {
      const { jobs, audit } = stage.world.storage;
      const origin = { address: '127.0.0.1', userAgent: 'test', requestId: 'r-1' };
      const entryOf = ({ jobId, name }: Job, over: Partial<AuditEntry> = {}): AuditEntry => ({
        ...{ atMs: BASE_MS, actor: { kind: 'key', id: 'k1', name: 'ci' }, action: 'jobs.create' },
        ...{ namespace: 'default', subject: { kind: 'job', id: jobId }, before: undefined },
        ...{ after: JSON.stringify({ name }), origin },
        ...over,
      });
      const [other, same] = [
        { origin: { ...origin, requestId: 'r-2' } },
        { after: '{"name": "same"}', origin: { ...origin, requestId: 'r-3' } },
      ];
      const made = [
        ...Array.from({ length: 5 }, (_, i) => ({ job: sampleJob({ name: `job ${i}` }), over: {} })),
        { job: sampleJob({ name: 'alone' }), over: other },
        ...Array.from({ length: 3 }, (_, i) => ({ job: sampleJob({ name: `alike ${i}` }), over: same })),
      ];
      const idempotency = { key: newId<string>(), requestHash: 'same' };
      await jobs.insert(made.map(({ job, over }) => ({ ...newJob(job), audit: entryOf(job, over) })));
      const keyed = [
        sampleJob({ name: 'keyed' }),
        sampleJob({ name: 'repeated' }),
        sampleJob({ name: 'new' }),
      ];
      await jobs.insert(
        keyed.map((job, i) => ({
          ...newJob(
            job,
            i === 1 ? idempotency : { key: `${idempotency.key} ${i && 0}`, requestHash: 'same' },
          ),
          audit: entryOf(job),
        })),
      );
      const expected = [...made, ...keyed.slice(0, 2).map((job) => ({ job, over: {} }))].map(
        ({ job, over }) => entryOf(job, over),
      );
      const read = (entry: AuditEntry) => ({ ...entry, after: JSON.parse(entry.after!) as unknown });
      const listed = async (query: Partial<AuditQuery>) =>
        (await audit.list({ limit: 100, ...query })).map(({ auditId: _, ...entry }) => read(entry));

      expect(await listed({})).toEqual(expected.map(read).reverse());
      for (const entry of expected) {
        expect(await listed({ subjectId: entry.subject.id })).toEqual([read(entry)]);
        expect(
          await listed({ subjectId: entry.subject.id, namespaces: ['default'], actor: 'k1' }),
        ).toHaveLength(1);
        expect(await listed({ subjectId: entry.subject.id, action: 'jobs.update' })).toEqual([]);
      }
      expect(await listed({ subjectId: keyed[2]!.jobId })).toEqual([]);
      const ids = (await audit.list({ limit: 100 })).map(({ auditId }) => auditId);
      expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => b - a));
      for (const namespaces of [undefined, ['default', 'other']]) {
        for (const limit of [1, 2, 3, 7]) {
          const pages: number[] = [];
          for (let last: number | undefined; pages.length < ids.length; last = pages.at(-1)) {
            const page = await audit.list({
              limit,
              ...(namespaces && { namespaces }),
              ...(last !== undefined && { beforeId: last }),
            });
            expect(page).toHaveLength(Math.min(limit, ids.length - pages.length));
            pages.push(...page.map(({ auditId }) => auditId));
          }
          expect(pages).toEqual(ids);
        }
      }
      const [subject] = await audit.list({ limit: 1, subjectId: made[2]!.job.jobId });
      expect(await listed({ subjectId: made[2]!.job.jobId, beforeId: subject!.auditId })).toEqual([]);
      expect(await listed({ subjectId: made[2]!.job.jobId, beforeId: subject!.auditId + 1 })).toHaveLength(1);
    });

    it('of jobs that callers made by many requests at once each has its own entry', async () => {
      const { jobs, audit } = stage.world.storage;
      const entries = Array.from({ length: 12 }, (_, i) => {
        const job = sampleJob({ name: `job ${i}`, createdAtMs: BASE_MS + i });
        const entry: AuditEntry = {
          ...{ atMs: BASE_MS, actor: { kind: 'key', id: `k${i % 3}`, name: 'ci' }, action: 'jobs.create' },
          ...{ namespace: 'default', subject: { kind: 'job', id: job.jobId }, before: undefined },
          after: '{"name": "job"}',
          origin: { address: '127.0.0.1', userAgent: undefined, requestId: i === 3 ? undefined : `r-${i}` },
        };
        return { ...newJob(job), audit: entry };
      });
      await jobs.insert(entries);
      for (const entry of entries) {
        const [found, ...others] = await audit.list({ limit: 10, subjectId: entry.job.jobId });
        expect(others).toEqual([]);
        expect(found).toMatchObject({ actor: entry.audit.actor, origin: entry.audit.origin });
        expect((await jobs.get(entry.job.jobId))?.createdAtMs).toBe(entry.job.createdAtMs);
      }
      for (const key of ['k0', 'k1', 'k2']) {
        const requests = (await audit.list({ limit: 10, actor: key })).map(({ origin }) => origin.requestId);
        const own = entries.filter((entry) => entry.audit.actor.id === key);
        expect(requests.toSorted()).toEqual(own.map((entry) => entry.audit.origin.requestId).toSorted());
      }
    });

    it('a recurring schedule keeps its whole rule', async () => {
      const { world } = stage;
      const zone = 'Europe/Paris';
      const cron = { ...EVERY_MINUTE, zone, startMs: BASE_MS, endMs: BASE_MS + DAY_MS, spreadMs: 9 };
      const daylightSaving = { gap: 'skip', overlap: 'both' } as const;
      const interval = { kind: 'calendar', unit: 'month', every: 2 } as const;
      const every = {
        type: 'INTERVAL',
        interval,
        anchorMs: BASE_MS,
        zone,
        daylightSaving,
        spreadMs: 0,
      } as const;
      const first = await world.recurring({ job: { schedule: cron } });
      const second = await world.recurring({ job: { schedule: every } });
      expect((await world.storage.jobs.get(first.jobId))?.schedule).toEqual(cron);
      expect((await world.storage.jobs.get(second.jobId))?.schedule).toEqual(every);
      expect(cron.daylightSaving).toEqual(DEFAULT_DAYLIGHT_SAVING);
    });

    it('texts of any characters survive', async () => {
      const { world } = stage;
      const odd = `"quoted", {braced}, back\\slash, 'single', NULL, new\nline, tab\t, ünïcødé 🔔`;
      const { job } = await world.oneOff({
        job: { name: odd, userId: odd, handler: odd, payload: JSON.stringify({ [odd]: odd }) },
      });
      expect(comparable(await world.storage.jobs.get(job.jobId))).toEqual(comparable(job));
      expect((await world.pendingRuns(job))[0]?.handler).toBe(odd);
    });

    it('a one-off waits as the first attempt of its only run', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff({
        atMs: BASE_MS + MINUTE_MS,
        job: { startTimeoutMs: 5, overlap: 'skip' },
      });
      expect(await world.pending(job)).toEqual([
        {
          ...{
            jobId: job.jobId,
            runId,
            shard: job.shard,
            priority: 'medium',
            trigger: 'schedule',
            attempt: 1,
          },
          ...{ fireAtMs: BASE_MS + MINUTE_MS, nominalAtMs: BASE_MS + MINUTE_MS, handler: 'http' },
          ...{ expiresAtMs: BASE_MS + MINUTE_MS + 5, state: 'open', held: false },
        },
      ]);
    });

    it('a recurring job waits as a cursor with its rule and version', async () => {
      const { world } = stage;
      const misfire = { kind: 'none', maxRuns: 1, windowMs: 1 } as const;
      const terms = { handler: 'script', maxConcurrency: 3, overlap: 'replace', startTimeoutMs: 9 } as const;
      const job = sampleJob({ schedule: EVERY_MINUTE, misfire, ...terms });
      const cursor = { nominalAtMs: BASE_MS, fireAtMs: BASE_MS + 17 };
      await world.storage.jobs.insert([{ job, first: { kind: 'cursor', cursor }, idempotency: undefined }]);
      const { jobId, shard } = job;
      expect(await world.pending(job)).toEqual([
        { jobId, shard, ...cursor, jobVersion: 1, schedule: EVERY_MINUTE, misfire, resumedAtMs: undefined },
      ]);
    });

    it('answers come in the order of the jobs, each with its own first row', async () => {
      const { world } = stage;
      const many = Array.from({ length: 50 }, () => newJob(sampleJob()));
      const answers = await world.storage.jobs.insert(many);
      expect(answers).toEqual(many.map(({ job }) => ({ kind: 'inserted', jobId: job.jobId })));
      for (const { job, first } of many) {
        const [run] = await world.pendingRuns(job);
        expect(first.kind === 'run' && first.run.runId).toBe(run?.runId);
      }
    });

    it('nothing inserted is nothing answered, and an unknown job is not found', async () => {
      const { jobs } = stage.world.storage;
      expect(await jobs.insert([])).toEqual([]);
      expect(await jobs.get(newId<JobId>())).toBeUndefined();
      expect(await jobs.getForChange(newId<JobId>())).toBeUndefined();
    });
  });

  describe('idempotency keys', () => {
    it('a repeated request finds the first job and adds nothing', async () => {
      const { world } = stage;
      const idempotency = { key: newId<string>(), requestHash: 'a' };
      const [first, second] = [sampleJob(), sampleJob()];
      await world.storage.jobs.insert([newJob(first, idempotency)]);
      const answer = await world.storage.jobs.insert([newJob(second, idempotency)]);
      expect(answer).toEqual([{ kind: 'existing', jobId: first.jobId }]);
      expect(await world.storage.jobs.get(second.jobId)).toBeUndefined();
      expect(await world.pending(second)).toEqual([]);
      expect(await world.pending(first)).toHaveLength(1);
    });

    it('the same key with another request is a conflict', async () => {
      const { jobs } = stage.world.storage;
      const key = newId<string>();
      const [first, second] = [sampleJob(), sampleJob()];
      await jobs.insert([newJob(first, { key, requestHash: 'a' })]);
      const answer = await jobs.insert([newJob(second, { key, requestHash: 'b' })]);
      expect(answer).toEqual([{ kind: 'conflict', jobId: first.jobId }]);
      expect(await jobs.get(second.jobId)).toBeUndefined();
    });

    it('a key repeated within one batch counts once, beside jobs without and with other keys', async () => {
      const { world } = stage;
      const key = newId<string>();
      const [first, repeated, other, keyless, clash] = Array.from({ length: 5 }, () => sampleJob()) as [
        Job,
        Job,
        Job,
        Job,
        Job,
      ];
      const answers = await world.storage.jobs.insert([
        newJob(first, { key, requestHash: 'a' }),
        newJob(repeated, { key, requestHash: 'a' }),
        newJob(other, { key: newId<string>(), requestHash: 'a' }),
        newJob(keyless),
        newJob(clash, { key, requestHash: 'b' }),
      ]);
      expect(answers).toEqual([
        { kind: 'inserted', jobId: first.jobId },
        { kind: 'existing', jobId: first.jobId },
        { kind: 'inserted', jobId: other.jobId },
        { kind: 'inserted', jobId: keyless.jobId },
        { kind: 'conflict', jobId: first.jobId },
      ]);
      expect(await world.pending(repeated)).toEqual([]);
      expect(await world.pending(clash)).toEqual([]);
    });

    it('of requests that race with one key, exactly one is inserted and all name it', async () => {
      const { jobs } = stage.world.storage;
      const idempotency = { key: newId<string>(), requestHash: 'a' };
      const racing = Array.from({ length: 8 }, () => newJob(sampleJob(), idempotency));
      const answers = (await Promise.all(racing.map((one) => jobs.insert([one])))).flat();
      expect(answers.filter(({ kind }) => kind === 'inserted')).toHaveLength(1);
      expect(answers.filter(({ kind }) => kind === 'existing')).toHaveLength(7);
      expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1);
    });
  });

  describe('a batch that is whole', () => {
    it('is inserted whole, or not at all where one is refused', async () => {
      const { world } = stage;
      const { jobs } = world.storage;
      const key = newId<string>();
      const known = sampleJob();
      await jobs.insert([newJob(known, { key, requestHash: 'a' })]);
      const [plain, keyed, clash] = [sampleJob(), sampleJob(), sampleJob()];
      const batch = [
        newJob(plain),
        newJob(keyed, { key: newId<string>(), requestHash: 'a' }),
        newJob(clash, { key, requestHash: 'b' }),
      ];
      const answers = await jobs.insert(batch, { atomic: true });
      expect(answers[2]).toEqual({ kind: 'conflict', jobId: known.jobId });
      for (const { jobId } of [plain, keyed, clash]) expect(await jobs.get(jobId)).toBeUndefined();
      expect(await world.pending(plain)).toEqual([]);

      const repeat = newJob(sampleJob(), { key, requestHash: 'a' });
      expect(await jobs.insert([...batch.slice(0, 2), repeat], { atomic: true })).toEqual([
        { kind: 'inserted', jobId: plain.jobId },
        { kind: 'inserted', jobId: keyed.jobId },
        { kind: 'existing', jobId: known.jobId },
      ]);
      expect(await world.pending(keyed)).toHaveLength(1);
    });

    it('knows a key that it brings twice', async () => {
      const { jobs } = stage.world.storage;
      const key = newId<string>();
      const [first, second] = [sampleJob(), sampleJob()];
      const batch = [newJob(first, { key, requestHash: 'a' }), newJob(second, { key, requestHash: 'b' })];
      const answers = await jobs.insert(batch, { atomic: true });
      expect(answers.map(({ kind }) => kind)).toContain('conflict');
      expect(await jobs.get(first.jobId)).toBeUndefined();
    });
  });

  describe('a job without a home', () => {
    it('is not inserted, and harms no other', async () => {
      const { world } = stage;
      const { jobs, accounts } = world.storage;
      const [orphan, keyed, other] = [
        sampleJob({ namespace: 'nowhere' }),
        sampleJob({ namespace: 'nowhere' }),
        sampleJob({ namespace: 'somewhere' }),
      ];
      await world.house(other);
      const idempotency = { key: newId<string>(), requestHash: 'a' };
      const batch = [newJob(orphan), newJob(keyed, idempotency), newJob(other)];
      const kinds = async (options?: { atomic: boolean }) =>
        (await jobs.insert(batch, options)).map(({ kind }) => kind);
      expect((await kinds({ atomic: true })).slice(0, 2)).toEqual(['namespace_missing', 'namespace_missing']);
      expect(await jobs.get(other.jobId)).toBeUndefined();
      expect(await kinds()).toEqual(['namespace_missing', 'namespace_missing', 'inserted']);
      expect(await jobs.get(orphan.jobId)).toBeUndefined();
      expect(await world.pending(keyed)).toEqual([]);
      expect(await accounts.removeNamespace('somewhere')).toBe('in_use');
    });

    it('is never left behind by a namespace that is removed while it comes', async () => {
      const { world } = stage;
      const { jobs, accounts } = world.storage;
      for (let round = 0; round < 10; round += 1) {
        const job = sampleJob({ namespace: `brief-${round}` });
        await world.house(job);
        const [removed, [inserted]] = await Promise.all([
          accounts.removeNamespace(job.namespace),
          jobs.insert([newJob(job)]),
        ]);
        const outcome = [removed, inserted!.kind].join(' ');
        expect(['removed namespace_missing', 'in_use inserted']).toContain(outcome);
      }
    });
  });

  it('a run id that nobody gave out is unknown', async () => {
    expect(await stage.world.storage.jobs.cancelRun(newId<RunId>(), BASE_MS)).toBe('unknown');
  });
}
