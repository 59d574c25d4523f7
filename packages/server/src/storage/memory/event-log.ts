/** The table `events`: what happened, each with its cursor. Who reads it later finds the job as it is then, or what was kept of it. */
import {
  CURSORS_PER_GENERATION,
  compareEventCursors,
  type EventCursor,
  type EventJob,
  type EventKind,
  type EventMember,
  type EventRun,
  type Job,
  type JobId,
  kindOfEnd,
  type RecordedEvent,
  ROW_END,
} from '@carillon/domain';
import type { RunView } from '../run-store.ts';

interface EventRow {
  readonly xid: number;
  readonly kind: EventKind;
  readonly recordedAtMs: number;
  readonly atMs: number;
  readonly jobId: JobId | undefined;
  readonly run: EventRun | undefined;
  readonly member: EventMember | undefined;
}

/** A run that ended, and is to be counted. */
export interface UncountedEnd {
  readonly view: RunView;
  readonly isAgain: boolean;
  /** It waited for something else than a worker first: how late it began is not counted. */
  readonly wasHeldUp: boolean;
}

const DAY_MS = 24 * 3_600_000;

export class EventLog {
  readonly #now: () => number;
  readonly #jobs: ReadonlyMap<JobId, Job>;
  readonly #gone = new Map<JobId, EventJob>();
  #rows: EventRow[] = [];
  #uncounted: UncountedEnd[] = [];
  #xid = 0;
  #generation = 0;

  constructor(options: { now: () => number; jobs: ReadonlyMap<JobId, Job> }) {
    this.#now = options.now;
    this.#jobs = options.jobs;
  }

  job(kind: EventKind, job: Job): void {
    if (kind === 'job.deleted') this.#gone.set(job.jobId, eventJob(job));
    this.#record({ kind, atMs: this.#now(), jobId: job.jobId, run: undefined, member: undefined });
  }

  member(kind: EventKind, member: EventMember): void {
    this.#record({ kind, atMs: this.#now(), jobId: undefined, run: undefined, member });
  }

  runStarted(view: RunView): void {
    const run = { ...eventRun(view), status: 'RUNNING' } as const;
    this.#record({ kind: 'run.started', atMs: run.startedAtMs ?? this.#now(), ...ofRun(run) });
  }

  runProgressed(view: RunView): void {
    const run = { ...eventRun(view), status: 'RUNNING' } as const;
    this.#record({ kind: 'run.progress', atMs: this.#now(), ...ofRun(run) });
  }

  runEnded(view: RunView, then: { retryAtMs?: number; deadReason?: string; wasHeldUp?: boolean } = {}): void {
    const { retryAtMs, deadReason, wasHeldUp = false } = then;
    const run = { ...eventRun(view), retryAtMs };
    const atMs = run.endedAtMs ?? this.#now();
    const kind = kindOfEnd(view.status, { isTriedAgain: retryAtMs !== undefined });
    this.#record({ kind, atMs, ...ofRun(run) });
    this.#uncounted.push({ view, isAgain: retryAtMs !== undefined, wasHeldUp });
    if (deadReason !== undefined)
      this.#record({ kind: 'run.dead_lettered', atMs, ...ofRun({ ...run, deadReason }) });
  }

  /** What ended since the last call. */
  takeUncounted(): UncountedEnd[] {
    const taken = this.#uncounted;
    this.#uncounted = [];
    return taken;
  }

  /** Places from here on are larger than all before. */
  beginGeneration(generation: number): void {
    this.#xid += (generation - this.#generation) * CURSORS_PER_GENERATION;
    this.#generation = generation;
  }

  end(): EventCursor {
    return { xid: this.#xid, seq: this.#xid, index: ROW_END };
  }

  oldest(): EventCursor | undefined {
    const [row] = this.#rows;
    return row && cursorOf(row);
  }

  after(cursor: EventCursor, limit: number): RecordedEvent[] {
    const first = this.#rows.findIndex((row) => compareEventCursors(cursorOf(row), cursor) > 0);
    if (first < 0) return [];
    return this.#rows.slice(first, first + limit).map((row) => this.#event(row));
  }

  /** Drops the UTC days that ended by the instant; answers them. */
  dropDays(beforeMs: number): string[] {
    const isOld = ({ recordedAtMs }: EventRow) =>
      (Math.floor(recordedAtMs / DAY_MS) + 1) * DAY_MS <= beforeMs;
    const dropped = this.#rows
      .filter(isOld)
      .map((row) => new Date(row.recordedAtMs).toISOString().slice(0, 10));
    this.#rows = this.#rows.filter((row) => !isOld(row));
    return [...new Set(dropped)];
  }

  #record(row: Omit<EventRow, 'xid' | 'recordedAtMs'>): void {
    this.#xid += 1;
    this.#rows.push({ ...row, xid: this.#xid, recordedAtMs: this.#now() });
  }

  #event(row: EventRow): RecordedEvent {
    const { kind, atMs, jobId, run, member } = row;
    const job = jobId && this.#jobs.get(jobId);
    return {
      cursor: cursorOf(row),
      kind,
      atMs,
      job: job ? eventJob(job) : jobId && this.#gone.get(jobId),
      run,
      member,
    };
  }
}

function cursorOf({ xid }: EventRow): EventCursor {
  return { xid, seq: xid, index: 0 };
}

function ofRun(run: EventRun): Pick<EventRow, 'jobId' | 'run' | 'member'> {
  return { jobId: run.jobId, run, member: undefined };
}

function eventJob({ jobId, name, namespace, userId, handler, schedule, labels }: Job): EventJob {
  return { jobId, name, namespace, userId, handler, scheduleType: schedule.type, labels };
}

function eventRun(view: RunView): EventRun {
  const { runId, jobId, attempt, epoch, status, trigger, scheduledAtMs, startedAtMs, endedAtMs } = view;
  const { executorId, error, reason, occurrences, progress } = view;
  return {
    ...{ runId, jobId, attempt, epoch, status, trigger, scheduledAtMs, startedAtMs, endedAtMs },
    ...{ executorId, error, reason, occurrences, retryAtMs: undefined, deadReason: undefined },
    progress,
  };
}
