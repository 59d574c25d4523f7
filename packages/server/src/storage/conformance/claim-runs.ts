/** Claims runs by name, as only tests do: in a claim they are named by where they stand in their lanes. */
import type { PendingRun } from '@carillon/domain';
import { expect } from 'vitest';
import { type LaneMark, laneOf } from '../lane.ts';
import type { Claimed, ClaimRequest, LanePick } from '../lease-store.ts';
import type { Storage } from '../storage.ts';

const PENDING_MAX = 10_000;

type NamedRun = Pick<PendingRun, 'jobId' | 'runId'>;

/** Those of the runs that are open. Others of their lanes must not stand between them: then jobs need lanes of their own. */
export async function claimRuns(
  storage: Storage,
  runs: readonly NamedRun[],
  request: Omit<ClaimRequest, 'pick'>,
): Promise<Claimed> {
  const pick = await pickOf(storage, runs);
  const claimed = await storage.leases.claim({ ...request, pick });
  const wanted = new Set(runs.map(({ runId }) => runId));
  expect(claimed.runs.filter(({ runId }) => !wanted.has(runId))).toEqual([]);
  return claimed;
}

/** As many runs of each lane as are named and open, from the first of them on. */
export async function pickOf(storage: Storage, runs: readonly NamedRun[]): Promise<ClaimRequest['pick']> {
  const wanted = new Set(runs.map(({ runId }) => runId));
  const picks = new Map<string, LanePick>();
  for (const jobId of new Set(runs.map((run) => run.jobId))) {
    const job = await storage.jobs.get(jobId);
    if (!job) continue;
    const lane = laneOf(job);
    const key = JSON.stringify(lane);
    for (const run of await storage.runs.pending(jobId, PENDING_MAX)) {
      if (!wanted.has(run.runId) || run.state !== 'open' || run.held) continue;
      const { after, runsMax } = picks.get(key) ?? { after: markBefore(run), runsMax: 0 };
      picks.set(key, { lane, after: earlier(after, markBefore(run)), runsMax: runsMax + 1 });
    }
  }
  return { lanes: [...picks.values()], runsMax: wanted.size };
}

/** A run stands in its lane at the instant it fires or later; one that was interrupted where it stood before. */
function markBefore({ fireAtMs, nominalAtMs, runId }: PendingRun): LaneMark {
  const id = (BigInt(`0x${runId.replaceAll('-', '')}`) - 1n).toString(16).padStart(32, '0');
  return {
    laneAtMs: Math.min(fireAtMs, nominalAtMs),
    runId: id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  };
}

function earlier(a: LaneMark, b: LaneMark): LaneMark {
  return a.laneAtMs < b.laneAtMs || (a.laneAtMs === b.laneAtMs && a.runId < b.runId) ? a : b;
}
