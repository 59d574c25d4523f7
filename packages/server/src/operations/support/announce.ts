/** Signals what a change made due, so that schedulers and dispatchers need not wait for their next poll. */
import type { Job } from '@carillon/domain';
import type { FirstDue } from '../../storage/due.ts';
import { type LaneHint, laneOf } from '../../storage/lane.ts';
import type { OperationPorts } from '../operation-ports.ts';

/** New jobs with their first due row. */
export function announceFirst(
  { signals }: Pick<OperationPorts, 'signals'>,
  created: readonly { readonly job: Job; readonly first: FirstDue }[],
): void {
  const lanes: LaneHint[] = [];
  const shards: { shard: number; atMs: number }[] = [];
  /** Most hints of a batch are equal: one per part is enough. */
  const lastOfPart: (LaneHint | undefined)[] = [];
  for (const { job, first } of created) {
    if (first.kind === 'cursor') {
      shards.push({ shard: job.shard, atMs: first.cursor.fireAtMs });
      continue;
    }
    const hint = hintOf(job, first.run.fireAtMs);
    const last = lastOfPart[hint.part];
    if (last && isSameHint(last, hint)) continue;
    lastOfPart[hint.part] = hint;
    lanes.push(hint);
  }
  if (lanes.length > 0) signals.send('runs-open', { lanes });
  if (shards.length > 0) signals.send('shards-due', { shards });
  signals.send('events-recorded', {});
}

function hintOf(job: Job, atMs: number): LaneHint {
  const { part, priority, handlerKey, tenant } = laneOf(job);
  return { part, priority, handlerKey, tenant, atMs };
}

function isSameHint(a: LaneHint, b: LaneHint): boolean {
  return (
    a.atMs === b.atMs && a.tenant === b.tenant && a.handlerKey === b.handlerKey && a.priority === b.priority
  );
}

/** A run was added to the job, or the job was changed: its next run may be due from the instant on. */
export function announceChange({ signals }: Pick<OperationPorts, 'signals'>, job: Job, atMs: number): void {
  signals.send('shards-due', { shards: [{ shard: job.shard, atMs }] });
  signals.send('runs-open', { lanes: [hintOf(job, atMs)] });
  signals.send('slots-freed', { jobIds: [job.jobId] });
  signals.send('events-recorded', {});
}
