/** What a claim answers, read from its one row of arrays. */
import type { ClaimedRun, JobId, RunId } from '@carillon/domain';
import { type LaneMark, namespaceOf } from '../lane.ts';
import type { ClaimRequest, LaneScan } from '../lease-store.ts';

/** Arrays as text and joined texts, in the order of the lease, NULL when nothing was claimed; then what was seen of the lanes. */
export type ClaimRow = readonly [
  runIds: string | null,
  /** NULL: the same ids, as the first run of a one-off has the id of its job. */
  jobIds: string | null,
  epochs: string,
  attempts: string,
  nominalAts: string,
  /** One for all, or one for each run. */
  timeouts: string,
  admitted: string | null,
  handlers: string,
  payloads: string,
  /** NULL: as nominalAts. */
  dueAts: string | null,
  found: string | null,
  lastAts: string,
  lastIds: string,
  nextAts: string,
  namespaces: string,
  /** A JSON object by run; NULL when none has one. */
  checkpoints: string | null,
  /** NULL: all lanes that were asked for are of one namespace. */
  namespaceKeys: string | null,
  isCut: boolean | null,
];

export function laneScans(row: ClaimRow): LaneScan[] {
  const lastAts = elements(row[11]);
  const lastIds = elements(row[12]);
  const nextAts = elements(row[13]);
  return elements(row[10]!).map((found, i) => {
    const last: LaneMark | undefined =
      lastAts[i] === 'NULL' ? undefined : { laneAtMs: Number(lastAts[i]), runId: lastIds[i]! };
    return {
      found: Number(found),
      last,
      nextAtMs: nextAts[i] === 'NULL' ? undefined : Number(nextAts[i]),
    };
  });
}

/** One for all runs, or one for each. */
export function namespaceKeys(row: ClaimRow, { pick }: ClaimRequest): number[] {
  return row[16] === null ? [namespaceOf(pick.lanes[0]!.lane.tenant)] : elements(row[16]).map(Number);
}

export function claimedRuns(
  row: ClaimRow,
  { leaseId, nowMs }: ClaimRequest,
  keys: readonly number[],
): ClaimedRun[] {
  if (row[0] === null) return [];
  const runIds = elements(row[0]);
  const jobIds = row[1] === null ? runIds : elements(row[1]);
  const epochs = elements(row[2]);
  const attempts = elements(row[3]);
  const nominalAts = elements(row[4]);
  const timeouts = elements(row[5]);
  const admitted = row[6] === null ? undefined : elements(row[6]);
  const handlers = row[7].split('\n');
  const payloads = row[8].split('\n');
  const dueAts = row[9] === null ? nominalAts : elements(row[9]);
  const namespaces = row[14].split('\n');
  const checkpoints = row[15] === null ? undefined : (JSON.parse(row[15]) as Record<string, string>);
  return runIds.map((runId, position) => ({
    leaseId,
    position,
    leaseSize: runIds.length,
    jobId: jobIds[position] as JobId,
    runId: runId as RunId,
    epoch: Number(epochs[position]),
    attempt: Number(attempts[position]),
    nominalAtMs: Number(nominalAts[position]),
    dueAtMs: Number(dueAts[position]),
    claimedAtMs: nowMs,
    handler: handlers[position]!,
    payload: payloads[position]!,
    timeoutMs: Number(timeouts[position] ?? timeouts[0]),
    limited: admitted?.[position] === '1',
    namespaceKey: keys[position] ?? keys[0],
    namespace: namespaces[position] || undefined,
    checkpoint: checkpoints?.[runId],
  }));
}

/** Of an array of numbers or ids. */
function elements(array: string): string[] {
  return array.slice(1, -1).split(',');
}
