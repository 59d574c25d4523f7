/** Tells the others what a change made possible, so that nobody has to poll. */
import type { Job } from '@carillon/domain';
import type { FirstDue } from '../storage/due.ts';
import { laneOf } from '../storage/lane.ts';
import type { OperationPorts } from './operation-ports.ts';

/** New jobs with what they begin with. */
export function announceFirst(
  { signals }: Pick<OperationPorts, 'signals'>,
  created: readonly { readonly job: Job; readonly first: FirstDue }[],
): void {
  const lanes = created.flatMap(({ job, first }) =>
    first.kind === 'run' ? [{ ...laneOf(job), atMs: first.run.fireAtMs }] : [],
  );
  const shards = created.flatMap(({ job, first }) =>
    first.kind === 'cursor' ? [{ shard: job.shard, atMs: first.cursor.fireAtMs }] : [],
  );
  if (lanes.length > 0) signals.send('runs-open', { lanes });
  if (shards.length > 0) signals.send('shards-due', { shards });
  signals.send('events-recorded', {});
}

/** A run was added to the job, or the job was changed: whatever follows may be due from the instant on. */
export function announceChange({ signals }: Pick<OperationPorts, 'signals'>, job: Job, atMs: number): void {
  signals.send('shards-due', { shards: [{ shard: job.shard, atMs }] });
  signals.send('runs-open', { lanes: [{ ...laneOf(job), atMs }] });
  signals.send('places-freed', { jobIds: [job.jobId] });
  signals.send('events-recorded', {});
}
