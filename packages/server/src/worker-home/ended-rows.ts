/** A message about runs that have ended has a column for each of their values: here they are read row by row. */
import type { LeaseId } from '@carillon/domain';
import type { protocol as P } from '@carillon/worker';
import { ProtocolBroken } from './frame-bounds.ts';

interface EndedRow {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly epoch: number;
  /** 0: it never started. */
  readonly startedAtMs: bigint;
  readonly endedAtMs: bigint;
  /** Left out: it succeeded, without a result. */
  readonly told: P.Outcome | undefined;
}

export function* endedRows(ended: P.Ended): Generator<EndedRow> {
  const { positions, epochs, startedAtMs, endedAtMs, outcomes } = ended;
  const { length } = positions;
  if (epochs.length !== length || startedAtMs.length !== length || endedAtMs.length !== length)
    throw new ProtocolBroken('the columns of ended runs differ in length');
  const byPosition = new Map(outcomes.map((outcome) => [outcome.position, outcome]));
  const leaseId = ended.leaseId as LeaseId;
  for (const [i, position] of positions.entries())
    yield {
      ...{ leaseId, position, epoch: epochs[i]!, told: byPosition.get(position) },
      ...{ startedAtMs: startedAtMs[i]!, endedAtMs: endedAtMs[i]! },
    };
}
