/** The table `due`: pending runs by id and by job, and in the order in which a claim or the owner of a shard finds them. */
import { type JobId, PRIORITIES, type RunId } from '@carillon/domain';
import { compareMarks, type LaneHead, type LaneKey, type LaneMark, laneName } from '../lane.ts';
import type { RunRecord } from './due-record.ts';
import { Groups } from './groups.ts';

export class DueTable {
  readonly #rows = new Map<RunId, RunRecord>();
  readonly #byJob = new Groups<JobId, RunId>();
  /** Open runs by lane; sorted when read after a change, never on writes. */
  readonly #lanes = new Map<string, { rows: Map<RunId, RunRecord>; sorted: RunRecord[] | undefined }>();

  get(runId: RunId): RunRecord | undefined {
    return this.#rows.get(runId);
  }

  all(): Iterable<RunRecord> {
    return this.#rows.values();
  }

  ofJob(jobId: JobId): RunRecord[] {
    return this.#byJob.of(jobId).map((runId) => this.#rows.get(runId)!);
  }

  /** Adds the row, or replaces the one with its id. */
  put(record: RunRecord): void {
    this.remove(record.runId);
    this.#rows.set(record.runId, record);
    this.#byJob.add(record.jobId, record.runId);
    if (!isOpen(record)) return;
    const key = laneName(record.lane);
    const lane = this.#lanes.get(key) ?? { rows: new Map(), sorted: undefined };
    lane.rows.set(record.runId, record);
    lane.sorted = undefined;
    this.#lanes.set(key, lane);
  }

  remove(runId: RunId): void {
    const record = this.#rows.get(runId);
    if (!record) return;
    this.#rows.delete(runId);
    this.#byJob.remove(record.jobId, runId);
    if (!isOpen(record)) return;
    const key = laneName(record.lane);
    const lane = this.#lanes.get(key)!;
    lane.rows.delete(runId);
    lane.sorted = undefined;
    if (lane.rows.size === 0) this.#lanes.delete(key);
  }

  /** The first run of every lane, in the order of lanes. */
  heads(): LaneHead[] {
    return [...this.#lanes.values()]
      .map((lane) => sortedOf(lane)[0]!)
      .map(({ lane, laneAtMs, runId }) => ({ ...lane, laneAtMs, runId }))
      .sort(compareLanes);
  }

  /** Open runs of the lane that stand after the mark, in order. */
  *readLane(key: LaneKey, after: LaneMark): Iterable<RunRecord> {
    const lane = this.#lanes.get(laneName(key));
    if (!lane) return;
    for (const record of [...sortedOf(lane)]) if (compareMarks(record, after) > 0) yield record;
  }
}

export function compareLanes(a: LaneKey, b: LaneKey): number {
  return (
    a.part - b.part ||
    PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) ||
    a.handlerKey - b.handlerKey ||
    a.tenant - b.tenant
  );
}

function isOpen({ state, held }: RunRecord): boolean {
  return state === 'open' && !held;
}

function sortedOf(lane: { rows: Map<RunId, RunRecord>; sorted: RunRecord[] | undefined }): RunRecord[] {
  lane.sorted ??= [...lane.rows.values()].sort(compareMarks);
  return lane.sorted;
}
