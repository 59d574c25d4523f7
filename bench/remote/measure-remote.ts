/** What is measured of a remote worker: how fast it drains, how soon it starts what is due, and what both sides keep in memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { jobCountOf, type Load, planLoad } from '../engine/loads.ts';
import type { Delays } from '../engine/start-ledger.ts';
import { median } from '../median.ts';
import { type CoreUsPerJob, canReadProcesses, coreUsPerJob, readCpu, readRssBytes } from '../process-use.ts';
import { settleDatabase } from '../stores.ts';
import type { CarillonRun } from '../workloads.ts';
import { RemoteSubject } from './remote-subject.ts';

export type RemoteDrain = { readonly drainPerSecond: number; readonly drainCoreUs: CoreUsPerJob | null };

/** Between the last job that was created ahead and the first that is due. */
const restMs = 2_000;

/**
 * As engine/measure-drain.ts does in process: jobs are made while all is down, the store is settled, and counted is from the
 * first start until all are recorded; once with few jobs to warm both processes, then with all.
 */
export function measureRemoteDrain(
  run: CarillonRun,
  { slots, jobs, warmUpJobs }: { slots: number; jobs: number; warmUpJobs: number },
): Promise<RemoteDrain> {
  return RemoteSubject.on(run, slots, async (subject) => {
    await drainOnce(run, subject, { batch: 'warm-up', jobs: warmUpJobs });
    return drainOnce(run, subject, { batch: 'measured', jobs });
  });
}

async function drainOnce(
  { postgresPid }: CarillonRun,
  subject: RemoteSubject,
  { batch, jobs }: { batch: string; jobs: number },
): Promise<RemoteDrain> {
  await subject.create(batch, jobs);
  await settleDatabase(subject.databaseUrl);
  await subject.startServer();
  const { server, worker } = subject.pids;
  const sources = { storePid: postgresPid, systemPids: [server, worker] };
  const before = readCpu(sources);
  await subject.connectWorker();
  await subject.started(batch, jobs);
  await subject.recorded();
  const endedAtMs = performance.timeOrigin + performance.now();
  const drainCoreUs = coreUsPerJob(before, readCpu(sources), jobs);
  const { firstStartAtMs } = await subject.tell(batch);
  await subject.stopAndAssertCorrect();
  return { drainPerSecond: (jobs * 1_000) / (endedAtMs - firstStartAtMs), drainCoreUs };
}

export type RemoteDelay = Delays & { readonly jobs: number };

/** From the scheduled instant to the call of the handler in the worker, of jobs created ahead of time. */
export function measureRemoteDelay(
  run: CarillonRun,
  { slots, load, warmUpJobs }: { slots: number; load: Load; warmUpJobs: number },
): Promise<RemoteDelay> {
  return RemoteSubject.on(run, slots, async (subject) => {
    await startWarm(subject, warmUpJobs);
    const jobs = jobCountOf(load);
    const plan = planLoad(load, Date.now() + restMs + jobs);
    await subject.expect('measured', jobs, plan.instantsMs);
    await subject.post('measured', {
      jobs,
      fieldsOf: (index) => ({
        schedule_type: 'FUTURE',
        schedule_time: new Date(plan.instantsMs[index]!).toISOString(),
      }),
    });
    if (Date.now() > plan.firstMs - restMs / 2)
      throw new Error('creating the jobs took so long that the first was due meanwhile');
    await sleep(plan.lastMs - Date.now());
    await subject.started('measured', jobs);
    const { delays } = await subject.tell('measured');
    await subject.recorded();
    await subject.stopAndAssertCorrect();
    return { jobs, ...delays };
  });
}

export type Growth = {
  /** Of what is kept. */
  readonly firstThirdBytes: number;
  readonly lastThirdBytes: number;
  readonly keptBytes: readonly number[];
  /** At the end of each wave, before anything is collected. */
  readonly residentBytes: readonly number[];
};

export type RemoteMemory = { readonly jobs: number; readonly server: Growth; readonly worker: Growth };

/** What is kept after each of many equal waves of jobs, that are posted and run while server and worker live on. */
export function measureRemoteMemory(
  run: CarillonRun,
  order: { slots: number; waves: number; jobsPerWave: number; warmUpJobs: number },
): Promise<RemoteMemory> {
  const { slots, waves, jobsPerWave, warmUpJobs } = order;
  if (!canReadProcesses()) throw new Error('reads /proc, which only Linux has');
  return RemoteSubject.on(run, slots, async (subject) => {
    await startWarm(subject, warmUpJobs);
    const jobs = waves * jobsPerWave;
    await subject.expect('measured', jobs);
    const samples = { server: new Samples(), worker: new Samples() };
    for (let wave = 0; wave < waves; wave += 1) {
      const first = wave * jobsPerWave;
      await subject.post('measured', { jobs: jobsPerWave, first });
      await subject.started('measured', first + jobsPerWave);
      const { pids } = subject;
      await subject.recorded();
      const resident = { server: readRssBytes(pids.server), worker: readRssBytes(pids.worker) };
      const kept = await subject.kept();
      for (const side of ['server', 'worker'] as const) samples[side].add(kept[side], resident[side]);
    }
    await subject.stopAndAssertCorrect();
    return { jobs, server: samples.server.growth(), worker: samples.worker.growth() };
  });
}

async function startWarm(subject: RemoteSubject, warmUpJobs: number): Promise<void> {
  await subject.startServer();
  await subject.connectWorker();
  await subject.expect('warm-up', warmUpJobs);
  await subject.post('warm-up', { jobs: warmUpJobs });
  await subject.started('warm-up', warmUpJobs);
  await subject.recorded();
}

class Samples {
  readonly #keptBytes: number[] = [];
  readonly #residentBytes: number[] = [];

  add(kept: number, resident: number): void {
    this.#keptBytes.push(kept);
    this.#residentBytes.push(resident);
  }

  growth(): Growth {
    const [keptBytes, residentBytes] = [this.#keptBytes, this.#residentBytes];
    const third = Math.ceil(keptBytes.length / 3);
    return {
      firstThirdBytes: median(keptBytes.slice(0, third)),
      lastThirdBytes: median(keptBytes.slice(-third)),
      keptBytes,
      residentBytes,
    };
  }
}
