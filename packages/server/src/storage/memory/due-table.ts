/**
 * The table `due`: rows by id, by job, and by lane in the order of their places. A lane is sorted when it is read after a
 * change, never on writes: bursts of writes between two reads cost one sort of an almost sorted array.
 */
import type { JobId, Priority } from '@carillon/domain';
import type { LanePlace } from '../schedule-store.ts';
import type { DueRecord } from './due-record.ts';
import { Groups } from './groups.ts';

interface LaneRows {
  readonly rows: Map<string, DueRecord>;
  sorted: DueRecord[] | undefined;
}

export class DueTable {
  readonly #rows = new Map<string, DueRecord>();
  readonly #idsByJob = new Groups<JobId, string>();
  readonly #lanes = new Map<string, LaneRows>();

  get(rowId: string): DueRecord | undefined {
    return this.#rows.get(rowId);
  }

  ofJob(jobId: JobId): DueRecord[] {
    return this.#idsByJob.of(jobId).map((rowId) => this.#rows.get(rowId)!);
  }

  /** Adds the row, or puts it in the place of the one with its id. */
  put(record: DueRecord): void {
    this.remove(record.rowId);
    this.#rows.set(record.rowId, record);
    this.#idsByJob.add(record.jobId, record.rowId);
    const lane = this.#lane(record);
    lane.rows.set(record.rowId, record);
    lane.sorted = undefined;
  }

  remove(rowId: string): void {
    const record = this.#rows.get(rowId);
    if (!record) return;
    this.#rows.delete(rowId);
    this.#idsByJob.remove(record.jobId, rowId);
    const lane = this.#lane(record);
    lane.rows.delete(rowId);
    lane.sorted = undefined;
  }

  /** Rows of the lane that stand after the place and are due by the instant, held ones left out. */
  readLane(
    lane: { shard: number; priority: Priority; after: LanePlace },
    { untilMs, limit }: { untilMs: number; limit: number },
  ): DueRecord[] {
    const sorted = this.#sorted(this.#lane(lane));
    const found: DueRecord[] = [];
    for (let i = firstAfter(sorted, lane.after); i < sorted.length && found.length < limit; i += 1) {
      const record = sorted[i]!;
      if (record.fireAtMs > untilMs) break;
      if (!record.held) found.push(record);
    }
    return found;
  }

  #lane({ shard, priority }: { shard: number; priority: Priority }): LaneRows {
    const key = `${shard}/${priority}`;
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane: LaneRows = { rows: new Map(), sorted: undefined };
    this.#lanes.set(key, lane);
    return lane;
  }

  #sorted(lane: LaneRows): readonly DueRecord[] {
    lane.sorted ??= [...lane.rows.values()].sort((a, b) =>
      comparePlaces({ fireAtMs: a.fireAtMs, runId: a.rowId }, { fireAtMs: b.fireAtMs, runId: b.rowId }),
    );
    return lane.sorted;
  }
}

function comparePlaces(a: LanePlace, b: LanePlace): number {
  if (a.fireAtMs !== b.fireAtMs) return a.fireAtMs < b.fireAtMs ? -1 : 1;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? -1 : 1;
}

function firstAfter(sorted: readonly DueRecord[], place: LanePlace): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { fireAtMs, rowId } = sorted[middle]!;
    if (comparePlaces({ fireAtMs, runId: rowId }, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
