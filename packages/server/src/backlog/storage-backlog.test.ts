import type { ClaimedBatch, Job, LeaseId, WorkerId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { newId, sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { onceRun } from '../storage/conformance/storage-world.ts';
import { handlerKey } from '../storage/lane.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import { type Breakage, breakable, RoleStage } from '../testing/role-stage.fixture.ts';
import { StorageBacklog } from './storage-backlog.ts';

const HTTP = new Set(['http']);

let stage: RoleStage;
let breakage: Breakage;
let backlog: StorageBacklog;

beforeEach(async () => {
  stage = await RoleStage.set();
  const { port, breakage: broken } = breakable<LeaseStore>(stage.storage.leases);
  breakage = broken;
  backlog = create(port);
});

function create(leases: Pick<LeaseStore, 'claim' | 'lanes'>): StorageBacklog {
  return new StorageBacklog({ ...stage.common, leases, signals: stage.signals });
}

async function insert(count: number, job: Partial<Job> = {}, atMs = BASE_MS): Promise<Job[]> {
  return (await stage.oneOffs(count, { job, atMs })).jobs;
}

const announce = (jobs: readonly Job[], atMs = BASE_MS) => stage.announce(jobs, atMs);

type Runs = ClaimedBatch['runs'];

function tryTake(
  runsMax: number,
  handlers: readonly string[] = ['http'],
  workerId = stage.world.workerId,
): Promise<ClaimedBatch> | undefined {
  return backlog.take({ leaseId: newId<LeaseId>(), workerId, handlers, runsMax });
}

async function take(...request: Parameters<typeof tryTake>): Promise<Runs> {
  return (await tryTake(...request))?.runs ?? [];
}

/** Takes until nothing is known that could be taken; answers the batches. */
async function takeAll(...request: Parameters<typeof tryTake>): Promise<Runs[]> {
  const batches: Runs[] = [];
  for (let taking = tryTake(...request); taking; taking = tryTake(...request))
    batches.push((await taking).runs);
  return batches;
}

const jobIdsOf = (runs: Runs) => runs.map(({ jobId }) => jobId);
const idsOf = (jobs: readonly Job[]) => jobs.map(({ jobId }) => jobId);

describe('runs', () => {
  test('that were announced are taken at once', async () => {
    await backlog.scan(HTTP);
    const jobs = await insert(1);
    expect(await take(10)).toEqual([]);
    announce(jobs);
    expect(backlog.readyInMs([{ handlers: ['http'] }])).toBe(0);
    expect(jobIdsOf(await take(10))).toEqual(idsOf(jobs));
  });

  test('that were not announced are found by the next scan', async () => {
    await backlog.scan(HTTP);
    const jobs = await insert(20);
    await backlog.scan(HTTP);
    expect(await take(100)).toEqual([]);
    expect(backlog.scanInMs()).toBe(1_000);
    stage.clock.advance(1_000);
    await backlog.scan(HTTP);
    expect(jobIdsOf((await takeAll(100)).flat()).sort()).toEqual(idsOf(jobs).sort());
  });

  test('for later are taken at their instant', async () => {
    await backlog.scan(HTTP);
    const jobs = await insert(1, {}, BASE_MS + 300);
    announce(jobs, BASE_MS + 300);
    expect(backlog.readyInMs([{ handlers: ['http'] }])).toBe(300);
    expect(await take(10)).toEqual([]);
    stage.clock.advance(300);
    expect(await take(10)).toHaveLength(1);
  });

  test('for much later cost no memory, and are taken at their instant', async () => {
    const atMs = BASE_MS + 30 * 86_400_000;
    await backlog.scan(HTTP);
    const jobs = await insert(1, {}, atMs);
    announce(jobs, atMs);
    expect(backlog.size).toBe(0);
    stage.clock.advance(1_000);
    await backlog.scan(HTTP);
    expect(backlog.size).toBe(0);
    stage.clock.advance(atMs - BASE_MS - 1_000 - 30_000);
    await backlog.scan(HTTP);
    stage.clock.advance(30_000);
    expect(jobIdsOf(await take(10))).toEqual(idsOf(jobs));
  });

  test('of a lane whose next run is far off are forgotten until then', async () => {
    const jobs = await insert(1);
    const atMs = BASE_MS + 3_600_000;
    const run = onceRun(atMs);
    const other = { ...sampleJob({}), shard: jobs[0]!.shard };
    await stage.storage.jobs.insert([{ job: other, first: { kind: 'run', run }, idempotency: undefined }]);
    await backlog.scan(HTTP);
    await takeAll(10);
    stage.clock.advance(1_000);
    await backlog.scan(HTTP);
    expect(backlog.size).toBe(0);
  });

  test('are taken once, by as many takers as there are', async () => {
    const jobs = await insert(500);
    await backlog.scan(HTTP);
    const other = backlog;
    backlog = create(stage.storage.leases);
    await backlog.scan(HTTP);
    const { workerId } = stage.world;
    const taken: string[] = [];
    for (let rounds = 0; rounds < 200 && taken.length < 500; rounds += 1) {
      const request = () => ({ leaseId: newId<LeaseId>(), workerId, handlers: ['http'], runsMax: 20 });
      const batches = await Promise.all([
        ...[backlog, other, backlog, other].map((one) => one.take(request())),
      ]);
      for (const batch of batches) taken.push(...jobIdsOf(batch?.runs ?? []));
    }
    expect(taken.sort()).toEqual(idsOf(jobs).sort());
  });

  test('of handlers that nobody offers here are left where they are', async () => {
    const elsewhere = await insert(3, { handler: 'gpu' });
    const jobs = await insert(1);
    await backlog.scan(HTTP);
    announce(elsewhere);
    expect(jobIdsOf((await takeAll(100)).flat())).toEqual(idsOf(jobs));
    expect(backlog.size).toBe(1);
    expect(backlog.scanInMs()).toBe(1_000);
  });

  test('of handlers that a new worker offers are looked for at once', async () => {
    const jobs = await insert(3, { handler: 'gpu' });
    await backlog.scan(HTTP);
    await backlog.scan(new Set(['http', 'gpu']));
    expect(jobIdsOf((await takeAll(100, ['http', 'gpu'])).flat()).sort()).toEqual(idsOf(jobs).sort());
  });

  test('are taken by a worker that serves their namespace, and by no other', async () => {
    const media = await insert(3, { namespace: 'media' });
    await insert(3, { namespace: 'billing', priority: 'high' });
    await backlog.scan(HTTP);
    const take = (...namespaces: string[]) =>
      backlog.take({
        ...{ leaseId: newId<LeaseId>(), workerId: stage.world.workerId },
        ...{ handlers: ['http'], namespaces, runsMax: 10 },
      });
    expect(take('elsewhere')).toBeUndefined();
    expect(backlog.readyInMs([{ handlers: ['http'], namespaces: ['elsewhere'] }])).toBeGreaterThan(0);
    const taken: Runs[number][] = [];
    for (let taking = take('media'); taking; taking = take('media')) taken.push(...(await taking).runs);
    expect(jobIdsOf(taken).sort()).toEqual(idsOf(media).sort());
    expect(await takeAll(10)).not.toEqual([]);
  });

  test('are taken most urgent first, wherever they wait', async () => {
    await insert(100, { priority: 'low' });
    const high = idsOf(await insert(40, { priority: 'high' }));
    await backlog.scan(HTTP);
    const taken = jobIdsOf((await takeAll(10)).flat());
    expect(taken).toHaveLength(140);
    expect(taken.slice(0, 40).sort()).toEqual(high.sort());
  });

  test('that a person paused are not taken', async () => {
    const [job] = await insert(1);
    await backlog.scan(HTTP);
    await stage.world.pause(job!.jobId);
    expect(await take(10)).toEqual([]);
  });
});

describe('a claim that fails', () => {
  test('before it happened loses nothing: its runs are taken by the next', async () => {
    const jobs = await insert(1);
    await backlog.scan(HTTP);
    breakage.down = true;
    await expect(take(10)).rejects.toThrow();
    breakage.down = false;
    expect(jobIdsOf(await take(10))).toEqual(idsOf(jobs));
  });

  test('after it happened doubles nothing', async () => {
    await insert(1);
    await backlog.scan(HTTP);
    breakage.deaf = true;
    await expect(take(10)).rejects.toThrow();
    breakage.deaf = false;
    expect((await takeAll(10)).flat()).toEqual([]);
    expect(await stage.storage.leases.leasedBy([stage.world.workerId])).toHaveLength(1);
  });

  test('because of one lane that cannot be claimed from costs the others a scan', async () => {
    const bad = { part: 99_999, priority: 'high', tenant: 1, atMs: BASE_MS } as const;
    const port = stage.storage.leases;
    backlog = create({
      lanes: (request) => port.lanes(request),
      claim: async (request) => {
        if ('lanes' in request.pick && request.pick.lanes.some(({ lane }) => lane.part === bad.part))
          throw new Error('out of range');
        return port.claim(request);
      },
    });
    await backlog.scan(HTTP);
    const jobs = await insert(3);
    announce(jobs);
    stage.signals.send('runs-open', { lanes: [{ ...bad, handlerKey: handlerKey('http') }] });
    await expect(tryTake(10)).rejects.toThrow('out of range');
    await backlog.scan(HTTP);
    expect(jobIdsOf((await takeAll(10)).flat()).sort()).toEqual(idsOf(jobs).sort());
  });

  test('makes all lanes be scanned without delay', async () => {
    await insert(1);
    await backlog.scan(HTTP);
    breakage.down = true;
    await expect(take(10)).rejects.toThrow();
    breakage.down = false;
    await backlog.scan(HTTP);
    expect(breakage.calls.lanes).toBe(2);
  });

  test('of a worker that nobody knows leaves the runs to others', async () => {
    const jobs = await insert(1);
    await backlog.scan(HTTP);
    await stage.world.markDead(stage.world.workerId);
    expect(await take(10)).toEqual([]);
    const workerId = newId<WorkerId>();
    await stage.world.register(workerId);
    expect(jobIdsOf(await take(10, ['http'], workerId))).toEqual(idsOf(jobs));
  });
});

describe('scanning', () => {
  test('is done once a second, however often it is asked for', async () => {
    for (let i = 0; i < 10; i += 1) await backlog.scan(HTTP);
    expect(breakage.calls.lanes).toBe(1);
    stage.clock.advance(1_000);
    await backlog.scan(HTTP);
    expect(breakage.calls.lanes).toBe(2);
  });

  test('takes a twentieth of the time at most', async () => {
    const slow: Pick<LeaseStore, 'claim' | 'lanes'> = {
      claim: (request) => stage.storage.leases.claim(request),
      lanes: (page) => {
        stage.clock.advance(200);
        return stage.storage.leases.lanes(page);
      },
    };
    backlog = create(slow);
    await backlog.scan(HTTP);
    expect(backlog.scanInMs()).toBe(20 * 200 - 200);
  });

  test('is asked for by a hint that says nothing more, also while a scan is under way', async () => {
    const gate = Promise.withResolvers<void>();
    let scans = 0;
    backlog = create({
      claim: (request) => stage.storage.leases.claim(request),
      lanes: async (page) => {
        scans += 1;
        const heads = await stage.storage.leases.lanes(page);
        if (scans === 1) await gate.promise;
        return heads;
      },
    });
    const scanning = backlog.scan(HTTP);
    await insert(1);
    stage.signals.send('runs-open', { lanes: [] });
    gate.resolve();
    await scanning;
    expect(await take(10)).toEqual([]);
    await backlog.scan(HTTP);
    expect(await take(10)).toHaveLength(1);
  });

  test('that failed is done again', async () => {
    await insert(1);
    breakage.down = true;
    await expect(backlog.scan(HTTP)).rejects.toThrow();
    breakage.down = false;
    stage.clock.advance(1_000);
    await backlog.scan(HTTP);
    expect(await take(10)).toHaveLength(1);
  });

  test('goes over any number of lanes, page by page, and forgets what became empty', async () => {
    const jobs = Array.from({ length: 11_000 }, (_, i) => sampleJob({ userId: `u${i}` }));
    await stage.world.house(jobs[0]!);
    await stage.storage.jobs.insert(
      jobs.map((job) => ({ job, first: { kind: 'run', run: onceRun(BASE_MS) }, idempotency: undefined })),
    );
    await backlog.scan(HTTP);
    expect(breakage.calls.lanes).toBe(3);
    expect(backlog.size).toBeGreaterThan(10_900);
    expect((await takeAll(1_000)).flat()).toHaveLength(11_000);
    stage.clock.advance(60_000);
    await backlog.scan(HTTP);
    expect(backlog.size).toBe(0);
  });
});

describe('who listens', () => {
  test('hears when there may be something to take, and only then', async () => {
    let heard = 0;
    backlog.onReady(() => {
      heard += 1;
    });
    await backlog.scan(HTTP);
    announce(await insert(1, { handler: 'gpu' }));
    expect(heard).toBe(0);
    announce(await insert(1));
    expect(heard).toBe(1);
    stage.signals.send('runs-open', { lanes: [] });
    expect(heard).toBe(2);
  });
});

describe('tenants', () => {
  test('with one run each are served before the second helping of one with ten thousand (promise 9)', async () => {
    await insert(10_000, { userId: 'large' });
    await backlog.scan(HTTP);
    await take(100);
    await take(100);
    const [job] = await insert(1, { userId: 'small' });
    announce([job!]);
    expect(jobIdsOf(await take(100))).toContain(job!.jobId);
  });

  test('share the slots equally while they all wait, whatever the length of their backlogs', async () => {
    const owner = new Map<string, string>();
    for (const [userId, count] of Object.entries({ a: 4_000, b: 1_000, c: 1_000, d: 1_000 }))
      for (const job of await insert(count, { userId })) owner.set(job.jobId, userId);
    await backlog.scan(HTTP);
    const got = { a: 0, b: 0, c: 0, d: 0 };
    for (let i = 0; i < 30; i += 1)
      for (const { jobId } of await take(100)) got[owner.get(jobId) as keyof typeof got] += 1;
    for (const count of Object.values(got)) expect(Math.abs(count - 750)).toBeLessThanOrEqual(100);
  });

  test('share the first free slots already, though each has one lane only', async () => {
    const owner = new Map<string, string>();
    for (const userId of ['a', 'b', 'c', 'd'])
      for (const job of await insert(200, { userId, shard: 3 })) owner.set(job.jobId, userId);
    await backlog.scan(HTTP);
    const got = { a: 0, b: 0, c: 0, d: 0 };
    for (let free = 100; free > 0; ) {
      const runs = await take(free);
      free -= runs.length;
      for (const { jobId } of runs) got[owner.get(jobId) as keyof typeof got] += 1;
    }
    expect(got).toEqual({ a: 25, b: 25, c: 25, d: 25 });
  });

  test('in one namespace get its share together', async () => {
    const owner = new Map<string, string>();
    for (let user = 0; user < 20; user += 1)
      for (const job of await insert(100, { namespace: 'many', userId: `u${user}` }))
        owner.set(job.jobId, 'many');
    for (const job of await insert(2_000, { namespace: 'alone' })) owner.set(job.jobId, 'alone');
    await backlog.scan(HTTP);
    const got = { many: 0, alone: 0 };
    for (let i = 0; i < 20; i += 1)
      for (const { jobId } of await take(100)) got[owner.get(jobId) as keyof typeof got] += 1;
    expect(Math.abs(got.many - got.alone)).toBeLessThanOrEqual(200);
  });

  test('get their own runs oldest first', async () => {
    const shard = 3;
    const late = await insert(1, { shard }, BASE_MS - 10);
    const early = await insert(1, { shard }, BASE_MS - 20);
    await backlog.scan(HTTP);
    expect(jobIdsOf(await take(10))).toEqual(idsOf([...early, ...late]));
  });
});
