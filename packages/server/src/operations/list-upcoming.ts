/** What will be started within a while, first things first: waiting runs, and every occurrence of recurring schedules. */
import { type Caller, fireTime, nextFire, requireMay, visibleTo } from '@carillon/domain';
import type { UpcomingFire } from '../storage/job-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface UpcomingRun {
  readonly job: UpcomingFire['job'];
  readonly runAtMs: number;
}

export interface ListedUpcoming {
  readonly runs: readonly UpcomingRun[];
  /** True: so much is due in the window that not all of it could be looked at for this caller. */
  readonly partial: boolean;
}

export function listUpcoming(ports: OperationPorts) {
  return async (caller: Caller, query: { withinMs: number; limit: number }): Promise<ListedUpcoming> => {
    requireMay(caller, 'jobs.read');
    const fromMs = ports.clock.now();
    const untilMs = fromMs + query.withinMs;
    const { fires, partial } = await ports.storage.jobs.upcoming({
      fromMs,
      untilMs,
      visible: visibleTo(caller, 'jobs.read'),
      limit: query.limit,
    });
    // Whatever belongs to the first `limit` comes from a cursor that itself is among the first: none is missing here.
    const runs: UpcomingRun[] = [];
    for (const fire of fires) {
      runs.push(...(await ports.slices.run(() => occurrences(fire, { untilMs, limit: query.limit }))));
    }
    runs.sort((a, b) => a.runAtMs - b.runAtMs);
    return { runs: runs.slice(0, query.limit), partial };
  };
}

function occurrences(
  { job, fireAtMs, cursor }: UpcomingFire,
  { untilMs, limit }: { untilMs: number; limit: number },
): UpcomingRun[] {
  const found = [{ job, runAtMs: fireAtMs }];
  if (!cursor) return found;
  let nominalMs = nextFire(cursor.schedule, cursor.nominalAtMs);
  while (nominalMs !== undefined && nominalMs <= untilMs && found.length < limit) {
    const runAtMs = fireTime({ schedule: cursor.schedule, jobId: job.jobId, nominalMs });
    if (runAtMs <= untilMs) found.push({ job, runAtMs });
    nominalMs = nextFire(cursor.schedule, nominalMs);
  }
  return found;
}
