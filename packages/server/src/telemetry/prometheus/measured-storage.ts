/**
 * The storage with measurements: what is claimed, settled and inserted is reported to telemetry once per call. The roles are
 * not involved.
 */
import type { Clock } from '@carillon/foundation';
import type { JobStore } from '../../storage/job-store.ts';
import type { LeaseStore, Settlement, SettleVerdict } from '../../storage/lease-store.ts';
import type { GivenUpRun, ScheduleStore } from '../../storage/schedule-store.ts';
import type { Storage } from '../../storage/storage.ts';
import { RUN_ENDS, type RunEnd, type Telemetry } from '../telemetry.ts';

type Measured<Store> = Partial<{ [Name in keyof Store]: Store[Name] }>;

export function measuredStorage<Whole extends Storage>(
  storage: Whole,
  { telemetry, clock }: { telemetry: Telemetry; clock: Clock },
): Whole {
  return {
    ...storage,
    jobs: withMethods(storage.jobs, measuredJobs(storage.jobs, telemetry)),
    schedule: withMethods(storage.schedule, measuredSchedule(storage.schedule, telemetry)),
    leases: withMethods(storage.leases, measuredLeases(storage.leases, { telemetry, clock })),
  };
}

function measuredJobs(jobs: JobStore, telemetry: Telemetry): Measured<JobStore> {
  return {
    async insert(entries, options) {
      const inserted = await jobs.insert(entries, options);
      telemetry.batch('insert', entries.length);
      return inserted;
    },
  };
}

function measuredLeases(
  leases: LeaseStore,
  { telemetry, clock }: { telemetry: Telemetry; clock: Clock },
): Measured<LeaseStore> {
  return {
    async claim(request) {
      const sentAt = clock.monotonic();
      const batch = await leases.claim(request);
      if (batch.runs.length === 0) return batch;
      const nowMs = request.nowMs + (clock.monotonic() - sentAt);
      telemetry.batch('claim', batch.runs.length);
      telemetry.runsStarted(batch.runs.map((run) => nowMs - run.dueAtMs));
      return batch;
    },
    async settle(settlements, nowMs) {
      const settled = await leases.settle(settlements, nowMs);
      telemetry.batch('settle', settlements.length);
      reportEnds(telemetry, settlements, settled.verdicts);
      return settled;
    },
  };
}

function measuredSchedule(schedule: ScheduleStore, telemetry: Telemetry): Measured<ScheduleStore> {
  const givenUp = (runs: GivenUpRun[]) => {
    if (runs.length > 0) telemetry.runsEnded('failed', [], runs.length);
    return runs;
  };
  return {
    async fire(fires, options) {
      const fired = await schedule.fire(fires, options);
      if (fired.skipped > 0) telemetry.runsEnded('skipped', [], fired.skipped);
      return fired;
    },
    expire: async (options) => givenUp(await schedule.expire(options)),
    expireUnoffered: async (options) => givenUp(await schedule.expireUnoffered(options)),
  };
}

function reportEnds(
  telemetry: Telemetry,
  settlements: readonly Settlement[],
  verdicts: readonly SettleVerdict[],
): void {
  const counts = new Map<RunEnd, number>();
  const durations = new Map<RunEnd, number[]>(RUN_ENDS.map((end) => [end, []]));
  for (let i = 0; i < settlements.length; i += 1) {
    const verdict = verdicts[i]!;
    if (verdict === 'stale') continue;
    const settlement = settlements[i]!;
    const end = verdict === 'cancelled' ? 'cancelled' : endOf(settlement);
    counts.set(end, (counts.get(end) ?? 0) + 1);
    if (settlement.startedAtMs !== undefined)
      durations.get(end)!.push(settlement.endedAtMs - settlement.startedAtMs);
  }
  for (const [end, count] of counts) telemetry.runsEnded(end, durations.get(end)!, count);
}

function endOf({ status, next }: Settlement): RunEnd {
  if (next.kind === 'again') return 'retried';
  switch (status) {
    case 'SUCCESS':
      return 'succeeded';
    case 'TIMED_OUT':
      return 'timed_out';
    case 'CANCELLED':
      return 'cancelled';
    case 'SKIPPED':
      return 'skipped';
    default:
      return 'failed';
  }
}

/** The store with some methods replaced; the others are its own, bound to it. */
function withMethods<Store extends object>(store: Store, methods: Measured<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const measured: unknown = Reflect.get(methods, name);
      if (measured !== undefined) return measured;
      const own: unknown = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}
