/**
 * The last runs of a job as bars: as high as they took long, measured by the slowest but a few (p95), so that one very slow run does not
 * flatten the others. What failed hangs below the line. Pure.
 */

import type { RunStatus, ShortRun } from '@carillon/client';
import { hasFailed } from '../../ui/run-state.ts';

export interface Bar {
  readonly runId: string;
  readonly status: RunStatus;
  readonly scheduledAt: string;
  readonly durationMs: number | null;
  readonly attempts: number;
  readonly error: string | null;
  /** 0 to 1; above the line, or below it where it failed. */
  readonly height: number;
  readonly below: boolean;
}

/** A bar that is there must be seen. */
const HEIGHT_MIN = 0.08;

/** Oldest first, each run once by its latest attempt; the runs come newest first. */
export function stripBars(runs: readonly ShortRun[], now: number): { bars: Bar[]; p95Ms: number | null } {
  const latest = new Map<string, ShortRun>();
  for (const run of runs) {
    const known = latest.get(run.run_id);
    if (!known || isLater(run, known)) latest.set(run.run_id, run);
  }
  const timed = [...latest.values()].reverse().map((run) => ({ run, durationMs: durationOf(run, now) }));
  const p95Ms = quantile(
    timed.flatMap(({ durationMs }) => durationMs ?? []),
    0.95,
  );
  const bars = timed.map(({ run, durationMs }): Bar => {
    const share = durationMs === null || p95Ms === null || p95Ms === 0 ? 0 : durationMs / p95Ms;
    return {
      runId: run.run_id,
      status: run.status,
      scheduledAt: run.scheduled_at,
      durationMs,
      attempts: run.attempt_number,
      error: run.error_message,
      height: Math.min(1, Math.max(HEIGHT_MIN, share)),
      below: hasFailed(run.status),
    };
  });
  return { bars, p95Ms };
}

function isLater(one: ShortRun, other: ShortRun): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.attempt_number > other.attempt_number);
}

function durationOf({ started_at: from, ended_at: to }: ShortRun, now: number): number | null {
  if (from === null) return null;
  return Math.max(0, (to === null ? now : Date.parse(to)) - Date.parse(from));
}

function quantile(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
}
