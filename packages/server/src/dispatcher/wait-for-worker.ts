/**
 * A run whose handler nobody offers backs off in the storage, visibly, and is given up after a day (hazard 21). The day is
 * one in which somebody was there to look: after an outage of two days, workers may come back a little after the server.
 */
import type { PendingRun } from '@carillon/domain';
import type { PendingVerdict } from '../storage/lease-store.ts';

const DELAY_MS_MIN = 2_000;
const DELAY_MS_MAX = 60_000;
const GIVE_UP_MS = 24 * 3_600_000;

/** The longer it has waited, the less often it is looked at. */
export function waitForWorker(
  run: PendingRun,
  { nowMs, watchingSinceMs }: { nowMs: number; watchingSinceMs: number },
): PendingVerdict {
  const reason = `no worker offers the handler "${run.handler}"`;
  const waitedMs = nowMs - run.nominalAtMs;
  if (Math.min(waitedMs, nowMs - watchingSinceMs) > GIVE_UP_MS)
    return { kind: 'expire', run, error: `${reason}; gave up after 24 hours` };
  // Deferring moves the instant that the start timeout is counted from, so it is judged here too (hazard 16).
  if (run.startTimeoutMs !== undefined && waitedMs > run.startTimeoutMs)
    return { kind: 'expire', run, error: reason };
  const delayMs = Math.min(Math.max(waitedMs / 2, DELAY_MS_MIN), DELAY_MS_MAX);
  return { kind: 'defer', run, untilMs: nowMs + Math.round(delayMs), reason };
}
