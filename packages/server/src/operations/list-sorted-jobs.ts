/**
 * Jobs in the order of their names, priorities, last changes or next runs. Those orders are kept nowhere, so they are given
 * for as many jobs as can be sorted at once; a wider list is refused, and says how to narrow it. What the caller may not see
 * is not there.
 */
import {
  type Caller,
  compareJobPlaces,
  type JobOrder,
  type JobPlace,
  type JobSelection,
  keyOfNone,
  nextFire,
  Refusal,
} from '@carillon/domain';
import { LOOKED_THROUGH_MAX, type SortedJob } from '../storage/job-store.ts';
import type { JobDetails } from './get-job.ts';
import { inParts, partsOf, requirePage, selectionOf } from './list-jobs.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListSortedJobsQuery extends JobSelection, JobOrder {
  readonly after?: JobPlace | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
}

export interface ListedSortedJobs {
  readonly jobs: readonly JobDetails[];
  /** More follow after this place. Undefined: this is the end. */
  readonly next: JobPlace | undefined;
}

export function listSortedJobs(ports: OperationPorts) {
  return async (caller: Caller, query: ListSortedJobsQuery): Promise<ListedSortedJobs> => {
    const { offset = 0, limit, by, descending, after } = query;
    const parts = partsOf(caller, 'jobs.read', query);
    const only = parts.length === 1;
    requirePage({ offset, limit, only });
    const lists = await inParts(parts, (part) =>
      ports.storage.jobs.listSorted({
        ...selectionOf(query),
        ...part,
        ...{ by, descending },
        ...(after && { after }),
        offset: only ? offset : 0,
        // One more than asked for tells whether there is more.
        limit: (only ? 0 : offset) + limit + 1,
      }),
    );
    const found = new Map<string, SortedJob>();
    for (const list of lists) {
      if (list === 'too_many') throw tooWide(query);
      for (const sorted of list) found.set(sorted.job.jobId, sorted);
    }
    const merged = [...found.values()]
      .sort((a, b) => compareJobPlaces(a.place, b.place, query))
      .slice(only ? 0 : offset);
    const nowMs = ports.clock.now();
    const page = merged.slice(0, limit);
    return {
      jobs: page.map((sorted) => ({ job: sorted.job, nextRunMs: nextRunMs(sorted, query, nowMs) })),
      next: merged.length > limit ? page.at(-1)?.place : undefined,
    };
  };
}

/** What a list is sorted by is what it shows. */
function nextRunMs({ job, place }: SortedJob, order: JobOrder, nowMs: number): number | undefined {
  if (job.status !== 'SCHEDULED') return undefined;
  if (order.by !== 'next_run_time') return nextFire(job.schedule, nowMs);
  return place.key === keyOfNone(order) ? undefined : Number(place.key);
}

function tooWide({ by }: JobOrder): Refusal {
  const message = `There are more than ${LOOKED_THROUGH_MAX} jobs to be sorted by ${by}.`;
  return new Refusal('sort_too_wide', message, { field: 'sort' });
}
