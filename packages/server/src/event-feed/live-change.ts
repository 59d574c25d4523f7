/** What changed, as pages need it: which jobs and runs to read again, and when it was too much to name. */
import type { EventCursor, RecordedEvent } from '@carillon/domain';
import type { EventTest } from './event-filter.ts';

/** What is kept of an event to tell of it later. */
export type LiveEvent = Pick<RecordedEvent, 'cursor' | 'kind' | 'job' | 'member'> & {
  readonly jobId: string | undefined;
  readonly runId: string | undefined;
};

export interface LiveChange {
  /** Those that changed, and those of the runs that did. */
  readonly jobs: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
  /** Workers or servers came or went. */
  readonly workers: boolean;
  readonly deadLetters: boolean;
}

export interface LiveUpdate {
  /** Where a reader goes on that comes back; undefined: where it would have before, since it was not told of everything. */
  readonly position: EventCursor | undefined;
  readonly asOfMs: number;
  readonly jobs: readonly string[];
  readonly runs: readonly string[];
  readonly workers: boolean;
  readonly deadLetters: boolean;
  /** Something that is not named changed: read again what is shown. */
  readonly refetch: boolean;
}

/** Jobs, and runs, that one message names. */
export const IDS_MAX = 200;

export const NO_CHANGE: LiveChange = { jobs: new Set(), runs: new Set(), workers: false, deadLetters: false };

export function liveEvent({ cursor, kind, job, run, member }: RecordedEvent): LiveEvent {
  return { cursor, kind, job, member, jobId: run?.jobId ?? job?.jobId, runId: run?.runId };
}

export function changeOf(events: readonly LiveEvent[], isVisible: EventTest): LiveChange {
  const [jobs, runs] = [new Set<string>(), new Set<string>()];
  let [workers, deadLetters] = [false, false];
  for (const event of events) {
    if (!isVisible(event)) continue;
    if (event.jobId !== undefined) jobs.add(event.jobId);
    if (event.runId !== undefined) runs.add(event.runId);
    if (event.member) workers = true;
    if (event.kind === 'run.dead_lettered') deadLetters = true;
  }
  return { jobs, runs, workers, deadLetters };
}

export function isTooMuch({ jobs, runs }: LiveChange): boolean {
  return jobs.size > IDS_MAX || runs.size > IDS_MAX;
}

export function isNothing({ jobs, runs, workers, deadLetters }: LiveChange): boolean {
  return jobs.size === 0 && runs.size === 0 && !workers && !deadLetters;
}

/** Of what is too much to name. */
export function withoutNames(change: LiveChange): LiveChange {
  return { ...change, jobs: new Set(), runs: new Set() };
}

export function updateOf(
  change: LiveChange,
  { position, asOfMs, refetch }: Pick<LiveUpdate, 'position' | 'asOfMs' | 'refetch'>,
): LiveUpdate {
  const { workers, deadLetters } = change;
  return {
    ...{ position, asOfMs, refetch, workers, deadLetters },
    jobs: [...change.jobs],
    runs: [...change.runs],
  };
}
