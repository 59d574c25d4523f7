/** The insight store in memory. */
import { isRecurring, type JobId, type RunId } from '@carillon/domain';
import {
  AHEAD_MAX,
  FIRES_LOOKED_AT_MAX,
  type FiresAt,
  type FiresQuery,
  type Found,
  type FoundJob,
  type FoundRun,
  type IdRange,
  type InsightStore,
  type NamePrefix,
  newestOfEach,
  type SlotHolder,
  STRIP_ATTEMPTS_PER_RUN,
  type Standing,
  type StripQuery,
  type StripRun,
} from '../insight-store.ts';
import type { LaneMark } from '../lane.ts';
import { compareMarks, PART_COUNT } from '../lane.ts';
import type { RunView } from '../run-store.ts';
import type { RunRecord } from './due-record.ts';
import { isVisible } from './find-jobs.ts';
import type { MemoryState } from './memory-state.ts';
import { leasedView } from './run-views.ts';

type State = Pick<MemoryState, 'cursors' | 'jobs' | 'due' | 'leases' | 'history' | 'admissions'>;

const BEFORE_ALL: LaneMark = { laneAtMs: Number.NEGATIVE_INFINITY, runId: '' };

export class MemoryInsightStore implements InsightStore {
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  async strips({ jobIds, runs, visible }: StripQuery): Promise<ReadonlyMap<JobId, readonly StripRun[]>> {
    const { jobs, leases, history } = this.#state;
    const seen = [...new Set(jobIds)].filter((jobId) => {
      const job = jobs.get(jobId);
      return job !== undefined && isVisible(job, visible);
    });
    return new Map(
      seen.map((jobId) => {
        const living = leases.ofJob(jobId).map(leasedView).sort(newestFirst).slice(0, runs);
        const ended = [...history.ofJob(jobId)].sort(newestFirst).slice(0, runs * STRIP_ATTEMPTS_PER_RUN);
        return [jobId, newestOfEach([...living, ...ended], runs).map(stripRun)];
      }),
    );
  }

  async firesAt({ atMs, namespace, visible, exceptJobId }: FiresQuery): Promise<readonly FiresAt[]> {
    const { cursors, jobs } = this.#state;
    return [...new Set(atMs)].flatMap((instantMs) => {
      const there = [...cursors.values()]
        .filter((cursor) => !cursor.held && cursor.fireAtMs === instantMs)
        .sort((a, b) => a.shard - b.shard || (a.jobId < b.jobId ? -1 : 1))
        .slice(0, FIRES_LOOKED_AT_MAX);
      const counts = new Map<string, Omit<FiresAt, 'count'> & { count: number }>();
      for (const { jobId, schedule } of there) {
        const job = jobs.get(jobId)!;
        if (jobId === exceptJobId || job.namespace !== namespace || !isVisible(job, visible)) continue;
        const rule = JSON.stringify(schedule);
        const partial = there.length === FIRES_LOOKED_AT_MAX;
        const counted = counts.get(rule) ?? { atMs: instantMs, schedule, count: 0, partial };
        counted.count += 1;
        counts.set(rule, counted);
      }
      return [...counts.values()];
    });
  }

  async slotHolders(jobId: JobId, limit: number): Promise<readonly SlotHolder[]> {
    const { admissions, leases } = this.#state;
    return admissions
      .ofJob(jobId)
      .slice(0, limit)
      .map((runId) => {
        const leased = leases.ofRun(runId);
        return { runId, workerId: leased?.workerId, claimedAtMs: leased?.claimedAtMs };
      });
  }

  async standing(runId: RunId): Promise<Standing | undefined> {
    const record = this.#state.due.get(runId);
    return (
      record && { fireAtMs: record.fireAtMs, expiresAtMs: record.expiresAtMs, ahead: this.#ahead(record) }
    );
  }

  #ahead(record: RunRecord): number | undefined {
    const { due } = this.#state;
    if (record.state === 'waiting') {
      const before = due.ofJob(record.jobId).filter(({ state }) => state === 'waiting');
      return Math.min(before.filter((other) => byInstant(other, record) < 0).length, AHEAD_MAX);
    }
    if (record.state !== 'open') return undefined;
    let ahead = 0;
    for (let part = 0; part < PART_COUNT; part += 1) {
      for (const other of due.readLane({ ...record.lane, part }, BEFORE_ALL)) {
        if (compareMarks(other, record) < 0) ahead += 1;
      }
    }
    return Math.min(ahead, AHEAD_MAX);
  }

  async jobsByIds({ first, last, visible, limit }: IdRange): Promise<Found<FoundJob>> {
    const found = [...this.#state.jobs.values()]
      .filter(({ jobId }) => jobId >= first && jobId <= last)
      .filter((job) => isVisible(job, visible))
      .sort((a, b) => (a.jobId < b.jobId ? 1 : -1));
    return { found: found.slice(0, limit).map(foundJob), partial: false };
  }

  async runsByIds({ first, last, visible, limit }: IdRange): Promise<Found<FoundRun>> {
    const { jobs, due, leases, history } = this.#state;
    const runs = new Map<RunId, JobId>();
    const add = ({ runId, jobId }: { runId: RunId; jobId: JobId }) => {
      if (runId >= first && runId <= last) runs.set(runId, jobId);
    };
    for (const record of due.all()) add(record);
    for (const { run } of leases.all()) add(run);
    history.all().forEach(add);
    const found = [...runs]
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .flatMap(([runId, jobId]): FoundRun[] => {
        const job = jobs.get(jobId);
        const isSeen = job ? isVisible(job, visible) : visible === undefined;
        return isSeen ? [{ runId, jobId, job: job && { name: job.name, namespace: job.namespace } }] : [];
      });
    return { found: found.slice(0, limit), partial: false };
  }

  async jobsByName({ prefix, namespaces, limit }: NamePrefix): Promise<readonly FoundJob[]> {
    const wanted = prefix.toLowerCase();
    const key = ({ name }: { name: string }) => Buffer.from(name.toLowerCase());
    return [...this.#state.jobs.values()]
      .filter(({ schedule }) => isRecurring(schedule))
      .filter(({ namespace }) => namespaces === undefined || namespaces.includes(namespace))
      .filter(({ name }) => name.toLowerCase().startsWith(wanted))
      .sort((a, b) => Buffer.compare(key(a), key(b)) || (a.jobId < b.jobId ? -1 : 1))
      .slice(0, limit)
      .map(foundJob);
  }
}

function foundJob({ jobId, name, namespace, userId, handler, key }: FoundJob): FoundJob {
  return { jobId, name, namespace, userId, handler, key };
}

function stripRun({ runId, status, attempt, scheduledAtMs, startedAtMs, endedAtMs }: RunView): StripRun {
  return { runId, status, attempt, scheduledAtMs, startedAtMs, endedAtMs };
}

function byInstant(a: RunRecord, b: RunRecord): number {
  return (
    a.fireAtMs - b.fireAtMs ||
    a.nominalAtMs - b.nominalAtMs ||
    (a.runId < b.runId ? -1 : Number(a.runId > b.runId))
  );
}

function newestFirst(a: RunView, b: RunView): number {
  return (
    b.createdAtMs - a.createdAtMs ||
    (a.runId < b.runId ? 1 : Number(a.runId === b.runId) - 1) ||
    b.epoch - a.epoch
  );
}
