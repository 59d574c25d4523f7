/** Looking ahead and firing in memory: the compare-and-set on the cursor and all that follows happen within one turn. */
import type { JobId } from '@carillon/domain';
import type { Fire, Lane, PlacedRow, ScheduleStore } from '../schedule-store.ts';
import type { ShardGuard } from '../shard-guard.ts';
import { type CursorRecord, dueRow, runRecord } from './due-record.ts';
import { endJob } from './end-run.ts';
import { guardHolds, type MemoryState } from './memory-state.ts';
import { endedPendingView } from './run-views.ts';

export class MemoryScheduleStore implements ScheduleStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async read(
    lanes: readonly Lane[],
    options: { untilMs: number; limitPerLane: number },
  ): Promise<PlacedRow[]> {
    const { untilMs, limitPerLane: limit } = options;
    return lanes.flatMap((lane) =>
      this.#state.due.readLane(lane, { untilMs, limit }).map((record) => ({
        row: dueRow(record),
        place: { fireAtMs: record.fireAtMs, runId: record.rowId },
      })),
    );
  }

  async fire(
    fires: readonly Fire[],
    options: { guard: ShardGuard; nowMs: number },
  ): Promise<ReadonlySet<JobId>> {
    const fired = new Set<JobId>();
    for (const fire of fires) {
      const cursor = this.#unchanged(fire, options.guard);
      if (!cursor) continue;
      this.#fireOne(fire, cursor, options.nowMs);
      fired.add(cursor.jobId);
    }
    return fired;
  }

  #unchanged({ cursor }: Fire, guard: ShardGuard): CursorRecord | undefined {
    const record = this.#state.due.get(cursor.jobId);
    if (record?.kind !== 'cursor' || record.held) return undefined;
    if (record.nominalAtMs !== cursor.nominalAtMs || record.jobVersion !== cursor.jobVersion)
      return undefined;
    return guardHolds(this.#state, guard, record.shard) ? record : undefined;
  }

  #fireOne(fire: Fire, cursor: CursorRecord, nowMs: number): void {
    const { due, jobs, lastNominalMs } = this.#state;
    const job = jobs.get(cursor.jobId)!;
    const lastRun = fire.runs.at(-1);
    for (const { runId, nominalAtMs } of fire.runs) {
      const endsJob = fire.next === undefined && runId === lastRun?.runId;
      due.put(runRecord(job, { runId, nominalAtMs, fireAtMs: nowMs, trigger: 'schedule', endsJob }));
    }
    this.#recordSkipped(fire, cursor, nowMs);
    const last = lastOccurrence(fire);
    if (last !== undefined) lastNominalMs.set(job.jobId, last);

    if (fire.next) due.put({ ...cursor, ...fire.next });
    else {
      due.remove(cursor.rowId);
      if (!lastRun) endJob(this.#state, job.jobId, { status: 'COMPLETED', nowMs });
    }
  }

  #recordSkipped({ skipped }: Fire, cursor: CursorRecord, nowMs: number): void {
    if (!skipped) return;
    const job = this.#state.jobs.get(cursor.jobId)!;
    const { runId, fromMs, count } = skipped;
    const run = runRecord(job, {
      runId,
      nominalAtMs: fromMs,
      fireAtMs: nowMs,
      trigger: 'schedule',
      endsJob: false,
    });
    const view = endedPendingView(run, { status: 'SKIPPED', reason: 'misfire', nowMs });
    // Epoch 0: nothing of it could ever be handed out.
    const skip = { ...view, occurrences: count, epoch: 0, endedAtMs: undefined };
    this.#state.history.write(skip);
    this.#state.events.runEnded(skip);
  }
}

function lastOccurrence({ cursor, runs, skipped }: Fire): number {
  return Math.max(cursor.nominalAtMs, skipped?.toMs ?? 0, ...runs.map((run) => run.nominalAtMs));
}
