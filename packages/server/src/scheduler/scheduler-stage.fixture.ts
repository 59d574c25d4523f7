/** For tests of what the owner of shards does: a scheduler over the storage in memory, and what workers could take of it. */
import type { ClaimedRun, Job, JobId, LeaseId, RunId } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import { expect } from 'vitest';
import type { Signals } from '../signal-bus/signal-bus.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { BASE_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { type End, manualRun, settlement } from '../storage/conformance/storage-world.ts';
import { LANE_START } from '../storage/lane.ts';
import type { RunView } from '../storage/run-store.ts';
import type { ScheduleStore } from '../storage/schedule-store.ts';
import { type Breakage, breakable, RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';

const PASSES_MAX = 500;

export class SchedulerStage {
  readonly role: RoleStage;
  readonly store: ScheduleStore;
  readonly breakage: Breakage;
  readonly scheduler: Scheduler;
  readonly stopAsked: RunId[] = [];
  readonly errors: object[] = [];

  private constructor(role: RoleStage, over: Partial<SchedulerOptions>) {
    this.role = role;
    ({ port: this.store, breakage: this.breakage } = breakable<ScheduleStore>(role.storage.schedule));
    this.scheduler = this.create(over);
    role.signals.on('cancel-requested', ({ runIds }) => this.stopAsked.push(...runIds));
  }

  static async set(over: Partial<SchedulerOptions> = {}): Promise<SchedulerStage> {
    return new SchedulerStage(await RoleStage.set(), over);
  }

  create(over: Partial<SchedulerOptions> = {}): Scheduler {
    const { common, signals, world } = this.role;
    return new Scheduler({
      ...common,
      log: { ...silentLog, error: (facts) => this.errors.push(facts) },
      store: this.store,
      signals,
      windowMs: 5 * MINUTE_MS,
      rowsPerShard: 1_000,
      guard: () => world.guard,
      ...over,
    });
  }

  /** Passes until nothing is left to do now; answers how long that will be so. */
  async rest(who = this.scheduler): Promise<number> {
    for (let passes = 0; passes < PASSES_MAX; passes += 1) {
      const waitMs = await who.runOnce();
      if (waitMs > 0) return waitMs;
    }
    return expect.fail('the scheduler never comes to rest');
  }

  /** So long after the beginning: the runs that may start, taken by a worker. */
  async at(ms: number): Promise<ClaimedRun[]> {
    this.role.clock.advance(ms - (this.role.clock.now() - BASE_MS));
    await this.rest();
    return this.take();
  }

  /** Everything that may start now, in any order. */
  async take(): Promise<ClaimedRun[]> {
    const { storage, clock, world } = this.role;
    const heads = await storage.leases.lanes({ after: undefined, limit: 100_000 });
    const lanes = heads.map((lane) => ({ lane, after: LANE_START, runsMax: 100_000 }));
    const request = { leaseId: newId<LeaseId>(), workerId: world.workerId, nowMs: clock.now() };
    const { runs } = await storage.leases.claim({ ...request, pick: { lanes, runsMax: 100_000 } });
    return [...runs];
  }

  /** The run ended; everybody hears what follows from it, unless told otherwise. */
  async finish(run: ClaimedRun, { told = true, ...end }: End & { told?: boolean } = {}): Promise<void> {
    const { storage, signals, clock } = this.role;
    const { freed, opened, planned } = await storage.leases.settle([settlement(run, end)], clock.now());
    if (!told) return;
    signals.send('slots-freed', { jobIds: freed });
    signals.send('runs-open', { lanes: opened });
    signals.send('shards-due', { shards: planned });
    await turns();
  }

  /** Somebody wants the job to run now. */
  async runNow({ jobId, shard }: Job, { told = true } = {}): Promise<RunId> {
    const { storage, signals, clock } = this.role;
    const run = manualRun(clock.now());
    await storage.jobs.enqueue(jobId, run);
    if (told) signals.send('shards-due', { shards: [{ shard, atMs: run.fireAtMs }] });
    return run.runId;
  }

  runsOf(jobId: JobId): Promise<RunView[]> {
    return this.role.world.runsOf(jobId, this.role.clock.now());
  }

  /** Signals of this name that were sent from now on. */
  sent<Name extends keyof Signals>(name: Name): Signals[Name][] {
    const heard: Signals[Name][] = [];
    this.role.signals.on(name, (signal) => heard.push(signal));
    return heard;
  }
}

/** Nominal instants, counted from the beginning. */
export function nominalsOf(runs: readonly { readonly nominalAtMs: number }[]): number[] {
  return runs.map(({ nominalAtMs }) => nominalAtMs - BASE_MS);
}
