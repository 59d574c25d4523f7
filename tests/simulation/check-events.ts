/** What was told against what happened: the end of every run is told exactly once, as what it was, and nothing of it later. */
import { FIRST_EVENT_CURSOR, kindOfEnd, type RecordedEvent, type RunId } from '@carillon/domain';
import type { RunView } from '../../packages/server/src/storage/run-store.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import type { World } from './world.ts';

const ENDS: ReadonlySet<string> = new Set([
  'run.succeeded',
  'run.failed',
  'run.timed_out',
  'run.cancelled',
  'run.skipped',
]);

/** The events of every run, in order. */
export async function eventsOfRuns(storage: Storage): Promise<ReadonlyMap<RunId, readonly RecordedEvent[]>> {
  const { events } = await storage.events.read(FIRST_EVENT_CURSOR, Number.MAX_SAFE_INTEGER);
  return Map.groupBy(
    events.filter(({ run }) => run !== undefined),
    ({ run }) => run!.runId,
  );
}

export function checkEndEvents(
  world: World,
  attempts: readonly RunView[],
  byRun: ReadonlyMap<RunId, readonly RecordedEvent[]>,
): void {
  const latest = attempts.reduce((a, b) => (a.epoch > b.epoch ? a : b));
  const say = (what: string) => world.violate(`run ${latest.runId} of job ${latest.jobId} ${what}`);
  const events = (byRun.get(latest.runId) ?? []).filter(({ kind }) => kind !== 'run.dead_lettered');
  const ends = events.filter(({ kind }) => ENDS.has(kind));
  if (ends.length !== 1) {
    say(`was told to have ended ${ends.length} times`);
    return;
  }
  const expected = kindOfEnd(latest.status, { isTriedAgain: false });
  if (ends[0]!.kind !== expected) say(`ended as ${latest.status} and was told as ${ends[0]!.kind}`);
  if (events.at(-1) !== ends[0]) say('was told of after its end');
}
