/**
 * Every nominal instant of every schedule and its one verdict. Kept from the fires that were applied: each instant once, none
 * left out between two fires, none before its time, none that a person has skipped.
 */
import {
  fireTime,
  isOccurrence,
  isRecurring,
  type Job,
  type JobId,
  nextFires,
  type RecurringSchedule,
  type RunId,
} from '@carillon/domain';
import type { Cursor, FirstDue } from '../../packages/server/src/storage/due.ts';
import type { JobChange } from '../../packages/server/src/storage/job-store.ts';
import type { Fire } from '../../packages/server/src/storage/schedule-store.ts';
import type { World } from './world.ts';

export interface FirePlan {
  readonly schedule: RecurringSchedule;
  /** Its schedule was edited: instants of several rules, checked only for doubles. */
  edited: boolean;
  /** Every instant with a verdict. */
  readonly judged: Set<number>;
  /** What a person has skipped and not taken back. */
  readonly skipped: Set<number>;
}

/** Clocks of processes follow the storage's by less than this: half the slowest reading of it that counts. */
const CLOCK_ERROR_MS = 600;
/** What production promises. */
const LATE_MS_MAX = 2_000;
/** Nodes start within three seconds; until their shards have changed hands, some have no owner. */
const GATHERED_MS = 15_000;

export class FireLedger {
  readonly #world: World;
  readonly #plans = new Map<JobId, FirePlan>();
  #latenessMsMax = 0;
  #promptFromMs = Number.POSITIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
  }

  /** How late the latest fire was, once the nodes had found each other. */
  get latenessMsMax(): number {
    return this.#latenessMsMax;
  }

  /** From this instant on nothing keeps a cursor from firing (SIM-11), however much waits. */
  promptFrom(atMs: number): void {
    this.#promptFromMs = atMs;
  }

  /** A cursor that was just fired, or stands there. */
  checkPrompt({ jobId, fireAtMs, resumedAtMs = 0 }: Cursor): void {
    const lateMs = this.#world.wallMs - Math.max(fireAtMs, resumedAtMs);
    if (this.#world.nowMs < this.#promptFromMs + LATE_MS_MAX || lateMs <= LATE_MS_MAX) return;
    this.#world.violate(`job ${jobId} was due ${Math.round(lateMs)} ms ago and had not fired`);
  }

  get(jobId: JobId): FirePlan | undefined {
    return this.#plans.get(jobId);
  }

  planned(job: Job, first: FirstDue): void {
    if (first.kind !== 'cursor' || !isRecurring(job.schedule)) return;
    this.#plans.set(job.jobId, newPlan(job.schedule, { edited: false }));
  }

  changed({ job, pending, audit }: JobChange): void {
    if (pending.kind === 'replan') this.#replanned(job, pending.first);
    const skipped = this.#plans.get(job.jobId)?.skipped;
    if (!skipped) return;
    // Only who takes a skip back may leave it out; a new schedule only where it has no such instant.
    if (audit?.action === 'jobs.unskip') skipped.clear();
    for (const { atMs } of job.skips ?? []) skipped.add(atMs);
  }

  #replanned(job: Job, first: FirstDue | undefined): void {
    const { schedule } = job;
    const plan = this.#plans.get(job.jobId);
    if (!plan) {
      if (isRecurring(schedule)) this.#plans.set(job.jobId, newPlan(schedule, { edited: true }));
      return;
    }
    plan.edited = true;
    const plannedMs = first?.kind === 'cursor' ? first.cursor.nominalAtMs : undefined;
    for (const atMs of plan.skipped)
      if (atMs !== plannedMs && !(isRecurring(schedule) && isOccurrence(schedule, atMs)))
        plan.skipped.delete(atMs);
  }

  fired(fires: readonly Fire[], done: ReadonlySet<JobId>, isCancelled: (jobId: JobId) => boolean): void {
    for (const fire of fires) {
      const { jobId } = fire.cursor;
      if (!done.has(jobId)) continue;
      const plan = this.#plans.get(jobId);
      if (!plan) {
        this.#world.violate(`job ${jobId} fired without a schedule`);
        return;
      }
      this.checkPrompt(fire.cursor);
      if (isCancelled(jobId)) this.#world.violate(`job ${jobId} fired after its cancel`);
      for (const nominalMs of verdictsOf(fire)) this.#judge(fire.cursor, plan, nominalMs);
      for (const { nominalAtMs } of fire.runs)
        if (plan.skipped.has(nominalAtMs))
          this.#world.violate(
            `job ${jobId} ran ${new Date(nominalAtMs).toISOString()}, which a person had skipped`,
          );
    }
  }

  /** Nothing starts before its occurrence. What was due once may start though the storage's clock was set back since. */
  notEarly(runId: RunId, nominalMs: number): void {
    const earlyMs = nominalMs - this.#world.believedMs;
    if (earlyMs > CLOCK_ERROR_MS)
      this.#world.violate(`run ${runId} was claimed ${earlyMs} ms before its time`);
  }

  #judge({ jobId, schedule }: Fire['cursor'], plan: FirePlan, nominalMs: number): void {
    if (plan.judged.has(nominalMs)) {
      this.#world.violate(`job ${jobId} fired twice for ${new Date(nominalMs).toISOString()}`);
    }
    plan.judged.add(nominalMs);
    const earlyMs = fireTime({ schedule, jobId, nominalMs }) - this.#world.wallMs;
    if (this.#world.nowMs > GATHERED_MS) this.#latenessMsMax = Math.max(this.#latenessMsMax, -earlyMs);
    if (earlyMs > CLOCK_ERROR_MS + this.#world.unnoticedMs)
      this.#world.violate(`job ${jobId} fired ${earlyMs} ms before its time`);
  }
}

function newPlan(schedule: RecurringSchedule, { edited }: { edited: boolean }): FirePlan {
  return { schedule, edited, judged: new Set(), skipped: new Set() };
}

export function verdictsOf({ cursor, runs, skipped }: Fire): number[] {
  const ran = runs.map(({ nominalAtMs }) => nominalAtMs);
  const left = skipped.flatMap(({ fromMs, count }) => skippedInstants(cursor.schedule, fromMs, count));
  return [...left, ...ran];
}

/** The first one counts even if an edit has left it off the rule. */
export function skippedInstants(schedule: RecurringSchedule, fromMs: number, count: number): number[] {
  return [fromMs, ...nextFires(schedule, fromMs, count - 1)];
}
